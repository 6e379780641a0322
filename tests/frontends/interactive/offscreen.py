"""A main view without a screen, for tests of what is put on it; and a core that does at once what it is asked to."""

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from kaa.frontends.interactive.main_view import MainView
from kaa.tui.device import Device
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal
from tests.support.agents import run
from tests.support.painted import visible
from tests.support.screen import Screen

if TYPE_CHECKING:
    from kaa.frontends.interactive.core_thread import CoreThread
    from kaa.frontends.interactive.engine import Engine

ResultT = TypeVar("ResultT")


@contextmanager
def seated(folder: Path, **environment: str) -> Iterator["Seated"]:
    """A main view, until the end of the block."""
    controller, line = os.openpty()
    seat = Seated(folder, controller, line, environment)
    try:
        yield seat
    finally:
        seat.terminal.close()
        seat.reactor.close()
        os.close(controller)
        os.close(line)


class Seated:
    """A main view and what is behind it. The test takes the part of the loop.

    Attributes:
        screen: the terminal's, as far as `look` has fed it.
    """

    def __init__(self, folder: Path, controller: int, line: int, environment: dict[str, str]) -> None:
        os.set_blocking(controller, False)
        self.reactor = Reactor()
        self.terminal = Terminal({"TERM": "xterm-256color", "LANG": "C.UTF-8"} | environment, Device(line, line))
        self.main_view = MainView(str(folder), self.terminal, self.reactor)
        self.screen = Screen(80, 24)
        self._controller = controller

    @property
    def dock(self) -> str:
        """What the dock shows."""
        return "\n".join(visible(self.main_view.dock.render(80)))

    def look(self) -> Screen:
        """Take in what was written to the terminal."""
        while True:
            try:
                self.screen.feed(os.read(self._controller, 65536))
            except BlockingIOError:
                return self.screen


class ImmediateCore:
    """As `CoreThread`, without a thread.

    Args:
        engine: does the work.
    """

    def __init__(self, engine: object) -> None:
        self._engine = engine

    def call(
        self,
        work: Callable[[object], Awaitable[ResultT]],
        done: Callable[[ResultT], None] | None = None,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Do it now."""

        async def worked() -> ResultT:
            return await work(self._engine)

        try:
            result = run(worked())
        except Exception as error:
            if failed is None:
                raise
            failed(error)
        else:
            if done is not None:
                done(result)


def core_of(engine: object) -> "CoreThread[Engine]":
    """A core whose engine is this."""
    return cast("CoreThread[Engine]", ImmediateCore(engine))
