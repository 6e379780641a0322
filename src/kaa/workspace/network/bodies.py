"""The bodies of requests: exactly what was announced is passed on, and nothing behind it."""

import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from kaa.workspace.network.heads import Framing
from kaa.workspace.network.streams import EndOfStreamError, MalformedError, Stream

Send: TypeAlias = Callable[[bytes], Awaitable[None]]

_MAX_LINE_BYTES = 4096
_MAX_TRAILER_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")


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
