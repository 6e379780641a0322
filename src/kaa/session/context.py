"""What the model is told when a session is resumed: the path from the root to the leaf, as messages."""

from collections.abc import Sequence
from typing import cast, get_args

import msgspec

from kaa.core.messages import AssistantMessage, Message, ToolResultMessage, Usage, UserMessage
from kaa.core.provider import ThinkingLevel
from kaa.session.as_user_message import (
    branch_summary_message,
    command_message,
    compaction_message,
    note_message,
)
from kaa.session.compaction.undoing import leaves_nothing_out
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
    compaction, nodes = told(store, path)
    entries = [(node, read_entry(store, node)) for node in nodes if node.type in _SPEAKING]
    spoken = [(node, message) for node, entry in entries if entry is not None and (message := message_of(entry))]
    if compaction is not None:
        return (compaction_message(compaction), *(message for _, message in spoken))
    partly_told = _partly_told(path)
    return tuple(_unmeasured(message) if node in partly_told else message for node, message in spoken)


def _partly_told(path: Sequence[Node]) -> frozenset[Node]:
    """Where all is told, though not always: what was said while it was not."""
    places = [position for position, node in enumerate(path) if node.type == "compaction"]
    return frozenset(path[places[0] : places[-1]]) if places else frozenset()


def _unmeasured(message: Message) -> Message:
    """The same without how large the conversation was then: that is not how large it is now."""
    return msgspec.structs.replace(message, usage=Usage()) if isinstance(message, AssistantMessage) else message


def told(store: SessionStore, path: Sequence[Node]) -> tuple[Compaction | None, Sequence[Node]]:
    """The compaction whose summary the model is told, and the entries on `path` that it is told as they are.

    Raises:
        SessionReadError: the disk failed.
    """
    for position in range(len(path) - 1, -1, -1):
        if path[position].type != "compaction":
            continue
        compaction = read_entry(store, path[position])
        if isinstance(compaction, Compaction):
            kept = path[_first_kept(compaction, path[:position]) : position]
            nodes = [*kept, *path[position + 1 :]]
            return (None if leaves_nothing_out(compaction) else compaction), nodes
    return None, path


def _first_kept(compaction: Compaction, before: Sequence[Node]) -> int:
    """Where on the path the kept part begins; at its end if the entry is not on it."""
    wanted = compaction.first_kept_entry_id
    return next((position for position, node in enumerate(before) if node.id == wanted), len(before))


def message_of(entry: AnyEntry) -> Message | None:
    """What the model is told of an entry by itself; None if nothing."""
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
