"""Waiting for a model that does not answer: the CPU time of all processes between the second and the tenth second.

Both sides wait at once: they leave the processor almost idle, and only their CPU time counts.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from benchmarks.bench import MESSAGE, Runner
from benchmarks.change.figures import Figure
from benchmarks.change.taking import Taken
from benchmarks.process_tree import RunFailedError, Started, tree_cpu
from benchmarks.seat import Seat
from tests.support.model_server import say
from tests.support.program import NotShownError

PRINTED = Figure("waiting with -p, CPU from second 2 to 10", "ms", margin=5.0)
TERMINAL = Figure("waiting in the terminal, CPU from second 2 to 10", "ms", margin=10.0)

_FROM_SECONDS, _TO_SECONDS = 2.0, 10.0
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.02
_NEVER_SECONDS = 3600.0


def printed(first: Runner, second: Runner) -> tuple[Taken, Taken]:
    """Measure runs without a terminal."""
    return _at_once(PRINTED, _printing, first, second)


def terminal(first: Runner, second: Runner) -> tuple[Taken, Taken]:
    """Measure conversations in a terminal, which show that they wait."""
    return _at_once(TERMINAL, _showing, first, second)


@contextmanager
def unanswered(runner: Runner) -> Iterator[Started]:
    """Let it ask a model that does not answer, without a terminal, until the end of the block.

    Raises:
        RunFailedError: it does not ask.
    """
    runner.follow([say("Hello.")], replies_after=_NEVER_SECONDS)
    with runner.start(*runner.agent.prompt, MESSAGE) as program:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not runner.requests():
            if program.process.poll() is not None:
                raise program.failure()
            if time.monotonic() > deadline:
                raise RunFailedError(f"{runner.name} did not ask the model within {_PATIENCE_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
        yield program


class _Asking(Protocol):
    """A run whose request is not answered."""

    @property
    def cpu_seconds(self) -> float:
        """User and system time so far, of all its processes."""

    def look(self, seconds: float) -> None:
        """Let it go on for so long.

        Raises:
            RunFailedError: it has ended.
            NotShownError: it has ended.
        """


class _Printing:
    def __init__(self, program: Started) -> None:
        self._program = program

    @property
    def cpu_seconds(self) -> float:
        return tree_cpu(self._program.process.pid)

    def look(self, seconds: float) -> None:
        time.sleep(seconds)
        if self._program.process.poll() is not None:
            raise self._program.failure()


class _Showing:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    @property
    def cpu_seconds(self) -> float:
        return self._seat.cpu_seconds

    def look(self, seconds: float) -> None:
        self._seat.look(seconds)
        if self._seat.program.exit_status is not None:
            raise NotShownError(f"it ended while it waited:\n{self._seat.program.picture()}")


@contextmanager
def _printing(runner: Runner) -> Iterator[_Asking]:
    with unanswered(runner) as program:
        yield _Printing(program)


@contextmanager
def _showing(runner: Runner) -> Iterator[_Asking]:
    runner.follow([say("Hello.")], replies_after=_NEVER_SECONDS)
    with runner.open() as seat:
        showing = _Showing(seat)
        seat.wait_for_box()
        seat.ask(MESSAGE)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not runner.requests():
            if time.monotonic() > deadline:
                raise NotShownError(f"it did not ask the model:\n{seat.program.picture()}")
            showing.look(_POLL_SECONDS)
        yield showing


class _Wait:
    """A run that waits, and its CPU time when the measured time begins and when it ends."""

    def __init__(self, asking: _Asking) -> None:
        self._asking = asking
        self._asked = time.monotonic()
        self._cpu: list[float] = []
        self._failure = ""

    @property
    def is_over(self) -> bool:
        """True if both times are known, or cannot be."""
        return bool(self._failure) or len(self._cpu) == 2

    def look(self) -> None:
        """Let it go on for a moment."""
        due = self._asked + (_FROM_SECONDS, _TO_SECONDS)[len(self._cpu)]
        try:
            self._asking.look(_POLL_SECONDS)
        except (RunFailedError, NotShownError) as error:
            self._failure = str(error)
        if time.monotonic() >= due:
            self._cpu.append(self._asking.cpu_seconds)

    def taken(self, figure: Figure) -> Taken:
        """Return what was measured."""
        if self._failure:
            return Taken({}, failure=self._failure)
        return Taken({figure.name: (self._cpu[1] - self._cpu[0]) * 1000})


def _at_once(
    figure: Figure, ask: Callable[[Runner], AbstractContextManager[_Asking]], first: Runner, second: Runner
) -> tuple[Taken, Taken]:
    with ExitStack() as stack:
        begun = [_begin(stack, ask(runner)) for runner in (first, second)]
        while waits := [wait for wait in begun if isinstance(wait, _Wait) and not wait.is_over]:
            for wait in waits:
                wait.look()
    one, other = (wait.taken(figure) if isinstance(wait, _Wait) else wait for wait in begun)
    return one, other


def _begin(stack: ExitStack, asking: AbstractContextManager[_Asking]) -> _Wait | Taken:
    """Let it ask; a failure is all that is taken of it."""
    try:
        return _Wait(stack.enter_context(asking))
    except (RunFailedError, NotShownError) as error:
        return Taken({}, failure=str(error))
