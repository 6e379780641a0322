"""The HTTP proxy: CONNECT, and plain requests with absolute URLs.

Each connection carries one request and is closed behind its answer; both sides are told so. That costs plain HTTP a
connection per request, and leaves nothing between two requests that could be misunderstood. Of a body, exactly what was
announced is passed on, and nothing behind it.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from kaa.workspace.network.destinations import in_brackets
from kaa.workspace.network.heads import Framing, RequestHead, ResponseHead, parse_request, parse_response
from kaa.workspace.network.internet import UnreachableError
from kaa.workspace.network.limits import ProxyLimits
from kaa.workspace.network.reach import ConnectTo, DestinationRefusedError, Upstream
from kaa.workspace.network.streams import EndOfStreamError, MalformedError, Stream, TooLongError, pump, splice

_REASONS = {
    400: "Bad Request",
    403: "Blocked by the kaa sandbox",  # many programs show this line and not the text
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
}
_SWITCHING_PROTOCOLS = 101
_PROXY_AUTHENTICATION_REQUIRED = 407
_LINGER_SECONDS = 2.0  # for a client to read the answer before unread bytes of its request reset the connection
Send: TypeAlias = Callable[[bytes], Awaitable[None]]
_MAX_LINE_BYTES = 4096
_MAX_TRAILER_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")


class _FailureError(Exception):
    """What the client is to be told instead of an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def serve_http(client: Stream, reach: ConnectTo, limits: ProxyLimits) -> None:
    """Serve a client that speaks HTTP.

    Raises:
        OSError: one of the connections broke.
    """
    try:
        request = await _receive_request(client, limits)
        try:
            if request.method == "CONNECT":
                await _tunnel(client, request, reach)
            else:
                await _exchange(client, request, reach, limits)
        except MalformedError as error:
            raise _FailureError(400, f"{error}") from None
        except DestinationRefusedError as error:
            raise _FailureError(403, f"{error}") from None
        except UnreachableError as error:
            raise _FailureError(502, f"{error}") from None
    except _FailureError as failure:
        await client.send(_failure_answer(failure))
        client.end_sending()
        await _discard(client, _LINGER_SECONDS)


async def _receive_request(client: Stream, limits: ProxyLimits) -> RequestHead:
    try:
        async with asyncio.timeout(limits.head_seconds):
            return parse_request(await client.head(limits.head_bytes))
    except TimeoutError:
        raise _FailureError(408, f"the head of the request did not come within {limits.head_seconds:g} s") from None
    except TooLongError as error:
        raise _FailureError(431, str(error)) from None
    except (MalformedError, EndOfStreamError) as error:
        raise _FailureError(400, str(error)) from None


async def _tunnel(client: Stream, request: RequestHead, reach: ConnectTo) -> None:
    server = await reach(request.tunnel(), tunnel=True)
    await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await splice(client, server.stream)


async def _exchange(client: Stream, request: RequestHead, reach: ConnectTo, limits: ProxyLimits) -> None:
    """Pass on one request and its answer.

    Raises:
        MalformedError: the body of the request is not valid, and nothing was answered yet.
        UnreachableError: the server did not answer.
        OSError: one of the connections broke in the middle of the answer.
    """
    destination, path = request.resource()
    server = await reach(destination, tunnel=False)
    target = path
    if server.through_proxy:
        authority = in_brackets(destination.host) if destination.port == 80 else str(destination)
        target = f"http://{authority}{'' if path == '*' else path}"
    head = request.encode(destination, target, server.authorization)
    answer = _Answer(client, server, limits)
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(_send_request(client, head, request.framing, server.stream))
            await answer.relay()
            await asyncio.wait([sending], timeout=_LINGER_SECONDS)
            sending.cancel()
    except ExceptionGroup as failures:
        failure = failures.exceptions[0]
        if answer.begun:
            raise ConnectionAbortedError("broken in the middle of an answer") from failure
        raise failure from None


