"""One streamed reply over HTTP, whatever its wire format: send, check, decode, hand on, leave no connection behind."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Usage
from kaa.core.provider import ReplyInfo, Request, StreamEvent
from kaa.llm import reply_json
from kaa.llm.deltas import DeltaBuffer
from kaa.llm.failures import malformed
from kaa.llm.http.sse import SseDecoder, SseEvent
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport
from kaa.llm.wire import Peer

_MAX_ERROR_BYTES: Final = 64 * 1024
# The explanation of an error comes with it. One without a length may never end (426 on a connection that stays open).
_ERROR_SECONDS: Final = 10.0
_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
# The last bytes of a finished answer mostly come with its end mark; the connection can be reused once they are read.
_SETTLE_SECONDS: Final = 0.2
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"

_Decoded = TypeVar("_Decoded")


class ReplyParser(ABC):
    """Understands one reply of one wire format. It does no input or output.

    Args:
        call_id_prefix: of the ids kaa gives to tool calls that come without; the same request should give the same
            prefix, so that a recorded run can be replayed.

    Attributes:
        finished: whether the server has marked the end of the reply.
    """

    def __init__(self, peer: Peer, call_id_prefix: str = "call") -> None:
        self._peer = peer
        self._call_id_prefix = call_id_prefix
        self._buffer = DeltaBuffer()
        self._info = ReplyInfo()
        self.finished = False

    def accept(self, event: SseEvent) -> None:
        """Take one event of the stream.

        Raises:
            ProviderError: the event is an error, or makes no sense.
        """
        data = event.data.strip()
        if data == b"[DONE]":  # OpenAI's, and of proxies and servers that imitate it
            self.finished = True
        elif data:
            self._take(data, event.event)

    @abstractmethod
    def accept_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece of JSON, not as a stream.

        Raises:
            ProviderError: it is an error, or no reply.
        """

    @abstractmethod
    def finish(self) -> None:
        """The stream is over.

        Raises:
            MalformedStreamError: the reply is not complete.
        """

    def drain(self) -> list[StreamEvent]:
        """What was understood since the last call, neighbouring deltas joined."""
        return self._buffer.drain()

    @abstractmethod
    def _take(self, data: bytes, kind: str) -> None:
        """Take the data of an event. `kind`: what the stream calls the event."""

    def _decode(self, decoder: "msgspec.json.Decoder[_Decoded]", data: bytes | msgspec.Raw) -> _Decoded:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._decode_leniently(decoder, data)

    def _decode_leniently(self, decoder: "msgspec.json.Decoder[_Decoded]", data: bytes | msgspec.Raw) -> _Decoded:
        try:
            return reply_json.decode(decoder, data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed(f"a part of an answer that cannot be read ({error})", bytes(data), self._peer) from error

    def _report(self, response_id: str | None, model: str | None, usage: Usage | None) -> None:
        """Say what is known about the reply, if it is new: most events repeat it."""
        known = self._info
        if usage is None and response_id in (None, known.response_id) and model in (None, known.response_model):
            return
        info = ReplyInfo(response_id or known.response_id, model or known.response_model, usage or known.usage)
        if info != known:
            self._info = info
            self._buffer.add(info)


def call_id_prefix(request: Request) -> str:
    """Return how the ids begin that kaa gives to tool calls of the reply to `request`, if its server gives none.

    They are counted within the reply; the length of the history tells replies apart.
    """
    return f"call_{len(request.messages)}"


async def stream_reply(
    transport: Transport, request: HttpRequest, parser: ReplyParser, peer: Peer
) -> AsyncGenerator[StreamEvent, None]:
    """Send `request` and yield the reply as `parser` understands it. Closing the generator closes the connection.

    Raises:
        ProviderError: at any point; what was understood before is yielded first.
    """
    async with transport.send(request) as response:
        if response.status != 200:
            from kaa.llm.server_errors import failure_of_response  # lazy: few requests fail

            raise failure_of_response(response.status, response.headers, await error_body(response), peer)
        try:
            body = response.chunks()
            head = await _first_visible(body)
            if _is_event_stream(head):
                decoder = SseDecoder()
                chunk: bytes | None = head
                while chunk is not None and not parser.finished:
                    _accept(parser, decoder.feed(chunk))
                    if not parser.finished:
                        for event in parser.drain():
                            yield event
                        chunk = await anext(body, None)
                if parser.finished:
                    await _settle(body)
                else:
                    _accept(parser, decoder.finish())
            else:
                parser.accept_whole(await _whole(head, body, peer))
            parser.finish()
        except ProviderError:
            for event in parser.drain():
                yield event
            raise
        for event in parser.drain():
            yield event


def _accept(parser: ReplyParser, events: list[SseEvent]) -> None:
    for event in events:
        if not parser.finished:
            parser.accept(event)


async def _first_visible(body: AsyncIterator[bytes]) -> bytes:
    """The beginning of the body, up to a chunk that is not blank."""
    head = bytearray()
    async for chunk in body:
        head += chunk
        if chunk.strip(_BLANK) or len(head) > _MAX_ERROR_BYTES:
            break
    return bytes(head)


def _is_event_stream(head: bytes) -> bool:
    """Whether a body that begins with `head` is a stream: no field of one begins like JSON or HTML."""
    return head.lstrip(_BLANK)[:1] not in (b"{", b"[", b"<")


async def _whole(head: bytes, body: AsyncIterator[bytes], peer: Peer) -> bytes:
    """The body of an answer that is no stream: JSON, an object or the array of those it was to be streamed in."""
    whole = bytearray(head)
    async for chunk in body:
        whole += chunk
        if len(whole) > _MAX_BODY_BYTES:
            raise malformed(f"an answer of more than {_MAX_BODY_BYTES} bytes", head, peer)
    visible = bytes(whole).strip(_BLANK)
    if not visible.startswith((b"{", b"[")):
        raise malformed("something other than a model's answer", visible, peer)
    return visible


async def error_body(response: HttpResponse, seconds: float = _ERROR_SECONDS) -> bytes:
    """The body of an error, as much as can matter and comes in some seconds.

    A connection that breaks meanwhile does not hide the error.
    """
    body = bytearray()
    with suppress(ProviderError, TimeoutError):
        async with asyncio.timeout(seconds):
            async for chunk in response.chunks():
                body += chunk
                if len(body) > _MAX_ERROR_BYTES:
                    break
    return bytes(body[:_MAX_ERROR_BYTES])


async def _settle(body: AsyncIterator[bytes]) -> None:
    """Read to the end. The reply is complete: whatever happens to the connection now is no error of its."""
    try:
        async with asyncio.timeout(_SETTLE_SECONDS):
            async for _ in body:
                pass
    except (TimeoutError, ProviderError):
        pass
