"""What a conversation does with its session, each thing with an owner of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Subscriber
from kaa.core.events import Event
from kaa.ext.errors import CommandError
from kaa.session.errors import SessionError
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.accounting import Accounting
from kaa.shell.budgeting import Budgeting
from kaa.shell.checkpoints.turns import TurnCheckpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.home import Home
from kaa.shell.naming import Naming

if TYPE_CHECKING:
    from kaa.ext.navigation import FoundText, ListedSession
    from kaa.session.waiting import WaitingMessages
    from kaa.shell.acting.control import Acting, Unasked
    from kaa.shell.exporting import Exporting
    from kaa.shell.extensions.control import ExtensionControl
    from kaa.shell.navigating import Navigation
    from kaa.shell.sessions import Sessions
    from kaa.shell.worktrees.of_conversation import ConversationWorktrees

_MOST_HITS = 50


class OtherSessions:
    """Implements `kaa.ext.navigation.SessionList`.

    Args:
        session_dir: one folder for the sessions of all projects, None where each project has its own.
    """

    def __init__(self, home: Home, cwd: str, session_dir: Path | None) -> None:
        self._home = home
        self._cwd = cwd
        self._session_dir = session_dir

    async def here(self) -> "tuple[ListedSession, ...]":
        return await asyncio.to_thread(self._here)

    async def find(self, query: str) -> str:
        try:
            return str(await asyncio.to_thread(self._sessions().resolve, query))
        except SessionError as error:
            listed = await self.here()
            fitting = [one for one in listed if query.lower() in one.title.lower()]
            if len(fitting) == 1:
                return fitting[0].path
            if fitting:
                several = "\n".join(f"{one.id}  {one.title}" for one in fitting)
                raise CommandError(f"several titles contain {query!r}; use an id:\n{several}") from error
            raise CommandError(str(error)) from error

    async def search(self, text: str) -> "tuple[FoundText, ...]":
        return await asyncio.to_thread(self._search, text)

    def _search(self, text: str) -> "tuple[FoundText, ...]":
        from kaa.ext.navigation import FoundText, ListedSession  # lazy: few commands look for sessions
        from kaa.session.catalogue.matching import QueryError  # lazy, as below

        sessions = self._sessions()
        try:
            hits = sessions.search(text, "here", _MOST_HITS) or sessions.search(text, "everywhere", _MOST_HITS)
        except QueryError as error:
            raise CommandError(str(error)) from error
        return tuple(
            FoundText(
                ListedSession(hit.session.id, str(hit.session.path), hit.session.title),
                hit.entry_id,
                " ".join(f"{hit.before}{hit.match}{hit.after}".split()),
            )
            for hit in hits
        )

    def _here(self) -> "tuple[ListedSession, ...]":
        from kaa.ext.navigation import ListedSession  # lazy, as above

        return tuple(ListedSession(one.id, str(one.path), one.title) for one in self._sessions().list())

    def _sessions(self) -> "Sessions":
        from kaa.shell.sessions import Sessions  # lazy, as above

        return Sessions(self._home, self._cwd, self._session_dir)


class AgentEvents:
    """Passes on the events of the agents that tools run, each with the agent's id.

    Those who follow the conversation's own agent do not get them.
    """

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Pass every event to `subscriber`. Returns a function that ends this."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def emit(self, event: Event) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(event)


class SessionParts(msgspec.Struct, frozen=True):
    """A session and those who work on it.

    Attributes:
        recorder: writes events into it; it is subscribed already, to see each one before all others.
        exporting: gives what writes it into files of the user's; loaded when it is used.
        checkpoints: are taken of the project's files.
        navigation: gives what goes elsewhere in it; loaded when it is used.
        others: the other sessions there are.
        agents: tells of the agents that tools run in it.
        follow_extensions: loads extensions again that changed.
        refresh_extensions: loads new extensions, too, and drops removed ones.
        extensions: gives what reports on the user's extensions and switches them; loaded when it is used.
        worktrees: gives what compares and merges the worktrees of the project; loaded when it is used.
        acting: makes what carries out what extensions do; it gets what starts runs for them, once that is there, and
            what gives the mode of approvals.
        waiting: what waited in it when its kaa was killed.
        notify: tells the user, in a sentence.
    """

    store: SessionStore
    recorder: SessionRecorder
    accounting: Accounting
    budgeting: Budgeting
    naming: Naming
    compaction: Compacting
    exporting: "Callable[[], Exporting]"
    checkpoints: TurnCheckpoints
    navigation: "Callable[[], Navigation]"
    others: OtherSessions
    agents: AgentEvents
    follow_extensions: Callable[[], Awaitable[None]]
    refresh_extensions: Callable[[], Awaitable[None]]
    extensions: "Callable[[], ExtensionControl]"
    worktrees: "Callable[[], ConversationWorktrees]"
    acting: "Callable[[Callable[[], Unasked | None], Callable[[], str]], Acting]"
    waiting: "WaitingMessages | None"
    notify: Callable[[str], None]
