"""A provider whose replies have the reasoning that stands in their text turned into reasoning.

LM Studio and others leave what a model thinks in the text, between `<think>` and `</think>`, at its beginning. Marks
elsewhere are left alone: they stand in a text about such marks.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final, Literal

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.provider import (
    BlockEnd,
    CallChunkStart,
    Provider,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)

_OPENING: Final = "<think>"
_CLOSING: Final = "</think>"


class InlineThinking:
    """Wraps a provider; see `kaa.core.provider.Provider`."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        return _separated(self._provider.stream(request))


async def _separated(stream: AsyncGenerator[StreamEvent, None]) -> AsyncGenerator[StreamEvent, None]:
    beginning = _Beginning()
    async with aclosing(stream):
        try:
            async for event in stream:
                for seen in beginning.take(event):
                    yield seen
        except ProviderError:
            for seen in beginning.end():
                yield seen
            raise


class _Beginning:
    """The text of one reply, up to where no reasoning can begin or go on."""

    def __init__(self) -> None:
        self._state: Literal["before", "thinking", "behind", "text"] = "before"
        self._key: int | str | None = None  # of the text's block
        self._waiting = ""
        self._has_thought = False

    def take(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """What becomes of one event."""
        match event:
            case _ if self._state == "text":
                yield event
            case TextChunk(key=key, text=text) if self._key in (None, key):
                self._key = key
                self._waiting += text
                yield from self._understood()
                if event.signature:
                    yield msgspec.structs.replace(event, text="")
            case BlockEnd(key=key) if key == self._key:
                yield from self.end()
                yield event
            case TextChunk() | CallChunkStart() | StreamDone():
                yield from self.end()
                yield event
            case _:
                yield event

    def end(self) -> Iterator[StreamEvent]:
        """The text is over: what waits is what it looked like so far."""
        state, self._state, waiting, self._waiting = self._state, "text", self._waiting, ""
        if self._key is None:
            return
        if state == "thinking":
            yield from self._thinking(waiting)
            yield BlockEnd(self._thinking_key)
        elif waiting:
            yield TextChunk(self._key, waiting)

    @property
    def _thinking_key(self) -> str:
        return f"{self._key} thinking"

    def _thinking(self, text: str) -> Iterator[StreamEvent]:
        text = text if self._has_thought else text.lstrip()
        if text:
            self._has_thought = True
            yield ThinkingChunk(self._thinking_key, text)

    def _understood(self) -> Iterator[StreamEvent]:
        """What can be said of the text that waits."""
        if self._state == "before":
            text = self._waiting.lstrip()
            if not text.startswith(_OPENING):
                if not _OPENING.startswith(text):
                    yield from self.end()
                return
            self._state, self._waiting = "thinking", text.removeprefix(_OPENING)
        if self._state == "thinking":
            thought, closing, rest = self._waiting.partition(_CLOSING)
            held = 0 if closing else _beginning_of_closing(thought)
            yield from self._thinking(thought[: len(thought) - held])
            self._waiting = rest if closing else thought[len(thought) - held :]
            if not closing:
                return
            yield BlockEnd(self._thinking_key)
            self._state = "behind"
        self._waiting = self._waiting.lstrip()  # blank lines between reasoning and answer
        if self._waiting:
            yield from self.end()


def _beginning_of_closing(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the closing mark."""
    lengths = range(min(len(_CLOSING) - 1, len(text)), 0, -1)
    return next((length for length in lengths if text.endswith(_CLOSING[:length])), 0)
