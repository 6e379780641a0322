"""What the model is told when a session is resumed: the path from the root to the leaf, as messages."""

from collections.abc import Sequence
from typing import cast, get_args

import msgspec

from kaa.core.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from kaa.core.provider import ThinkingLevel
from kaa.session.as_user_message import (
    branch_summary_message,
    command_message,
    compaction_message,
    note_message,
)
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomNote,
    MessageEntry,
    ModelChange,
    StoredMessage,
    ThinkingLevelChange,
)
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

_LEVELS = frozenset(get_args(ThinkingLevel))
_SPEAKING = frozenset({"message", "custom_message", "branch_summary"})


class ModelRef(msgspec.Struct, frozen=True):
    """Which model: the name of its provider and its id there."""

    provider: str
    id: str


class SessionContext(msgspec.Struct, frozen=True):
    """A session's state at its leaf.

    Attributes:
        messages: for the model; summaries and commands of the user are user messages here.
        model: the one in force, None if the session names none.
        thinking_level: the one in force.
    """

    messages: tuple[Message, ...] = ()
    model: ModelRef | None = None
    thinking_level: ThinkingLevel = "off"


def build_context(store: SessionStore) -> SessionContext:
    """Rebuild the context at the leaf, by the rules of pi.

    Raises:
        SessionReadError: the disk failed.
    """
    path = store.tree.path()
    return SessionContext(_messages(store, path), _model(store, path), _thinking_level(store, path))


def _messages(store: SessionStore, path: Sequence[Node]) -> tuple[Message, ...]:
    """The last compaction's summary and what it kept, then everything after it; without one, everything."""
    summary, nodes = _after_compaction(store, path)
    entries = (read_entry(store, node) for node in nodes if node.type in _SPEAKING)
    spoken = (message for entry in entries if entry is not None and (message := _message(entry)) is not None)
    return (*summary, *spoken)


def _after_compaction(store: SessionStore, path: Sequence[Node]) -> tuple[tuple[Message, ...], Sequence[Node]]:
    for position in range(len(path) - 1, -1, -1):
        if path[position].type != "compaction":
            continue
        compaction = read_entry(store, path[position])
        if isinstance(compaction, Compaction):
            kept = path[_first_kept(compaction, path[:position]) : position]
            return (compaction_message(compaction),), [*kept, *path[position + 1 :]]
    return (), path


def _first_kept(compaction: Compaction, before: Sequence[Node]) -> int:
    """Where on the path the kept part begins; at its end if the entry is not on it."""
    wanted = compaction.first_kept_entry_id
    return next((position for position, node in enumerate(before) if node.id == wanted), len(before))


def _message(entry: AnyEntry) -> Message | None:
    match entry:
        case MessageEntry(message=message):
            return _said(message)
        case CustomMessage(content=content):
            return note_message(content, entry.timestamp)
        case BranchSummary():
            return branch_summary_message(entry)
        case _:
            return None


def _said(message: StoredMessage) -> Message | None:
    match message:
        case UserMessage() | AssistantMessage() | ToolResultMessage():
            return message
        case BashExecution():
            return None if message.exclude_from_context else command_message(message)
        case CustomNote():
            return UserMessage(message.content, message.timestamp)


def _model(store: SessionStore, path: Sequence[Node]) -> ModelRef | None:
    """The model of the last reply or change."""
    for node in reversed(path):
        if node.type not in ("message", "model_change"):
            continue
        match read_entry(store, node):
            case ModelChange(provider=provider, model_id=model_id):
                return ModelRef(provider, model_id)
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)) if model:
                return ModelRef(provider, model)
            case _:
                continue
    return None


def _thinking_level(store: SessionStore, path: Sequence[Node]) -> ThinkingLevel:
    for node in reversed(path):
        if node.type != "thinking_level_change":
            continue
        entry = read_entry(store, node)
        if isinstance(entry, ThinkingLevelChange) and entry.thinking_level in _LEVELS:
            return cast("ThinkingLevel", entry.thinking_level)
    return "off"
