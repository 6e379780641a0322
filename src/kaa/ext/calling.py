"""Calls the hooks of extensions: one at a time, within a time limit; every error names the owner.

The hooks and commands that run now are listed: slow ones are announced, and all can be stopped.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from logging import ERROR
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from kaa.core.events import WorkEnd, WorkStart
from kaa.core.hooks import Continue, GiveUp
from kaa.ext.asking import AnswerT, Asker
from kaa.ext.commands import Submit
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionFailedError
from kaa.ext.misuse import described, line_in, refuse_coroutine
from kaa.ext.results import UnfitResultError, parse_result, shortened
from kaa.ext.scope import Scope
from kaa.host.log import LOG

if TYPE_CHECKING:
    from kaa.ext.questions import Dismissed, Question

# A person wonders after about this time.
_SILENT_SECONDS = 0.5
# How long a hook may take, without the time in which it asks the person.
_HOOK_SECONDS = 60
VerdictT = TypeVar("VerdictT")
HandlerT = TypeVar("HandlerT", bound=Callable[..., object])
ResultT = TypeVar("ResultT")
Hook: TypeAlias = Callable[..., Awaitable[object]]
Report: TypeAlias = Callable[[ExtensionFailedError], None]


class Work:
    """A hook or a command that runs.

    Args:
        owner: the extension; empty for kaa's own.
        name: what it is, for people.
        limit: its time limit, which ends it.

    Attributes:
        limit: the same.
        is_stopped: the person stopped it.
        waited: the seconds that it waited for the person.
        has_ended: it is over, though an extension may still use its context.
    """

    def __init__(self, owner: str, name: str, limit: asyncio.Timeout) -> None:
        self.owner = owner
        self.name = name
        self.limit = limit
        self.is_stopped = False
        self.waited = 0.0
        self.is_announced = False
        self.has_ended = False
        self.timer: asyncio.TimerHandle | None = None

    @property
    def is_command(self) -> bool:
        """Whether it is a slash command."""
        return self.name.startswith("/")

    def stop(self) -> None:
        """Cancel it; its limit then raises TimeoutError."""
        if not self.limit.expired():
            self.is_stopped = True
            self.limit.reschedule(asyncio.get_running_loop().time())


class RunningWork:
    """All of one conversation.

    Attributes:
        announce: gets the events. Nothing is announced while the person is asked: the question shows what goes on.
    """

    def __init__(self) -> None:
        self.announce: Callable[[WorkStart | WorkEnd], None] = lambda _: None
        self._works: list[Work] = []
        self._questions = 0

    @contextmanager
    def run(self, owner: str, name: str, limit: asyncio.Timeout) -> Iterator[Work]:
        """Know of a hook or a command while it runs, inside of its limit."""
        work = Work(owner, name, limit)
        self._works.append(work)
        self._arm(work)
        try:
            yield work
        finally:
            work.has_ended = True
            self._works.remove(work)
            self._disarm(work)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Announce nothing meanwhile, because the person is asked."""
        self._questions += 1
        for work in self._works:
            self._disarm(work)
        try:
            yield
        finally:
            self._questions -= 1
            for work in self._works:
                self._arm(work)

    def stop(self, *, commands: bool) -> None:
        """Stop the hooks that run, and with `commands` the slash commands too."""
        for work in self._works:
            if commands or not work.is_command:
                work.stop()

    def _arm(self, work: Work) -> None:
        if work.timer is None and not self._questions:
            work.timer = asyncio.get_running_loop().call_later(_SILENT_SECONDS, self._announce, work)

    def _announce(self, work: Work) -> None:
        work.is_announced = True
        self.announce(WorkStart(work.owner, work.name))

    def _disarm(self, work: Work) -> None:
        if work.timer is not None:
            work.timer.cancel()
            work.timer = None
        if work.is_announced:
            work.is_announced = False
            self.announce(WorkEnd(work.owner, work.name))


async def call(
    scope: Scope,
    what: str,
    hook: Hook,
    *seen: object,
    context: ConversationContext,
    seconds: int = _HOOK_SECONDS,
) -> object:
    """Call a hook with a time limit that stands still while the person is asked.

    Args:
        scope: whose hook it is.
        what: the hook, for messages.
        hook: is called.
        seen: what the hook gets before the context.
        context: of the conversation.
        seconds: the limit.

    Raises:
        ExtensionFailedError: it raised, took too long, or was stopped by the person.
    """
    limit = asyncio.timeout(seconds)
    running, owner = context.state(RunningWork, RunningWork), scope.author
    work: Work | None = None
    began = time.perf_counter()
    try:
        async with limit:
            with running.run(owner, what, limit) as work:
                clock = _Clock(work, seconds)
                of_extension = context.of_extension(scope, clock.stopped)
                of_extension.asker = _UntimedAsker(context.asker, clock)
                return await awaitable(hook(*seen, of_extension))
    except (Exception, SystemExit) as error:  # isolation boundary: names the extension instead of a bare traceback
        if work is not None and work.is_stopped and limit.expired():
            raise ExtensionFailedError(scope.extension.path, what, "was stopped") from error
        if limit.expired():
            LOG.error("extension %s: %s took over %s seconds", scope.extension, what, seconds, exc_info=error)
            raise _counted(scope, what, f"took over {seconds} seconds") from error
        raise failed(scope, what, error) from error
    finally:
        waited = 0.0 if work is None else work.waited
        scope.costs.called(what, time.perf_counter() - began - waited)


