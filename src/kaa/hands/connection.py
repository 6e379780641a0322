"""The hands' end of a connection: frames over a blocking socket, which also say that a module had to be compiled.

Confined, the hands cannot keep the bytecode; kaa can, once it knows.
"""

import socket
from _frozen_importlib_external import SourceFileLoader  # importlib.machinery has it, too, and would be loaded for it
from collections.abc import Mapping, Sequence

from kaa.hands import wire

_compiled: list[str] = []  # where their bytecode would be


def notice_compiling() -> None:
    """Notice each module that is compiled from now on, in this process and in those that it forks."""
    keep = SourceFileLoader.set_data

    def note(loader: SourceFileLoader, path: str, data: bytes, *, _mode: int = 0o666) -> None:
        _compiled.append(path)
        keep(loader, path, data, _mode=_mode)

    # What Python calls with the bytecode of a module. The type stub has a second `self`.
    SourceFileLoader.set_data = note  # type: ignore[assignment, method-assign]


class WireConnection:
    """Sends and receives frames over a blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._decoder = wire.FrameDecoder()
        self.descriptors: list[int] = []

    def fileno(self) -> int:
        return self._socket.fileno()

    def pending(self) -> wire.Frame | None:
        """A frame that came along with an earlier one, about which poll says nothing."""
        return self._decoder.next()

    def receive(self) -> wire.Frame | None:
        """Wait for a frame; None when the other end is gone. Its descriptors are appended to `descriptors`."""
        while (frame := self._decoder.next()) is None:
            try:
                data, descriptors = wire.receive(self._socket)
            except ConnectionError:
                return None
            self.descriptors += descriptors
            if not data:
                return None
            self._decoder.feed(data)
        return frame

    def take_descriptors(self) -> list[int]:
        """The descriptors that came since the last time."""
        taken, self.descriptors = self.descriptors, []
        return taken

    def send(self, header: Mapping[str, object], body: wire.Buffer = b"", descriptors: Sequence[int] = ()) -> None:
        """Send a frame, which also says whether a module was compiled since the last one (`wire.COMPILED`).

        Raises:
            ConnectionError: the other end is gone.
        """
        head = wire.encode({**header, wire.COMPILED: True} if _take_compiled() else header, body)
        sent = wire.send_some(self._socket, head, descriptors)
        for rest in (memoryview(head)[sent:], body):
            if rest:
                self._socket.sendall(rest)

    def close(self) -> None:
        self._socket.close()


def _take_compiled() -> bool:
    """Whether a module was compiled since the last time."""
    if not _compiled:
        return False
    _compiled.clear()
    return True
