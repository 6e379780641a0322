"""What a conversation does with its session, each thing with an owner of its own."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from kaa.shell.accounting import Accounting
from kaa.shell.agent_events import AgentEvents
from kaa.shell.budgeting import Budgeting
from kaa.shell.checkpoints.turns import TurnCheckpoints
from kaa.shell.compaction.compacting import Compacting
from kaa.shell.naming import Naming
from kaa.shell.other_sessions import OtherSessions

if TYPE_CHECKING:
    from kaa.shell.exporting import Exporting
    from kaa.shell.navigating import Navigation


class SessionParts(msgspec.Struct, frozen=True):
    """A session and those who work on it.

    Attributes:
        store: where it is kept.
        recorder: writes events into it; it is subscribed already, to see each one before all others.
        accounting: counts what was used.
        budgeting: keeps that within limits.
        naming: gives it a name.
        compaction: condenses it.
        exporting: gives what writes it into files of the user's; loaded when it is used.
        checkpoints: are taken of the project's files.
        navigation: gives what goes elsewhere in it; loaded when it is used.
        others: the other sessions there are.
        agents: tells of the agents that tools run in it.
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
