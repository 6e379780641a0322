"""A provider whose replies have their written tool calls turned into calls.

Text passes as it comes until a call may begin. A reply with calls of its own (those the server understood) is left as
it is, whatever its text says.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import AssistantMessage
from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    Provider,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
)
from kaa.llm.written_calls.watching import MarkWatch

if TYPE_CHECKING:
    from kaa.llm.written_calls.notations import Tools, WrittenCall


class WrittenCalls:
    """Wraps a provider; see `kaa.core.provider.Provider`."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        stream = self._provider.stream(request)
        # The length of the history tells the calls of one reply from those of another.
        return _read(stream, request, f"written_{len(request.messages)}") if request.tools else stream


async def _read(
    stream: AsyncGenerator[StreamEvent, None], request: Request, call_id: str
) -> AsyncGenerator[StreamEvent, None]:
    reply = _Reply(request, call_id)
    async with aclosing(stream):
        try:
            async for event in stream:
                for seen in reply.take(event):
                    yield seen
        except ProviderError:
            for seen in reply.as_text():
                yield seen
            raise


class _Block:
    """A text block of which the end is held back."""

    def __init__(self, tools: "Tools") -> None:
        self.watch = MarkWatch(tools)
        self.ended = False


class _Reply:
    def __init__(self, request: Request, call_id: str) -> None:
        self._request = request
        self._tools: Tools = {tool.name: tool for tool in request.tools}
        self._call_id = call_id
        self._calls = 0
        self._blocks: dict[int | str, _Block] = {}
        self._has_own_calls = False

    def take(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """What becomes of one event."""
        match event:
            case _ if self._has_own_calls:
                yield event
            case TextChunk(key=key, text=text):
                block = self._blocks.setdefault(key, _Block(self._tools))
                if (passed := block.watch.feed(text)) or event.signature:
                    yield msgspec.structs.replace(event, text=passed)
            case BlockEnd(key=key) if key in self._blocks:
                yield from self._end_block(event)
            case CallChunkStart():
                self._has_own_calls = True
                yield from self.as_text()
                yield event
            case StreamDone():
                yield from self._finish(event)
            case _:
                yield event

    def as_text(self) -> Iterator[StreamEvent]:
        """All that is held back, as it came."""
        for key, block in self._blocks.items():
            if rest := block.watch.rest():
                yield TextChunk(key, rest)
            if block.ended:
                yield BlockEnd(key)
        self._blocks.clear()

    def _end_block(self, end: BlockEnd) -> Iterator[StreamEvent]:
        block = self._blocks[end.key]
        if block.watch.holds:
            block.ended = True  # whether there are calls in it shows when the reply has none of its own
            return
        yield from self.as_text_of(end.key)
        yield end

    def as_text_of(self, key: int | str) -> Iterator[StreamEvent]:
        """What is held back of one block, as it came."""
        if rest := self._blocks.pop(key).watch.rest():
            yield TextChunk(key, rest)

    def _finish(self, done: StreamDone) -> Iterator[StreamEvent]:
        for key in list(self._blocks):
            if self._blocks[key].watch.holds:
                yield from self._read_block(key, complete=done.stop_reason != "length")
            else:
                yield from self.as_text_of(key)
        yield StreamDone("toolUse") if self._calls and done.stop_reason == "stop" else done

    def _read_block(self, key: int | str, *, complete: bool) -> Iterator[StreamEvent]:
        """The text and the calls of a block, each a block of its own behind the first call."""
        watch = self._blocks.pop(key).watch
        given = _given(self._request)
        from kaa.llm.written_calls.notations import WrittenCall, read_calls  # lazy: few models write calls as text

        pieces = read_calls(watch.rest(), self._tools, complete=complete, line_before=watch.line_before, given=given)
        text_key = key
        for number, piece in enumerate(pieces):
            if isinstance(piece, WrittenCall):
                yield BlockEnd(text_key)
                yield from self._call(piece)
                text_key = f"{key} behind call {number}"
            else:
                yield TextChunk(text_key, piece.text)
        yield BlockEnd(text_key)

    def _call(self, call: "WrittenCall") -> Iterator[StreamEvent]:
        self._calls += 1
        call_id = f"{self._call_id}_{self._calls}"
        yield CallChunkStart(call_id, call_id, call.name)
        yield ArgumentsChunk(call_id, call.arguments)
        yield BlockEnd(call_id)


def _given(request: Request) -> Iterator[str]:
    """What the model has read and not said itself."""
    yield request.system
    for message in request.messages:
        if not isinstance(message, AssistantMessage):
            yield message.text
