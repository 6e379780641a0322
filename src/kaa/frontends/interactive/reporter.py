"""Tells the user interface what happens in a conversation, and how it stands; runs on the core's event loop."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kaa.core.events import AgentEnd, Event, MessageUpdate, ToolExecutionUpdate, UserCommandEnd, UserCommandUpdate
from kaa.ext.commands import Command
from kaa.frontends.interactive.core_thread import Post
from kaa.shell.conversation import Conversation
from kaa.shell.status import Status
from kaa.workspace.git import Head

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate
    from kaa.ext.questions import Answer, AnyQuestion

# Deltas are passed on this often: the user interface need not wake for every token.
_DELTA_SECONDS = 1 / 60
_STATUS_SECONDS = 1.0


class Additions(NamedTuple):
    """What extensions, kaa's own too, have added to a conversation, as far as it concerns the terminal."""

    commands: Sequence[Command]
    call_titles: Mapping[str, str]
    theme_folders: Sequence[str]
    completes_mentions: bool


class CoreListener(Protocol):
    """Who is told; every method runs in the user interface's thread."""

    def show_events(self, events: Sequence[Event]) -> None: ...

    def show_status(self, status: Status) -> None:
        """The conversation stands like this now."""

    def show_additions(self, additions: Additions) -> None:
        """Extensions have added this now."""

    def show_notice(self, text: str) -> None:
        """Something worth knowing that does not stop us."""

    def show_head(self, head: Head | None) -> None:
        """This is checked out in the project; None if git does not know."""


class EngineListener(CoreListener, Protocol):
    """Who is told what extensions show, too."""

    @property
    def shows(self) -> "Collection[DisplayKind]":
        """What can be shown of what extensions want to be seen; asked in any thread."""

    def show_display(self, update: "DisplayUpdate") -> None: ...


class QuestionPresenter(Protocol):
    """Who is asked; every method runs in the user interface's thread."""

    def ask(self, question: "AnyQuestion", answer: "Callable[[Answer], None]") -> None:
        """Ask the user; `answer` may be called once, from any thread."""

    def withdraw(self, question: "AnyQuestion") -> None:
        """The question has no meaning any more."""


class ConversationReporter:
    """Of one conversation, until `close`.

    Args:
        post: runs a function in the listener's thread.
    """

    def __init__(self, conversation: Conversation, listener: CoreListener, post: Post) -> None:
        self._conversation = conversation
        self._listener = listener
        self._post = post
        self._events: list[Event] = []
        self._delivery: asyncio.TimerHandle | None = None
        self._status: asyncio.Task[None] | None = None
        self._head: asyncio.Task[None] | None = None
        conversation.subscribe(self._note)
        self._unsubscribe = conversation.on_registrations(self._tell_additions)
        self._tell_additions()
        self.refresh_status()
        self._refresh_head()

    def refresh_status(self) -> None:
        """Tell soon how the conversation stands; asked several times in a row, it is told once."""
        if self._status is None or self._status.done():
            self._status = asyncio.ensure_future(self._tell_status())

    async def status_told(self) -> None:
        """Wait until the listener knows how the conversation stands, but not for hands that do not answer."""
        if self._status is not None:
            await asyncio.wait((self._status,), timeout=_STATUS_SECONDS)

    async def close(self) -> None:
        """Tell what is left of the events, and nothing more."""
        self._unsubscribe()
        for task in (self._status, self._head):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        self._deliver()

    def _note(self, event: Event) -> None:
        """Pass an event on: what a person reads as it grows a little later, everything else at once."""
        self._events.append(event)
        if isinstance(event, MessageUpdate | ToolExecutionUpdate | UserCommandUpdate):
            if self._delivery is None:
                self._delivery = asyncio.get_running_loop().call_later(_DELTA_SECONDS, self._deliver)
            return
        self._deliver()
        self.refresh_status()
        if isinstance(event, AgentEnd | UserCommandEnd):
            self._refresh_head()

    def _deliver(self) -> None:
        if self._delivery is not None:
            self._delivery.cancel()
            self._delivery = None
        if self._events:
            events, self._events = self._events, []
            self._post(lambda: self._listener.show_events(events))

    def _tell_additions(self) -> None:
        conversation = self._conversation
        additions = Additions(
            conversation.commands,
            conversation.call_titles,
            conversation.theme_folders,
            conversation.completes_mentions,
        )
        self._post(lambda: self._listener.show_additions(additions))

    async def _tell_status(self) -> None:
        await asyncio.sleep(0)  # what happens at this moment belongs to it
        status = await self._conversation.status()
        self._post(lambda: self._listener.show_status(status))

    def _refresh_head(self) -> None:
        if self._head is None or self._head.done():
            self._head = asyncio.ensure_future(self._tell_head())

    async def _tell_head(self) -> None:
        with suppress(OSError):  # a project that went away is told by what needs it
            head = await self._conversation.git_head()
            self._post(lambda: self._listener.show_head(head))
