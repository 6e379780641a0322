"""What the model is told when a session is resumed: the path from the root to the leaf, as messages."""

from collections.abc import Sequence
from typing import cast, get_args

import msgspec

from kaa.core.messages import AssistantMessage, Message, Usage
from kaa.core.provider import ThinkingLevel
from kaa.session.entries import SPEAKING, Compaction, MessageEntry, ModelChange, ThinkingLevelChange
from kaa.session.store import ReadableSession, read_entry
from kaa.session.tree import Node

_LEVELS = frozenset(get_args(ThinkingLevel))


class ModelRef(msgspec.Struct, frozen=True):
    """Which model: the name of its provider and its id there."""

    provider: str
    id: str


class SessionContext(msgspec.Struct, frozen=True):
    """A session's state at its leaf.

    Attributes:
        messages: for the model; summaries and commands of the user are user messages here.
        model: the one in force, None if the session names none.
    """

    messages: tuple[Message, ...] = ()
    model: ModelRef | None = None
    thinking_level: ThinkingLevel = "off"


def build_context(store: ReadableSession) -> SessionContext:
    """Rebuild the context at the leaf, by the rules of pi.

    Raises:
        SessionReadError: the disk failed.
    """
    path = store.tree.path()
    return SessionContext(_messages(store, path), _model(store, path), _thinking_level(store, path))


def _messages(store: ReadableSession, path: Sequence[Node]) -> tuple[Message, ...]:
    """The last compaction's summary and what it kept, then everything after it; without one, everything."""
    if not path:
        return ()
    from kaa.session.edits import message_of, read_edits  # lazy: a new session has no entries

    compaction, nodes = visible_path(store, path)
    edits = read_edits(store, nodes)
    entries = [(node, read_entry(store, node)) for node in nodes if node.type in SPEAKING]
    spoken = [
        (node, message)
        for node, entry in entries
        if entry is not None and (message := message_of(entry, node.id, edits)) is not None
    ]
    outdated = _before_the_last("context_edit", nodes)
    if compaction is None:
        outdated |= _between_compactions(path)
    messages = tuple(_unmeasured(message) if node in outdated else message for node, message in spoken)
    if compaction is None or (compaction.id in edits and edits[compaction.id] is None):
        return messages
    from kaa.session.as_user_message import compaction_message  # lazy: few sessions are that long

    return (compaction_message(compaction), *messages)


def _between_compactions(path: Sequence[Node]) -> frozenset[Node]:
    """Where all is told, though not always: what was said while it was not."""
    first = next((position for position, node in enumerate(path) if node.type == "compaction"), len(path))
    return _before_the_last("compaction", path[first:])


def _before_the_last(kind: str, nodes: Sequence[Node]) -> frozenset[Node]:
    """Of `nodes` those before the last entry of a kind: what replies measured there is not the size now."""
    last = next((position for position in range(len(nodes) - 1, -1, -1) if nodes[position].type == kind), 0)
    return frozenset(nodes[:last])


def _unmeasured(message: Message) -> Message:
    """The same without how large the conversation was then: that is not how large it is now."""
    return msgspec.structs.replace(message, usage=Usage()) if isinstance(message, AssistantMessage) else message


def visible_path(store: ReadableSession, path: Sequence[Node]) -> tuple[Compaction | None, Sequence[Node]]:
    """The compaction whose summary the model is told, and the entries on `path` that it is told as they are.

    Raises:
        SessionReadError: the disk failed.
    """
    for position in range(len(path) - 1, -1, -1):
        if path[position].type != "compaction":
            continue
        compaction = read_entry(store, path[position])
        if isinstance(compaction, Compaction):
            from kaa.session.compaction.undoing import leaves_nothing_out  # lazy: most sessions have none

            kept = path[_first_kept(compaction, path[:position]) : position]
            nodes = [*kept, *path[position + 1 :]]
            return (None if leaves_nothing_out(compaction) else compaction), nodes
    return None, path


def _first_kept(compaction: Compaction, before: Sequence[Node]) -> int:
    """Where on the path the kept part begins; at its end if the entry is not on it."""
    wanted = compaction.first_kept_entry_id
    return next((position for position, node in enumerate(before) if node.id == wanted), len(before))


def _model(store: ReadableSession, path: Sequence[Node]) -> ModelRef | None:
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


def _thinking_level(store: ReadableSession, path: Sequence[Node]) -> ThinkingLevel:
    for node in reversed(path):
        if node.type != "thinking_level_change":
            continue
        entry = read_entry(store, node)
        if isinstance(entry, ThinkingLevelChange) and entry.thinking_level in _LEVELS:
            return cast("ThinkingLevel", entry.thinking_level)
    return "off"
