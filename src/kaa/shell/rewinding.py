"""Going back to an earlier message of the user's, to say something else instead."""

import msgspec

from kaa.core.agent import Agent
from kaa.core.events import SessionRewound
from kaa.core.messages import UserMessage
from kaa.ext.api import CommandError
from kaa.session.entries import MessageEntry
from kaa.session.jsonl import UNREADABLE
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node


class RewindPoint(msgspec.Struct, frozen=True):
    """A message of the user's that can be taken back. `timestamp`: Unix time in milliseconds."""

    entry_id: str
    text: str
    timestamp: int


class _Role(msgspec.Struct, frozen=True):
    role: str


class _Line(msgspec.Struct, frozen=True):
    message: _Role


_LINE = msgspec.json.Decoder(_Line)


class Rewinding:
    """Takes messages back. What came after one stays in the session's file, on a branch of its own.

    Args:
        agent: goes on from there.
        store: the session.
        recorder: writes into it.
    """

    def __init__(self, agent: Agent, store: SessionStore, recorder: SessionRecorder) -> None:
        self._agent = agent
        self._store = store
        self._recorder = recorder

    def points(self) -> tuple[RewindPoint, ...]:
        """The user's messages on the current branch, the newest last.

        Raises:
            SessionReadError: the disk failed.
        """
        found = []
        for node in self._store.tree.path():
            message = self._user_message(node)
            if message is not None:
                found.append(RewindPoint(node.id, message.text, message.timestamp))
        return tuple(found)

    def rewind(self, entry_id: str) -> UserMessage:
        """Go on from before a message. Returns the message, to be changed.

        Raises:
            AgentBusyError: the agent is working.
            CommandError: there is no such message on the current branch.
            SessionWriteError: the session cannot be written.
            SessionReadError: it cannot be read.
        """
        self._agent.refuse_if_busy()
        node = next((node for node in self._store.tree.path() if node.id == entry_id), None)
        message = self._user_message(node) if node is not None else None
        if node is None or message is None:
            raise CommandError("that message is not in this conversation any more; choose another one")
        context = self._recorder.rewind(node.parent.id if node.parent is not None else None)
        self._agent.replace_history(context.messages)
        self._agent.emit(SessionRewound(entry_id))
        return message

    def _user_message(self, node: Node) -> UserMessage | None:
        if node.type != "message":
            return None
        try:
            if _LINE.decode(self._store.line(node)).message.role != "user":
                return None
        except UNREADABLE:
            pass  # decoding it whole mends what can be mended
        entry = read_entry(self._store, node)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return entry.message
        return None