async def _send_request(client: Stream, head: bytes, framing: Framing, server: Stream) -> None:
    """Send a request, and read on what the client sends, so that its end is noticed."""
    listening = True

    async def send(data: bytes) -> None:
        nonlocal listening
        try:
            if listening:
                await server.send(data)
        except OSError:  # it may have answered before it had read everything
            listening = False

    await send(head)
    await copy_body(client, framing, send)
    await _discard(client)  # a second request: the answer to the first says that it is not taken
    server.end_sending()


class _Answer:
    """The way of an answer to the client.

    Attributes:
        begun: the client has got some of it.
    """

    def __init__(self, client: Stream, server: Upstream, limits: ProxyLimits) -> None:
        self._client = client
        self._server = server
        self._limits = limits
        self.begun = False

    async def relay(self) -> None:
        """Pass it on, after interim ones, until the server closes the connection."""
        while True:
            head = await self._receive()
            self.begun = True
            await self._client.send(head.encoded)
            if head.status >= 200:
                break
        await pump(self._server.stream, self._client)

    async def _receive(self) -> ResponseHead:
        try:
            head = parse_response(await self._server.stream.head(self._limits.head_bytes))
        except EndOfStreamError:
            raise UnreachableError("the server closed the connection without an answer") from None
        except (OSError, MalformedError) as error:
            raise UnreachableError(f"the server did not answer as it should ({error})") from None
        if head.status == _SWITCHING_PROTOCOLS:
            raise UnreachableError("the server wants to speak something else than HTTP")
        if self._server.through_proxy and head.status == _PROXY_AUTHENTICATION_REQUIRED:
            raise UnreachableError(
                "the proxy of the user's network wants a user and a password: they belong in its URL"
            )
        return head


async def _discard(client: Stream, seconds: float | None = None) -> None:
    """Read to the end without keeping anything, at most for so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while await client.receive():
                pass


def _failure_answer(failure: _FailureError) -> bytes:
    text = f"kaa sandbox: {failure}\n".encode()
    lines = [
        f"HTTP/1.1 {failure.status} {_REASONS[failure.status]}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(text)}",
        "Connection: close",
    ]
    if failure.status == 403:
        lines.append("X-Kaa-Sandbox: blocked")
    return "\r\n".join((*lines, "", "")).encode("ascii") + text


async def copy_body(source: Stream, framing: Framing, send: Send) -> None:
    """Pass on the body of a request.

    Chunks are written anew, without their extensions and trailers, which servers read in different ways.

    Raises:
        MalformedError: it is not what was announced.
        OSError: the connection to the client broke, or `send` raised it.
    """
    try:
        if framing == "chunked":
            await _copy_chunks(source, send)
        else:
            await _copy_bytes(source, framing, send)
    except EndOfStreamError:
        raise MalformedError("the body of the request ended early") from None


async def _copy_bytes(source: Stream, count: int, send: Send) -> None:
    while count:
        data = await source.up_to(min(count, _PIECE_BYTES))
        await send(data)
        count -= len(data)


async def _copy_chunks(source: Stream, send: Send) -> None:
    while size := await _chunk_size(source):
        while size:
            data = await source.up_to(min(size, _PIECE_BYTES))
            await send(b"%x\r\n%b\r\n" % (len(data), data))
            size -= len(data)
        if await source.exactly(2) != b"\r\n":
            raise MalformedError("a chunk of the body is longer than announced")
    await _skip_trailers(source)
    await send(b"0\r\n\r\n")


async def _chunk_size(source: Stream) -> int:
    match = _CHUNK_SIZE.fullmatch(await source.line(_MAX_LINE_BYTES))
    if match is None:
        raise MalformedError("a chunk of the body has no valid size")
    return int(match[1], 16)


async def _skip_trailers(source: Stream) -> None:
    room = _MAX_TRAILER_BYTES
    while line := await source.line(_MAX_LINE_BYTES):
        room -= len(line)
        if room < 0:
            raise MalformedError("the trailers of the body are endless")
