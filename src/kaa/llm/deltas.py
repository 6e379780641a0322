"""Collects the small pieces of a reply, so that pieces which arrived together travel together."""

import msgspec

from kaa.core.provider import (
    BlockEnd,
    Done,
    ReplyInfo,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStart,
)
from kaa.core.usage import plausible

_Key = int | str


class DeltaBuffer:
    """Takes deltas one by one and gives them out with neighbours of the same block joined.

    A server that sends 20,000 tokens at once costs the rest of kaa a handful of events.
    """

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._kind: type[TextDelta | ThinkingDelta | ToolCallDelta] = TextDelta
        self._key: _Key = 0
        self._parts: list[str] = []
        self._signature: str | None = None

    def text(self, key: _Key, text: str, signature: str | None = None) -> None:
        """More text, or its signature."""
        if self._key != key or self._kind is not TextDelta:
            self._begin(TextDelta, key)
        self._parts.append(text)
        self._signature = signature or self._signature

    def thinking(self, key: _Key, text: str, signature: str | None = None) -> None:
        """More reasoning, or its signature."""
        if self._key != key or self._kind is not ThinkingDelta:
            self._begin(ThinkingDelta, key)
        self._parts.append(text)
        self._signature = signature or self._signature

    def arguments(self, key: _Key, json: str) -> None:
        """More of the arguments of a tool call."""
        if self._key != key or self._kind is not ToolCallDelta:
            self._begin(ToolCallDelta, key)
        self._parts.append(json)

    def add(self, event: ToolCallStart | ThinkingDelta | BlockEnd | ReplyInfo | Done) -> None:
        """An event that stands for itself."""
        self._join()
        if isinstance(event, ReplyInfo) and event.usage is not None:
            event = msgspec.structs.replace(event, usage=plausible(event.usage))
        self._events.append(event)

    def drain(self) -> list[StreamEvent]:
        """All that was collected since the last call."""
        self._join()
        events, self._events = self._events, []
        return events

    def _begin(self, kind: type[TextDelta | ThinkingDelta | ToolCallDelta], key: _Key) -> None:
        self._join()
        self._kind, self._key = kind, key

    def _join(self) -> None:
        text, signature = "".join(self._parts), self._signature
        self._parts, self._signature = [], None
        if signature:
            signed = TextDelta if self._kind is TextDelta else ThinkingDelta
            self._events.append(signed(self._key, text, signature))
        elif text:
            self._events.append(self._kind(self._key, text))
