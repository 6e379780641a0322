"""What the model is told of an entry, with the later entries that edit it for the model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from kaa.core.usage import estimate
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    ContextEdit,
    CustomMessage,
    CustomNote,
    EditedContent,
    MessageEntry,
    StoredMessage,
    SystemMessage,
)
from kaa.session.store import ReadableSession, read_entry
from kaa.session.tree import Node

Edits: TypeAlias = Mapping[str, EditedContent | None]
"""By the id of the edited entry: its content for the model, None if the model does not see the entry."""


def read_edits(store: ReadableSession, nodes: Iterable[Node]) -> Edits:
    """The edits among `nodes`; of several edits of one entry, the last.

    Raises:
        SessionReadError: the disk failed.
    """
    entries = (read_entry(store, node) for node in nodes if node.type == "context_edit")
    return {entry.target_id: entry.replacement for entry in entries if isinstance(entry, ContextEdit)}


class Shortened(msgspec.Struct, frozen=True):
    """Results of tools that the model sees in a shorter form.

    Attributes:
        tokens_saved: in each request, estimated.
        tokens_saved_since: in all requests since they were shortened.
    """

    results: int = 0
    tokens_saved: int = 0
    tokens_saved_since: int = 0


def shortened(store: ReadableSession, nodes: Sequence[Node]) -> Shortened:
    """What edits among `nodes`, which the model sees, save.

    Raises:
        SessionReadError: the disk failed.
    """
    edits = read_edits(store, nodes)
    saved: dict[str, int] = {}
    replies, since = 0, dict[str, int]()  # replies before the last edit of each result
    for node in nodes:
        entry = read_entry(store, node) if node.type in ("message", "context_edit") else None
        match entry:
            case MessageEntry(message=ToolResultMessage() as whole) if node.id in edits:
                told = message_of(entry, node.id, edits)
                saved[node.id] = estimate(whole) - (0 if told is None else estimate(told))
            case MessageEntry(message=AssistantMessage()):
                replies += 1
            case ContextEdit(target_id=target_id):
                since[target_id] = replies
            case _:
                pass
    in_all = sum(tokens * (replies - since[target_id]) for target_id, tokens in saved.items())
    return Shortened(len(saved), sum(saved.values()), in_all)


def message_of(entry: AnyEntry, entry_id: str, edits: Edits) -> Message | None:
    """What the model is told of an entry; None if nothing."""
    message = _unedited(entry)
    if message is None or entry_id not in edits:
        return message
    replacement = edits[entry_id]
    if replacement is None:
        return None
    return _replaced(message, replacement) if _is_editable(entry) else message


def _unedited(entry: AnyEntry) -> Message | None:
    from kaa.session.as_user_message import branch_summary_message, custom_message  # lazy: many sessions have none

    match entry:
        case MessageEntry(message=message):
            return _said(message)
        case CustomMessage():
            return custom_message(entry)
        case BranchSummary():
            return branch_summary_message(entry) if entry.summary else None
        case _:
            return None


def _said(message: StoredMessage) -> Message | None:
    from kaa.session.as_user_message import command_message  # lazy, as above

    match message:
        case UserMessage() | AssistantMessage() | ToolResultMessage():
            return message
        case BashExecution():
            return None if message.exclude_from_context else command_message(message)
        case CustomNote():
            return UserMessage(message.content, message.timestamp, "extension")
        case SystemMessage():
            return None


def _is_editable(entry: AnyEntry) -> bool:
    """Commands and summaries can be removed, but their content cannot be replaced, as in pi."""
    match entry:
        case BranchSummary() | MessageEntry(message=BashExecution()):
            return False
        case _:
            return True


def _replaced(message: Message, replacement: EditedContent) -> Message:
    """The message with the content that its role can have."""
    content = replacement.content
    blocks = (TextContent(content),) if isinstance(content, str) else content
    match message:
        case AssistantMessage():
            said = tuple(block for block in blocks if not isinstance(block, ImageContent))
            return msgspec.structs.replace(message, content=said)
        case UserMessage() if isinstance(content, str):
            return msgspec.structs.replace(message, content=content)
        case UserMessage() | ToolResultMessage():
            shown = tuple(block for block in blocks if isinstance(block, TextContent | ImageContent))
            return msgspec.structs.replace(message, content=shown)
