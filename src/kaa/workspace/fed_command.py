"""A command that gets an input from kaa, and whose standard output and error stay apart and bounded.

All of it goes through pipes: a file with the input, wherever it is, could be rewritten by another command meanwhile.
"""

import asyncio
import os
from contextlib import ExitStack
from typing import Final

from kaa.workspace.commands import OwnStreams
from kaa.workspace.piped_program import Attach
from kaa.workspace.protocol import CommandRequest, CommandResult, FedStreams

_PIECE_BYTES: Final = 64 * 1024
_MOST_READ: Final = 64 * 1024 * 1024  # a command that repeats its whole input several times ends as it wants


async def run_fed(command: CommandRequest, streams: FedStreams, attach: Attach) -> tuple[CommandResult, bytes, bytes]:
    """Run a command to its end. Returns how it ended, and what it printed to its standard output and error.

    Args:
        streams: its input, and how much of its outputs is read.
    """
    with ExitStack() as closing:
        theirs = closing.enter_context(ExitStack())
        given = _Given(streams.given)
        closing.callback(given.close)
        output, errors = _Kept(streams.most_output), _Kept(streams.most_errors)
        closing.callback(output.close)
        closing.callback(errors.close)
        stdin, stdout, stderr = (_opened(stream, theirs) for stream in (given, output, errors))
        result = await attach(command, OwnStreams(stdin, stdout, stderr), theirs.close)
        return result, output.all(), errors.all()


class _Given:
    def __init__(self, data: bytes) -> None:
        self._left = memoryview(data)
        self._descriptor = -1

    def open(self) -> int:
        """Begin to write. Returns the end for the command, which the caller closes."""
        theirs, self._descriptor = os.pipe()
        os.set_blocking(self._descriptor, False)
        asyncio.get_running_loop().add_writer(self._descriptor, self._write)
        return theirs

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._descriptor, self._left[:_PIECE_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it reads no more
            self.close()
            return
        if not self._left:
            self.close()


class _Kept:
    """What a command prints: the first `most` bytes. More is read for long, since a closed pipe ends most programs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()
        self._read_bytes = 0
        self._descriptor = -1

    def open(self) -> int:
        """Begin to read. Returns the end for the command, which the caller closes."""
        self._descriptor, theirs = os.pipe()
        os.set_blocking(self._descriptor, False)
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return theirs

    def all(self) -> bytes:
        """Return what has been printed by now: something left behind may hold the other end open."""
        while len(self._kept) < self._most and self._read():
            pass
        return bytes(self._kept)

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> bool:
        if self._descriptor < 0:
            return False
        try:
            chunk = os.read(self._descriptor, _PIECE_BYTES)
        except BlockingIOError:
            return False
        self._kept += chunk[: self._most - len(self._kept)]
        self._read_bytes += len(chunk)
        if not chunk or self._read_bytes > _MOST_READ:
            self.close()
        return bool(chunk)


def _opened(stream: _Given | _Kept, closing: ExitStack) -> int:
    descriptor = stream.open()
    closing.callback(os.close, descriptor)
    return descriptor
