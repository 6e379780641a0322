"""Bytes between sockets: reading up to a mark, passing on, closing without losing what was sent.

On plain sockets instead of asyncio's streams, for here it matters that nothing is buffered beyond one piece, that each
direction ends on its own, and that a connection can be cut between two bytes.
"""

import asyncio
import contextlib
import re
import socket
import struct

_PIECE_BYTES = 64 * 1024
# A peer that vanished without a word (a laptop that was closed) is noticed after some minutes.
_KEEPALIVE_IDLE_SECONDS = 120
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: on, zero seconds
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")


class EndOfStreamError(ConnectionError):
    """The other side ended before it had sent all."""


class MalformedError(Exception):
    """What was sent is not what the protocol says. The message is for whoever sent it."""


class TooLongError(MalformedError):
    """What was sent has no end within its limit."""


class Stream:
    """A connected socket, which the stream owns, and what was read from it ahead of need."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        _tune(sock)
        self._socket = sock
        self._ahead = bytearray()
        self._broken = False

    async def receive(self) -> bytes:
        """Some bytes, or none at the end.

        Raises:
            OSError: the connection broke.
        """
        if self._ahead:
            data = bytes(self._ahead)
            self._ahead.clear()
            return data
        return await self._read()

    async def peek(self) -> bytes:
        """The first byte that is to come, which stays; nothing at the end.

        Raises:
            OSError: the connection broke.
        """
        if not self._ahead:
            self._ahead += await self._read()
        return bytes(self._ahead[:1])

    async def exactly(self, count: int) -> bytes:
        """So many bytes.

        Raises:
            EndOfStreamError: there are not so many.
            OSError: the connection broke.
        """
        while len(self._ahead) < count:
            await self._read_ahead()
        return self._take(count)

    async def up_to(self, count: int) -> bytes:
        """Some bytes and at most so many.

        Raises:
            EndOfStreamError: there are none.
            OSError: the connection broke.
        """
        if not self._ahead:
            await self._read_ahead()
        return self._take(min(count, len(self._ahead)))

    async def line(self, limit: int) -> bytes:
        """A line, without the CRLF at its end.

        Raises:
            MalformedError: it is longer than `limit`, or a line feed stands alone in it.
            EndOfStreamError: it does not end.
            OSError: the connection broke.
        """
        return await self._through(b"\r\n", limit)

    async def head(self, limit: int) -> bytes:
        """The lines before an empty line, without the CRLFs at their end.

        Raises:
            MalformedError: they are longer than `limit`, or a line feed stands alone in them.
            EndOfStreamError: they do not end.
            OSError: the connection broke.
        """
        return await self._through(b"\r\n\r\n", limit)

    async def hung_up(self) -> None:
        """Wait until the other side ends. Nobody may be reading; what was sent stays to be read.

        It is not noticed of a side that has sent something ahead.
        """
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._socket, lambda: None if readable.done() else readable.set_result(None))
        try:
            await readable
        finally:
            loop.remove_reader(self._socket)
        with contextlib.suppress(OSError):  # it broke
            if self._socket.recv(1, socket.MSG_PEEK):
                await loop.create_future()

    async def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: the connection broke.
        """
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def end_sending(self) -> None:
        """Say that nothing more follows; the other direction stays open."""
        if self._broken:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def break_off(self) -> None:
        """Let the end, when it is closed, look like the failure that it is: what was sent is not complete."""
        self._broken = True
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    def stop(self) -> None:
        """Let no byte more pass in either direction, while others may be reading and sending."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket. Nobody may be reading or sending."""
        self._socket.close()

    async def _through(self, mark: bytes, limit: int) -> bytes:
        searched = 0
        while (end := self._ahead.find(mark, max(0, searched - len(mark) + 1))) < 0:
            if _BARE_LINE_FEED.search(self._ahead, max(0, searched - 1)):
                raise MalformedError("lines end with CR LF, not with LF alone")
            searched = len(self._ahead)
            if searched > limit:
                raise TooLongError(f"the head or a line of it is longer than {limit} bytes")
            await self._read_ahead()
        if end > limit:
            raise TooLongError(f"the head or a line of it is longer than {limit} bytes")
        return self._take(end + len(mark))[: -len(mark)]

    def _take(self, count: int) -> bytes:
        data = bytes(self._ahead[:count])
        del self._ahead[:count]
        return data

    async def _read_ahead(self) -> None:
        data = await self._read()
        if not data:
            raise EndOfStreamError("the connection ended early")
        self._ahead += data

    async def _read(self) -> bytes:
        # Neither this nor sending waits while the kernel's buffers allow: a fast stream would never let others run.
        await asyncio.sleep(0)
        return await asyncio.get_running_loop().sock_recv(self._socket, _PIECE_BYTES)


async def pump(source: Stream, sink: Stream) -> None:
    """Pass on everything up to the end, and then the end.

    Raises:
        OSError: one of the connections broke.
    """
    while data := await source.receive():
        await sink.send(data)
    sink.end_sending()


async def splice(one: Stream, other: Stream) -> None:
    """Pass on everything in both directions until both have ended, or one connection breaks and so does the other."""
    try:
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(pump(one, other))
            pumps.create_task(pump(other, one))
    except* OSError:
        one.break_off()
        other.break_off()


def _tune(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # neither matters enough to give up a connection
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):  # macOS calls it otherwise
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_SECONDS)
