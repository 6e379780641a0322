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


class TextFilter(Protocol):
    """Takes out of a text what must not leave the machine. Secrets are known elsewhere (`kaa.llm.redaction`)."""

    def redact(self, text: str) -> str:
        """The text without it."""
        ...


class Selection(msgspec.Struct, frozen=True):
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


def pick(source: SessionSource, selection: Selection) -> Iterator[Picked]:
    """The selected entries in the order of the file. What is no JSON object is passed over."""
    for node in selected_nodes(source, selection):
        entry = picked(node, source.line(node), selection)
        if entry is not None:
            yield entry


def picked(node: Node, line: bytes, selection: Selection) -> Picked | None:
    """The entry of a line; None if that is no JSON object."""
    fields = _decode(line)
    if fields is None:
        return None
    stripped = _stripped(fields, selection)
    return Picked(node, stripped if selection.redactor is None else redacted_object(stripped, selection.redactor))


def selected_nodes(source: SessionSource, selection: Selection) -> list[Node]:
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
        case {"type": "image", "data": str(), "mimeType": str()}:
            return value  # a picture's bytes cannot be read as text; changed ones would not be a picture
        case dict():
            return {redactor.redact(key): _redacted(item, redactor) for key, item in value.items()}
        case _:
            return value


def _decode(line: bytes) -> dict[str, Json] | None:
    try:
        value = msgspec.json.decode(line)
    except UNREADABLE:
        return lenient_object(line)
    return value if isinstance(value, dict) else None


def _stripped(fields: dict[str, Json], selection: Selection) -> dict[str, Json]:
    message = fields.get("message")
    if not isinstance(message, dict):
        return fields
    content = message.get("content")
    if isinstance(content, list):
        blocks = [_without_opaque(block) for block in content if _is_wanted(block, selection)]
        message["content"] = blocks
    if message.get("role") == "toolResult":
        if not selection.tools:
            message["content"] = []
            message.pop("details", None)
        _drop_repeated_output(message.get("details"))
    if message.get("role") == "bashExecution" and not selection.tools:
        message["output"] = ""
    return fields


def _is_wanted(block: Json, selection: Selection) -> bool:
    match block:
        case {"type": "thinking"}:
            return selection.thinking
        case {"type": "toolCall"}:
            return selection.tools
        case _:
            return True


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
