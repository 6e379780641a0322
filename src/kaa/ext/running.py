"""The hooks and slash commands that run now in a conversation: slow ones are announced, and all can be stopped."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kaa.core.events import WorkEnd, WorkStart

# A person wonders after about this time.
_SILENT_SECONDS = 0.5


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
