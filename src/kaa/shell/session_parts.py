"""What a conversation does with its session, each thing with an owner of its own."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from kaa.core.agent import Subscriber
from kaa.core.events import Event
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.accounting import Accounting
from kaa.shell.budgeting import Budgeting
from kaa.shell.checkpoints.turns import TurnCheckpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.naming import Naming
from kaa.shell.other_sessions import OtherSessions

if TYPE_CHECKING:
    from kaa.session.waiting import WaitingMessages
    from kaa.shell.acting.control import Acting
    from kaa.shell.acting.messages import Unasked
    from kaa.shell.exporting import Exporting
    from kaa.shell.extensions.control import ExtensionControl
    from kaa.shell.navigating import Navigation
    from kaa.shell.worktrees.of_conversation import ConversationWorktrees


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
        """Tell all subscribers."""
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
