"""Collects the small pieces of a reply, so that pieces which arrived together travel together."""

import msgspec

from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    ReplyInfo,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)
from kaa.core.usage import plausible
from kaa.llm.unicode_text import clean

_Key = int | str
_Kind = type[TextChunk | ThinkingChunk | ArgumentsChunk]
_Delta = tuple[_Kind, _Key]

# The halves of characters that come first, of those beyond the first 65,536: https://www.unicode.org/glossary/#surrogate_pair
_FIRST_HALF, _LAST_FIRST_HALF = "\ud800", "\udbff"


class DeltaBuffer:
    """Takes deltas one by one and gives them out with neighbours of the same block joined.

    A server that sends 20,000 tokens at once costs the rest of kaa a handful of events. What it gives out is Unicode:
    halves of characters that come in different pieces are put together, single ones become U+FFFD.
    """

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._kind: _Kind = TextChunk
        self._key: _Key = 0
        self._parts: list[str] = []
        self._signature: str | None = None
        self._halves: dict[_Delta, str] = {}  # of characters whose other half has not come yet, by block

    def text(self, key: _Key, text: str, signature: str | None = None) -> None:
        """More text, or its signature."""
        if self._key != key or self._kind is not TextChunk:
            self._begin(TextChunk, key)
        self._parts.append(text)
        self._signature = signature or self._signature

    def thinking(self, key: _Key, text: str, signature: str | None = None) -> None:
        """More reasoning, or its signature."""
        if self._key != key or self._kind is not ThinkingChunk:
            self._begin(ThinkingChunk, key)
        self._parts.append(text)
        self._signature = signature or self._signature

    def arguments(self, key: _Key, json: str) -> None:
        """More of the arguments of a tool call."""
        if self._key != key or self._kind is not ArgumentsChunk:
            self._begin(ArgumentsChunk, key)
        self._parts.append(json)

    def add(self, event: CallChunkStart | ThinkingChunk | BlockEnd | ReplyInfo | StreamDone) -> None:
        """An event that stands for itself."""
        self._join()
        match event:
            case BlockEnd(key=key):
                self._give_up_halves([delta for delta in self._halves if delta[1] == key])
            case StreamDone():
                self._give_up_halves(list(self._halves))
            case CallChunkStart(id=call_id, name=name):
                event = msgspec.structs.replace(event, id=clean(call_id), name=clean(name))
            case _:
                pass
        if isinstance(event, ReplyInfo) and event.usage is not None:
            event = msgspec.structs.replace(event, usage=plausible(event.usage))
        self._events.append(event)

    def drain(self) -> list[StreamEvent]:
        """All that was collected since the last call."""
        self._join()
        events, self._events = self._events, []
        return events

    def _begin(self, kind: _Kind, key: _Key) -> None:
        self._join()
        self._kind, self._key = kind, key

    def _join(self) -> None:
        text, signature = self._whole("".join(self._parts)), self._signature
        self._parts, self._signature = [], None
        if signature:
            signed = TextChunk if self._kind is TextChunk else ThinkingChunk
            self._events.append(signed(self._key, text, signature))
        elif text:
            self._events.append(self._kind(self._key, text))

    def _whole(self, text: str) -> str:
        """`text` of the block under way as Unicode, without a half of a character at its end."""
        if not text or (text.isascii() and not self._halves):
            return text
        delta = (self._kind, self._key)
        text = self._halves.pop(delta, "") + text
        if _FIRST_HALF <= text[-1] <= _LAST_FIRST_HALF:
            self._halves[delta] = text[-1]
            text = text[:-1]
        return clean(text)

    def _give_up_halves(self, deltas: list[_Delta]) -> None:
        for delta in deltas:
            kind, key = delta
            self._events.append(kind(key, clean(self._halves.pop(delta))))
