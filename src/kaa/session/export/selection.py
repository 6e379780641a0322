"""What of a session goes into an export, and what is left out of its entries."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from kaa.core.messages import Json
from kaa.session.entries import Label
from kaa.session.export.source import SessionSource
from kaa.session.file.decoding import decode_entry
from kaa.session.file.jsonl import UNREADABLE, lenient_object
from kaa.session.tree import Node

# Only the provider that made them can read these. They are long, and nobody else can tell what is in them.
_OPAQUE = frozenset({"thinkingSignature", "textSignature", "thoughtSignature"})

# By the role of the messages that are output or definitions of tools: what remains of them without tools.
_OUTPUT = {
    "toolResult": frozenset({"role", "toolCallId", "toolName", "isError", "timestamp", "usage"}),
    "bashExecution": frozenset(
        {"role", "command", "exitCode", "cancelled", "truncated", "excludeFromContext", "timestamp"}
    ),
    "system": frozenset({"role", "timestamp"}),
}


class TextFilter(Protocol):
    """Takes out of a text what must not leave the machine. Secrets are known elsewhere (`kaa.llm.redaction`)."""

    def redact(self, text: str) -> str:
        """The text without it."""


class ExportSelection(msgspec.Struct, frozen=True):
    """What goes in.

    Attributes:
        all_branches: every entry of the session; otherwise those from the root to the leaf.
        thinking: with what the model thought.
        tools: with calls of tools and what came back.
        redactor: sees every text of the entries, None to leave them as they are.
    """

    all_branches: bool = False
    thinking: bool = True
    tools: bool = True
    redactor: TextFilter | None = None


class Picked(NamedTuple):
    """An entry that goes in, as the JSON object it is in the file, without what was deselected."""

    node: Node
    fields: dict[str, Json]


def pick(source: SessionSource, selection: ExportSelection) -> Iterator[Picked]:
    """The selected entries in the order of the file. Lines that are not JSON objects are left out."""
    for node in selected_nodes(source, selection):
        entry = picked(source, node, selection)
        if entry is not None:
            yield entry


def picked(source: SessionSource, node: Node, selection: ExportSelection) -> Picked | None:
    """An entry as it goes in; None if its line is not a JSON object."""
    fields = fields_of(source.line(node))
    if fields is None:
        return None
    match fields:
        case {"message": dict() as message}:
            fields["message"] = _without_deselected(message, str(message.get("role")), selection)
        case {"type": "context_edit", "replacement": dict() as replacement}:
            role = "" if selection.tools else _target_role(source, fields.get("targetId"))
            fields["replacement"] = _without_deselected(replacement, role, selection)
        case {"type": "custom_message", "content": content}:
            fields["content"] = _filtered_blocks(content, selection)
        case {"type": "compaction", "systemMessage": _} if not selection.tools:
            del fields["systemMessage"]
        case {"type": "custom", "customType": "agent", "data": dict() as begun} if not selection.tools:
            begun.pop("task", None)  # an argument of the call
        case _:
            pass
    return Picked(node, fields if selection.redactor is None else redacted_object(fields, selection.redactor))


def selected_nodes(source: SessionSource, selection: ExportSelection) -> list[Node]:
    """The entries of all branches, or of the current one."""
    return list(source.tree.nodes) if selection.all_branches else source.tree.path()


def remarks(source: SessionSource, path: Iterable[Node]) -> list[Node]:
    """What holds for a path, or the session as a whole, and was said on other branches: its name, and labels.

    Of the labels of an entry the last one in the file counts, wherever it was given.
    """
    on_path = {node.id for node in path}
    last: dict[str, Node] = {}
    for node in source.tree.nodes:
        if node is source.tree.info:
            last[""] = node
        elif node.type == "label":
            entry = decode_entry(source.line(node))
            if isinstance(entry, Label) and entry.target_id in on_path:
                last[entry.target_id] = node
    return sorted((node for node in last.values() if node.id not in on_path), key=lambda node: node.offset)


def redacted_object(fields: dict[str, Json], redactor: TextFilter) -> dict[str, Json]:
    """An object with every text in it redacted, but not what holds the tree together."""
    return {key: value if key in _STRUCTURE else _redacted(value, redactor) for key, value in fields.items()}


_STRUCTURE = frozenset({"type", "id", "parentId", "timestamp", "targetId", "fromId", "firstKeptEntryId", "role"})


def _redacted(value: Json, redactor: TextFilter) -> Json:
    match value:
        case str():
            return redactor.redact(value)
        case list():
            return [_redacted(item, redactor) for item in value]
        case {"type": "image", "data": str() as data, "mimeType": str()}:
            # The bytes of an image cannot be read as text, and changed ones are not an image.
            others = {key: item for key, item in value.items() if key != "data"}
            return {**redacted_object(others, redactor), "data": data}
        case dict():
            return {redactor.redact(key): _redacted(item, redactor) for key, item in value.items()}
        case _:
            return value


def fields_of(line: bytes) -> dict[str, Json] | None:
    """The JSON object of a line; None if it is none."""
    try:
        value = msgspec.json.decode(line)
    except UNREADABLE:
        return lenient_object(line)
    return value if isinstance(value, dict) else None


def _target_role(source: SessionSource, target_id: Json) -> str:
    """Whose content an edit replaces: the role of a message, the type of another entry. Unknown: a tool's."""
    node = source.tree.get(target_id) if isinstance(target_id, str) else None
    fields = fields_of(source.line(node)) if node is not None else None
    match fields:
        case {"message": {"role": str() as role}} | {"type": str() as role}:
            return role
        case _:
            return "toolResult"


def _without_deselected(holder: dict[str, Json], role: str, selection: ExportSelection) -> dict[str, Json]:
    """A message, or what replaces its content for the model.

    Args:
        holder: has `content`, and perhaps what belongs to it.
    """
    if role in _OUTPUT and not selection.tools:
        kept = {key: value for key, value in holder.items() if key in _OUTPUT[role]}
        for key in {"content", "output"} & holder.keys():
            kept[key] = "" if isinstance(holder[key], str) else []
        return kept
    if "content" in holder:
        holder["content"] = _filtered_blocks(holder["content"], selection)
    if role == "toolResult":
        _drop_repeated_output(holder.get("details"))
    return holder


def _filtered_blocks(content: Json, selection: ExportSelection) -> Json:
    if not isinstance(content, list):
        return content
    return [_without_opaque(block) for block in content if _is_wanted(block, selection)]


def _is_wanted(block: Json, selection: ExportSelection) -> bool:
    match block:
        case {"type": "thinking"}:
            return selection.thinking
        case {"type": "toolCall"}:
            return selection.tools
        case {"type": "text" | "image"}:
            return True
        case _:
            return selection.thinking and selection.tools  # nobody knows what it holds


def _without_opaque(block: Json) -> Json:
    if isinstance(block, dict) and not _OPAQUE.isdisjoint(block):
        return {key: value for key, value in block.items() if key not in _OPAQUE}
    return block


def _drop_repeated_output(details: Json) -> None:
    """Take away the output that pi keeps a second time in `details.truncation.content`."""
    match details:
        case {"truncation": dict() as truncation}:
            truncation.pop("content", None)
        case _:
            pass