async def first_verdict(
    hooks: Iterable[tuple[Scope, Hook]],
    what: str,
    verdicts: tuple[type[VerdictT], ...],
    *seen: object,
    context: ConversationContext,
    report: Report,
    seconds: int = _HOOK_SECONDS,
) -> tuple[Scope, VerdictT] | None:
    """Call hooks until one returns a verdict. One that raises or returns something else is reported and passed over.

    Args:
        hooks: with their owners.
        what: the hooks, for messages.
        verdicts: the types that a verdict may have; none for hooks that return nothing.
        seen: what the hooks get before the context.
        context: of the conversation.
        report: told what went wrong.
        seconds: how long each may take.

    Returns:
        The verdict and whose it is; None if there is none.
    """
    for scope, hook in hooks:
        try:
            answer = await call(scope, what, hook, *seen, context=context, seconds=seconds)
            if answer is None:
                continue
            if isinstance(answer, verdicts):
                return scope, parsed(scope, what, answer)
            expected = [*(verdict.__name__ for verdict in verdicts), "None"]
            report(returned(scope, what, answer, " or ".join(expected)))
        except ExtensionFailedError as error:
            report(error)
    return None


def tell(
    scope: Scope,
    what: str,
    called: Iterable[HandlerT],
    handlers: list[HandlerT],
    seen: object,
    *,
    context: ConversationContext,
    report: Report,
) -> None:
    """Call handlers. One that raises is reported and not called again.

    Args:
        scope: whose they are.
        what: the handlers, for messages.
        called: those to call.
        handlers: all of their kind.
        seen: what they get before the context.
        context: of the conversation.
        report: told what went wrong.
    """
    of_extension = context.of_extension(scope)
    for handler in called:
        began = time.perf_counter()
        try:
            refuse_coroutine(handler(seen, of_extension), "it")
        except (Exception, SystemExit) as error:  # noqa: BLE001 isolation boundary: observers must not end a conversation
            if handler in handlers:
                handlers.remove(handler)
            report(failed(scope, what, error, "; kaa does not call it again"))
        finally:
            scope.costs.called(what, time.perf_counter() - began)


def failed(scope: Scope, what: str, error: BaseException, consequence: str = "") -> ExtensionFailedError:
    """The error of an extension that raised; its traceback goes to the log."""
    LOG.error("extension %s: %s failed", scope.extension, what, exc_info=error)
    place = line_in(scope.extension.path, error)
    log = "the log has the traceback" if LOG.isEnabledFor(ERROR) else "KAA_LOG=FILE logs the traceback"
    where = f" ({place}; {log})" if place else ""
    return _counted(scope, what, f"failed: {described(error)}{where}{consequence}")


def returned(scope: Scope, what: str, value: object, expected: str) -> ExtensionFailedError:
    """The error of an extension that returned something unusable."""
    return _counted(scope, what, f"returned {shortened(value)}: return {expected}")


def _counted(scope: Scope, what: str, problem: str) -> ExtensionFailedError:
    """A failure of an extension, which counts among its failures."""
    scope.costs.failed(f"{what} {problem}")
    return ExtensionFailedError(scope.extension.path, what, problem)


def named(scope: Scope, reason: str) -> str:
    """An extension's reason for a refusal, with its name."""
    return f"{reason} (extension {scope.extension})" if scope.author else reason


def parsed(scope: Scope, what: str, value: ResultT) -> ResultT:
    """What an extension returned, with fields of the declared types; a text that continues a run is not empty.

    kaa's own extensions are type-checked.

    Raises:
        ExtensionFailedError: it is something else.
    """
    try:
        result = parse_result(value) if scope.author else value
    except UnfitResultError as error:
        raise _counted(scope, what, f"returned {shortened(value)}: {error}") from error
    match result:
        case Submit(text=text) | Continue(reason=text) | GiveUp(reason=text) if not text.strip():
            raise returned(scope, what, value, f"{type(value).__name__} with a text that is not empty, or None")
        case _:
            return result


def awaitable(running: object) -> Awaitable[object]:
    """What a hook returned, if it is async; extensions are not type-checked.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(running, Awaitable):
        raise TypeError("it must be an async function: write async def")
    return running


class _Clock:
    """The clock of a hook's time limit, which stands still while the hook waits for a person or a model."""

    def __init__(self, work: Work, seconds: int) -> None:
        self._work = work
        self._limit = work.limit
        self._seconds = seconds
        self._stops = 0
        self._began = self._left = 0.0

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock meanwhile; it has no limit any more once the hook has ended."""
        if self._work.has_ended:
            yield
            return
        loop = asyncio.get_running_loop()
        if not self._stops:
            self._began = loop.time()
            ends = self._limit.when()
            self._left = self._seconds if ends is None else ends - loop.time()
            self._limit.reschedule(None)
        self._stops += 1
        try:
            yield
        finally:
            self._stops -= 1
            if not self._stops:
                self._work.waited += loop.time() - self._began
                if not (self._limit.expired() or self._work.is_stopped or self._work.has_ended):
                    self._limit.reschedule(loop.time() + self._left)


class _UntimedAsker:
    """Asks, and stops the clock of a time limit meanwhile."""

    def __init__(self, asker: Asker, clock: _Clock) -> None:
        self._asker = asker
        self._clock = clock

    @property
    def can_ask(self) -> bool:
        return self._asker.can_ask

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        with self._clock.stopped():
            return await self._asker.ask(question)
