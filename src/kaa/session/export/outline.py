"""What the viewer knows of every entry before it reads it: one short row each, for the tree and the way to a branch."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kaa.core.display_values import plain_lines, stored_values
from kaa.core.messages import Json
from kaa.core.terminal_text import plain_text
from kaa.session.as_user_message import label_of

PREVIEW_CHARACTERS = 100

# Where a preview is looked for: a file of a megabyte that was read begins with more than enough.
_LOOKED_AT = 2000
_SPACE = re.compile(r"\s+")


class ExportRow(NamedTuple):
    """An entry in the tree.

    Attributes:
        kind: what it is, for icons and filters: `user`, `assistant`, `tool`, `command`, `compaction`, `branch`,
            `custom`, `agent` (it began), `setting`, `remark` (a name or a label) or `other`.
        preview: its beginning in one line.
        calls: of a reply the ids of its tool calls, of a tool's result or an agent that of the call.
    """

    kind: str
    preview: str
    calls: tuple[str, ...] = ()


def row_of(fields: Mapping[str, Json]) -> ExportRow:
    match fields:
        case {"type": "message", "message": dict() as message}:
            return _message_row(message)
        case {"type": "compaction"}:
            return ExportRow("compaction", _line(fields.get("summary")))
        case {"type": "branch_summary"}:
            return ExportRow("branch", _line(fields.get("summary")))
        case {"type": "custom_message"}:
            text = _text_of(fields.get("content"))
            return ExportRow("custom" if fields.get("display", True) else "other", _line(text))
        case {"type": "custom", "display": list(values)} if shown := stored_values(values):
            return ExportRow("custom", _line(" ".join(plain_lines(shown))))
        case {
            "type": "custom",
            "customType": "agent",
            "data": {"agent": str() as agent, "task": str() as task} as data,
        }:
            return ExportRow("agent", _line(f"{agent}: {task}"), (str(data.get("call")),))
        case {"type": "model_change"}:
            return ExportRow("setting", _line(f"{fields.get('provider')}/{fields.get('modelId')}"))
        case {"type": "thinking_level_change"}:
            return ExportRow("setting", _line(f"thinking: {fields.get('thinkingLevel')}"))
        case {"type": "session_info"}:
            return ExportRow("remark", _line(f"name: {fields.get('name') or 'none'}"))
        case {"type": "label"}:
            return ExportRow("remark", _line(f"label: {fields.get('label') or 'taken away'}"))
        case _:
            return ExportRow("other", _line(label_of(str(fields.get("customType") or fields.get("type")))))


def _message_row(message: Mapping[str, Json]) -> ExportRow:
    match message.get("role"):
        case "user":
            return ExportRow("user", _line(_text_of(message.get("content"))))
        case "assistant":
            calls = _calls_of(message.get("content"))
            text = _text_of(message.get("content")) or ", ".join(str(call.get("name")) for call in calls)
            ids = tuple(str(call.get("id")) for call in calls)
            return ExportRow("assistant", _line(text or message.get("errorMessage")), ids)
        case "toolResult":
            result = f"{message.get('toolName')}: {_text_of(message.get('content'))}"
            return ExportRow("tool", _line(result), (str(message.get("toolCallId")),))
        case "bashExecution":
            return ExportRow("command", _line(message.get("command")))
        case "custom":
            kind = "custom" if message.get("display", True) else "other"
            return ExportRow(kind, _line(_text_of(message.get("content"))))
        case role:
            return ExportRow("other", _line(role))


def _text_of(content: Json) -> str:
    """The first text of a message."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                return text
            case {"type": "image"}:
                return "[image]"
            case _:
                continue
    return ""


def _calls_of(content: Json) -> list[dict[str, Json]]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == "toolCall"]


def _line(text: Json) -> str:
    bare = _SPACE.sub(" ", plain_text(text[:_LOOKED_AT])).strip() if isinstance(text, str) else ""
    return bare if len(bare) <= PREVIEW_CHARACTERS else bare[: PREVIEW_CHARACTERS - 1] + "…"
