"""From a stored line to a typed entry, keeping of a damaged or unusual line whatever can be understood.

Two stages: `read_head` finds an entry's place in the tree and nothing else, for every line of the file;
`decode_entry` reads an entry whole, for the few lines that are needed.
"""

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    Json,
    ToolResultContent,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
)
from kaa.session.entries import (
    ENTRY_KINDS,
    AnyEntry,
    BashExecution,
    ContextEdit,
    CustomMessage,
    CustomNote,
    MessageEntry,
    SessionHeader,
    StoredMessage,
    SystemMessage,
)
from kaa.session.file.jsonl import UNREADABLE, convert_leniently, lenient_object
from kaa.session.naming import unix_milliseconds

# How many places of a glued line are tried; an assistant message has one candidate per content block.
_GLUE_CANDIDATES = 256
# Each may take reading the rest of the line. Where a torn line is that long, the next entry came soon or not at all.
_LONG_LINE_BYTES = 1024 * 1024
_CANDIDATES_OF_LONG_LINES = 16
_ENTRY_START = b'{"type":"'


class LineHead(msgspec.Struct, rename="camel", frozen=True):
    """Where an entry stands in the tree. v1 entries have neither id nor parent."""

    type: str
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    target_id: str | None = None


_HEAD = msgspec.json.Decoder(LineHead)
_HEADER = msgspec.json.Decoder(SessionHeader)
_ENTRY: msgspec.json.Decoder[AnyEntry] = msgspec.json.Decoder(AnyEntry)


def read_header(line: bytes) -> SessionHeader | None:
    """The header of a session file, or None if the line is none."""
    head = read_head(line)
    if head is None or head.type != "session" or not head.id:
        return None
    try:
        return _HEADER.decode(line)
    except UNREADABLE:
        fields = lenient_object(line)
        return None if fields is None else convert_leniently(fields, SessionHeader)


def read_head(line: bytes) -> LineHead | None:
    """The place of a line in the tree, or None if it is no entry at all."""
    try:
        return _HEAD.decode(line)
    except UNREADABLE:
        fields = lenient_object(line)
        return None if fields is None else convert_leniently(fields, LineHead)


def find_glued_entry(line: bytes) -> tuple[int, LineHead] | None:
    """The whole entry that was written behind a torn one on the same line, and where it begins.

    pi does not end a torn line before it writes the next entry; the second one is still whole.
    """
    start, seen = 0, memoryview(line)
    for _ in range(_GLUE_CANDIDATES if len(line) < _LONG_LINE_BYTES else _CANDIDATES_OF_LONG_LINES):
        start = line.find(_ENTRY_START, start + 1)
        if start < 0:
            return None
        try:
            head = _HEAD.decode(seen[start:])  # no copy: the line may have hundreds of megabytes
        except UNREADABLE:
            continue
        if head.id is not None:
            return start, head
    return None


def decode_entry(line: bytes) -> AnyEntry | None:
    """The entry of a line; None for types, roles and damage that we do not understand."""
    try:
        return _ENTRY.decode(line)
    except UNREADABLE:
        fields = lenient_object(line)
    if fields is None:
        return None
    match fields.get("type"):
        case "message":
            return _mend_message_entry(fields)
        case str(tag) if tag in ENTRY_KINDS:
            return _mend_entry(fields, ENTRY_KINDS[tag])
        case _:
            return None


class _Role(msgspec.Struct, frozen=True):
    """How to repair the messages of one role: its struct, the type of its content blocks, what old files lack."""

    message: type[StoredMessage]
    block: Json
    defaults: dict[str, Json]


_ROLES = {
    "user": _Role(UserMessage, UserContent, {}),
    "custom": _Role(CustomNote, UserContent, {}),
    "assistant": _Role(
        AssistantMessage,
        AssistantContent,
        {"content": [], "api": "", "provider": "", "model": "", "usage": {}, "stopReason": "stop"},
    ),
    "toolResult": _Role(ToolResultMessage, ToolResultContent, {"content": [], "toolName": "", "isError": False}),
    "system": _Role(SystemMessage, None, {}),
    "bashExecution": _Role(BashExecution, None, {"output": "", "cancelled": False, "truncated": False}),
}


def _mend_entry(fields: dict[str, Json], kind: type[AnyEntry]) -> AnyEntry | None:
    content = fields.get("content")
    if kind is CustomMessage and isinstance(content, list):
        fields["content"] = [block for block in content if _fits(block, UserContent)]
    if kind is ContextEdit and isinstance(replacement := fields.get("replacement"), dict):
        _mend_replacement(replacement)
    return convert_leniently(fields, kind)


def _mend_replacement(fields: dict[str, Json]) -> None:
    """Keep of replaced content the blocks that kaa knows."""
    if isinstance(content := fields.get("content"), list):
        fields["content"] = [block for block in content if _fits(block, UserContent | AssistantContent)]


def _mend_message_entry(fields: dict[str, Json]) -> MessageEntry | None:
    stored = fields.pop("message", None)
    if not isinstance(stored, dict) or (role := _ROLES.get(str(stored.get("role")))) is None:
        return None
    content = stored.get("content")
    if role.message is AssistantMessage and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if isinstance(content, list):
        stored["content"] = [block for block in content if _fits(block, role.block)]
    if isinstance(usage := stored.get("usage"), dict):
        stored["usage"] = convert_leniently(usage, Usage)
    written = unix_milliseconds(str(fields.get("timestamp")))
    message = convert_leniently(stored, role.message, {"timestamp": written, **role.defaults})
    if message is None:
        return None
    return convert_leniently(fields, MessageEntry, {"message": msgspec.to_builtins(message)})


def _fits(block: Json, wanted: Json) -> bool:
    try:
        msgspec.convert(block, wanted)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True
