"""A session's tree as people look at it: one row per entry, in a few words, and which rows a filter shows."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from kaa.core.messages import AssistantMessage, Json, ToolResultMessage, UserContent, UserMessage
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomNote,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    Note,
    RequestUsage,
    SessionInfo,
    StoredMessage,
    SystemMessage,
    ThinkingLevelChange,
)
from kaa.session.naming import unix_milliseconds
from kaa.session.store import SessionStore, read_entry
from kaa.session.tree import Node

RowKind: TypeAlias = Literal[
    "user",
    "assistant",
    "tool",
    "command",
    "note",
    "compaction",
    "branch_summary",
    "model",
    "thinking",
    "label",
    "name",
    "leaf",
    "edit",
    "usage",
    "system",
    "custom",
    "unreadable",
]
RowFilter: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
"""What to show; the names are those of pi's setting `treeFilterMode`."""

SPOKEN: Final[frozenset[RowKind]] = frozenset(
    {"user", "assistant", "tool", "command", "note", "compaction", "branch_summary"}
)
"""Rows of the conversation; all others are bookkeeping, or cannot be read."""

_TEXT_LENGTH: Final = 200  # characters of an entry's text that a row has; more fits on no screen


class OutlineRow(msgspec.Struct, frozen=True, gc=False):
    """One entry.

    Attributes:
        parent_id: the entry it hangs below; None for a root.
        text: its beginning on one line, as it was written by whoever wrote it: clean it before showing it.
        timestamp: when it was written, Unix time in milliseconds; 0 if that is not known.
        is_current: whether it lies on the way from the root to the leaf.
        failed: whether a reply was stopped or ended with an error, or a tool or command failed.
        label: the user's name for it.
        labelled: when that was given, Unix time in milliseconds.
    """

    entry_id: str
    parent_id: str | None
    kind: RowKind
    text: str
    timestamp: int = 0
    is_current: bool = False
    failed: bool = False
    label: str | None = None
    labelled: int = 0


class Outline(msgspec.Struct, frozen=True):
    """The rows of a session in the order of its file, and the entry from which it goes on (None: before the first)."""

    rows: tuple[OutlineRow, ...]
    leaf_id: str | None

    def shows(self, row: OutlineRow, chosen: RowFilter) -> bool:
        """Whether a filter shows a row. Children of a row that is not shown belong below the nearest shown ancestor."""
        match chosen:
            case "all":
                return True
            case "labeled-only":
                return row.label is not None
            case "user-only":
                return row.kind == "user"
            case "no-tools" if row.kind == "tool":
                return False
            case _:
                return (row.kind in SPOKEN or row.kind == "unreadable") and not self._is_mute(row)

    def _is_mute(self, row: OutlineRow) -> bool:
        """A reply that only called tools says nothing that their rows do not say."""
        return row.kind == "assistant" and not row.text and not row.failed and row.entry_id != self.leaf_id


def outline(store: SessionStore, nodes: Sequence[Node], leaf: Node | None) -> Outline:
    """Read what a session's tree says. Decodes every entry: run it in a thread.

    Args:
        store: the session; it must stay open.
        nodes: its entries, a copy: the tree may grow meanwhile.

    Raises:
        SessionReadError: the disk failed.
    """
    current = {node.id for node in store.tree.path(leaf)} if leaf is not None else set()
    rows: list[OutlineRow] = []
    labels: dict[str, tuple[str, int]] = {}
    calls: dict[str, str] = {}
    for node in nodes:
        entry = read_entry(store, node)
        if isinstance(entry, Label):
            _note_label(labels, entry)
        kind, text, failed = _described(entry, calls)
        rows.append(
            OutlineRow(
                entry_id=node.id,
                parent_id=node.parent.id if node.parent is not None else None,
                kind=kind,
                text=_on_one_line(text),
                timestamp=unix_milliseconds(entry.timestamp) if entry is not None else 0,
                is_current=node.id in current,
                failed=failed,
            )
        )
    return Outline(tuple(_labelled(row, labels) for row in rows), leaf.id if leaf is not None else None)


def _note_label(labels: dict[str, tuple[str, int]], entry: Label) -> None:
    """The last label of an entry counts, wherever in the tree it was given."""
    name = (entry.label or "").strip()
    if name:
        labels[entry.target_id] = (name, unix_milliseconds(entry.timestamp))
    else:
        labels.pop(entry.target_id, None)


def _labelled(row: OutlineRow, labels: dict[str, tuple[str, int]]) -> OutlineRow:
    if row.entry_id not in labels:
        return row
    name, given = labels[row.entry_id]
    return msgspec.structs.replace(row, label=name, labelled=given)


def _described(entry: AnyEntry | None, calls: dict[str, str]) -> tuple[RowKind, str, bool]:
    """Kind, text, and whether it failed. `calls`: what the tool calls so far were for, by their ids."""
    match entry:
        case None:
            return "unreadable", "", False
        case MessageEntry(message=message):
            return _said(message, calls)
        case _:
            return (*_noted(entry), False)


def _noted(entry: Note) -> tuple[RowKind, str]:
    match entry:
        case CustomMessage(content=content):
            return "note", _text(content)
        case Compaction(summary=summary):
            return "compaction", summary
        case BranchSummary(summary=summary):
            return "branch_summary", summary
        case ModelChange(provider=provider, model_id=model_id):
            return "model", f"{provider}/{model_id}"
        case ThinkingLevelChange(thinking_level=level):
            return "thinking", level
        case Label(label=label):
            return "label", label or ""
        case SessionInfo(name=name):
            return "name", name
        case Leaf():
            return "leaf", ""
        case ContextEdit(target_id=target_id, replacement=replacement):
            return "edit", f"{'removed' if replacement is None else 'replaced'} {target_id}"
        case RequestUsage(kind=purpose):
            return "usage", purpose
        case Custom(custom_type=custom_type):
            return "custom", custom_type


def _said(message: StoredMessage, calls: dict[str, str]) -> tuple[RowKind, str, bool]:
    match message:
        case UserMessage():
            return "user", message.said.text, False
        case AssistantMessage(stop_reason=stop_reason):
            for call in message.tool_calls:
                calls[call.id] = f"{call.name} {_subject(call.arguments)}".rstrip()
            return "assistant", message.text, stop_reason in ("aborted", "error")
        case ToolResultMessage(tool_call_id=call_id, tool_name=name, is_error=is_error):
            return "tool", calls.get(call_id, name), is_error
        case BashExecution(command=command, cancelled=cancelled, exit_code=exit_code):
            return "command", command, cancelled or bool(exit_code)
        case CustomNote(content=content):
            return "note", _text(content), False
        case SystemMessage():
            return "system", "", False


def _subject(arguments: dict[str, Json]) -> str:
    """What a call is about. The path, command or pattern comes first in the schemas of all tools we know."""
    return next((value for value in arguments.values() if isinstance(value, str)), "")


def _text(content: tuple[UserContent, ...] | str) -> str:
    return UserMessage(content).text


def _on_one_line(text: str) -> str:
    return " ".join(text[: 2 * _TEXT_LENGTH].split())[:_TEXT_LENGTH]
