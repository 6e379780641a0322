"""Frames over a non-blocking socket inside an event loop: the brain's end of what the hands speak."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from kaa.hands import wire
from kaa.workspace.launch import compile_hands
from kaa.workspace.protocol import WorkspaceUnavailableError

_JOIN_UP_TO_BYTES = 64 * 1024  # copying so much is cheaper than a second system call

Reply = TypeVar("Reply", bound=msgspec.Struct)


class Channel:
    """Sends and receives frames. One sender and one receiver at a time.

    Args:
        sock: a connected stream socket; the channel owns it.
        peer: what the other end is called in messages.
    """

    def __init__(self, sock: socket.socket, peer: str) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._peer = peer
        self._decoder = wire.FrameDecoder()
        self._descriptors: list[int] = []  # that came with frames which nobody has taken yet
        self._arrival: asyncio.Future[None] | None = None
        self._is_watched = False  # by the loop

    def is_alive(self) -> bool:
        """Whether the other end has not hung up. Only asks while nothing is being received."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def send(
        self, header: Mapping[str, object], body: wire.Buffer = b"", descriptors: Sequence[int] = ()
    ) -> None:
        """Send a frame. If this is cancelled, the channel is of no more use.

        Raises:
            WorkspaceUnavailableError: the other end is gone.
            OSError: the frame is too large.
        """
        try:
            head = wire.encode(header, body)
        except wire.WireError as error:
            raise OSError(str(error)) from error
        data: wire.Buffer = head + body if len(body) <= _JOIN_UP_TO_BYTES else head
        loop = asyncio.get_running_loop()
        try:
            # Descriptors go with the first frame on a socket, whose buffer is empty: this does not block.
            sent = wire.send_some(self._socket, data, descriptors) if descriptors else 0
            if sent < len(data):
                await loop.sock_sendall(self._socket, memoryview(data)[sent:])
            if len(body) > _JOIN_UP_TO_BYTES:
                await loop.sock_sendall(self._socket, body)
        except ConnectionError as error:
            raise self._gone() from error

    def post(self, header: Mapping[str, object]) -> None:
        """Send a small frame without waiting, while nothing else is sent. Whoever receives learns of a failure."""
        with contextlib.suppress(OSError):
            wire.send_some(self._socket, wire.encode(header))

    async def receive(self) -> wire.Frame:
        """Wait for the next frame. Nothing is lost if this is cancelled.

        Raises:
            WorkspaceUnavailableError: the other end is gone or does not keep to the protocol.
        """
        frame, descriptors = await self.receive_with_descriptors()
        wire.close_all(descriptors)
        return frame

    async def receive_with_descriptors(self) -> tuple[wire.Frame, list[int]]:
        """Like `receive`, for an answer that may bring descriptors.

        Raises:
            WorkspaceUnavailableError: as `receive`.
        """
        loop = asyncio.get_running_loop()
        try:
            while (frame := self._decoder.next()) is None:
                self._arrival = loop.create_future()
                if not self._is_watched:  # once: doing so for each frame takes two system calls more
                    loop.add_reader(self._socket, self._take)
                    self._is_watched = True
                await self._arrival
        except ConnectionError as error:
            raise self._gone() from error
        except wire.WireError as error:
            raise WorkspaceUnavailableError(f"{self._peer} sent what cannot be understood: {error}.") from error
        descriptors, self._descriptors = self._descriptors, []
        return frame, descriptors

    def _take(self) -> None:
        """Take what has come, if somebody waits for it; otherwise it stays in the socket."""
        arrival = self._arrival
        if arrival is None or arrival.done():
            self._unwatch()
            return
        try:
            data, descriptors = wire.receive(self._socket)
            if not data:
                raise ConnectionResetError
        except BlockingIOError:
            return
        except (OSError, wire.WireError) as error:
            self._unwatch()
            arrival.set_exception(error)
        else:
            self._descriptors += descriptors
            self._decoder.feed(data)
            arrival.set_result(None)

    def _unwatch(self) -> None:
        self._is_watched = False
        asyncio.get_running_loop().remove_reader(self._socket)

    def close(self) -> None:
        """Hang up. Who is sending or receiving has been cancelled.

        The loop lets go of the socket first: what was cancelled does so later, when another may have its number.
        """
        if self._socket.fileno() < 0:
            return  # it is closed already
        with contextlib.suppress(RuntimeError):  # there is no loop any more
            self._unwatch()
            asyncio.get_running_loop().remove_writer(self._socket)
        self._socket.close()
        wire.close_all(self._descriptors)
        self._descriptors.clear()

    def _gone(self) -> WorkspaceUnavailableError:
        return WorkspaceUnavailableError(f"{self._peer} is gone; it is started again when it is needed next.")


def parse(header: wire.Header, reply: type[Reply]) -> Reply:
    """Check a header against what is expected, and compile the hands if it says that they had to.

    Raises:
        WorkspaceUnavailableError: it is something else.
    """
    if wire.COMPILED in header:
        compile_hands()
    try:
        return msgspec.convert(header, reply)
    except msgspec.ValidationError as error:
        raise WorkspaceUnavailableError(f"The hands sent what cannot be understood: {error}.") from error
