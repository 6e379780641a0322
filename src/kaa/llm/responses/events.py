"""What a stream of OpenAI's Responses consists of, as far as kaa needs it.

Format: https://platform.openai.com/docs/api-reference/responses-streaming. Every field may be missing, for the
servers that imitate it leave out what they please.
"""

from typing import Final

import msgspec

from kaa.core.messages import Json, Usage
from kaa.llm import reply_json
from kaa.llm.reply_json import ReportedCost


class OutputItem(msgspec.Struct, frozen=True):
    """An output item: a message, reasoning or a function call, or a kind kaa did not ask for."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Json = None  # a string; some servers send the object itself
    content: Json = None
    summary: Json = None
    encrypted_content: str | None = None
    phase: str | None = None

    @property
    def text(self) -> str:
        """All that the item says in the end: text, reasoning (its summary before the whole) or arguments."""
        match self.type:
            case "function_call":
                return arguments_text(self.arguments)
            case "reasoning":
                return "\n\n".join(_texts(self.summary) or _texts(self.content))
            case _:
                return "".join(_texts(self.content))


class _InputDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(ReportedCost, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None

    def counted(self) -> Usage:
        """As kaa counts: `input` without what came out of the cache or went into it."""
        details = self.input_tokens_details or _InputDetails()
        cached, written = details.cached_tokens or 0, details.cache_write_tokens or 0
        fresh, output = max(0, (self.input_tokens or 0) - cached - written), self.output_tokens or 0
        return Usage(fresh, output, cached, written, fresh + output + cached + written, self.reported)


class ResponseState(msgspec.Struct, frozen=True):
    """The state of the whole reply. `output` is what `OutputItem` describes, undecoded."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    output: tuple[msgspec.Raw, ...] | None = None
    usage: _Usage | None = None
    error: Json = None
    incomplete_details: Json = None

    @property
    def why_incomplete(self) -> str:
        """The server's name for why it stopped early; empty if it gives none."""
        details = self.incomplete_details
        return str(details.get("reason") or "") if isinstance(details, dict) else ""


class ResponsesEvent(msgspec.Struct, frozen=True):
    """One event of any type. `item` is what `OutputItem` describes, undecoded."""

    type: str = ""
    output_index: int | None = None
    summary_index: int | None = None
    content_index: int | None = None
    item_id: str | None = None
    delta: Json = None
    text: Json = None
    refusal: Json = None
    arguments: Json = None
    item: msgspec.Raw = msgspec.Raw()
    response: ResponseState | None = None
    error: Json = None

    @property
    def part(self) -> int | None:
        """Which part of its item a piece of reasoning belongs to."""
        return self.content_index if self.summary_index is None else self.summary_index


EVENTS: Final = msgspec.json.Decoder(ResponsesEvent)
RESPONSES: Final = msgspec.json.Decoder(ResponseState)
# Servers have been seen to send `null` where an item would be that they keep to themselves.
ITEMS: Final[msgspec.json.Decoder[OutputItem | None]] = msgspec.json.Decoder(OutputItem | None)


def arguments_text(arguments: Json) -> str:
    """The JSON text of a function call's arguments, or of a part of it."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return reply_json.encode(arguments).decode()


def _texts(parts: Json) -> list[str]:
    """The texts in a list of content parts."""
    if isinstance(parts, str):
        return [parts] if parts else []
    said: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"text": str(text)} | {"refusal": str(text)}:
                said.append(text)
            case _:
                pass  # what kaa did not ask for
    return said
