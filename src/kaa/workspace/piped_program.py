"""A command of the sandbox that talks to kaa: language servers, and programs that read from their standard input."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import NamedTuple, Protocol

from kaa.workspace.commands import OwnStreams
from kaa.workspace.protocol import CommandRequest, CommandResult

_MAX_LINE_BYTES = 16 * 1024 * 1024
_ERROR_BYTES = 2_000
_READ_BYTES = 64 * 1024


class Attach(Protocol):
    """Runs a command with streams of its own: `LocalWorkspace.attach`."""

    def __call__(
        self, command: CommandRequest, streams: OwnStreams, given: Callable[[], None]
    ) -> Coroutine[None, None, CommandResult]: ...


class _Running(NamedTuple):
    """A command that runs; see `kaa.workspace.protocol.PipedProgram`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    task: asyncio.Task[CommandResult]
    errors: "_Errors"

    async def ending(self) -> str:
        """Return what it printed last, or its exit code or signal."""
        await asyncio.wait({self.task})
        if self.task.cancelled():
            return "it was stopped"
        if (failure := self.task.exception()) is not None:
            return f"it could not be run: {failure}"
        ended = self.task.result()
        if said := self.errors.last:
            return said
        if ended.exit_code is None:
            return f"signal {ended.signal} ended it"
        return f"it exited with code {ended.exit_code}"


@asynccontextmanager
async def run_piped(command: CommandRequest, attach: Attach) -> AsyncIterator[_Running]:
    with ExitStack() as closing:
        ours, theirs = socket.socketpair()
        given = closing.enter_context(ExitStack())
        given.callback(theirs.close)
        errors = _Errors()
        closing.callback(errors.close)
        given.callback(os.close, errors.open())
        try:
            reader, writer = await asyncio.open_connection(sock=ours, limit=_MAX_LINE_BYTES)
        except BaseException:
            ours.close()
            raise
        closing.callback(writer.close)
        streams = OwnStreams(theirs.fileno(), theirs.fileno(), errors.written)
        task = asyncio.create_task(attach(command, streams, given.close))
        task.add_done_callback(lambda _: given.close())  # also if it was not started: then the reader sees the end
        try:
            yield _Running(reader, writer, task, errors)
        finally:
            await _stop(task)


async def _stop(task: asyncio.Task[CommandResult]) -> None:
    for _ in range(2):  # the second time at once: what it holds is kaa's
        task.cancel()
        await asyncio.sleep(0)
    with suppress(OSError, asyncio.CancelledError):
        await task


class _Errors:
    """The end of what a program prints to its standard error. It is read all the time, so that nothing waits for it."""

    def __init__(self) -> None:
        self._kept = b""
        self._read_end = -1
        self.written = -1

    def open(self) -> int:
        """The descriptor for the program, which is the caller's to close."""
        self._read_end, self.written = os.pipe()
        os.set_blocking(self._read_end, False)
        asyncio.get_running_loop().add_reader(self._read_end, self._read)
        return self.written

    @property
    def last(self) -> str:
        """The last lines, without what surrounds them."""
        self._read()
        return self._kept.decode(errors="replace").strip()

    def close(self) -> None:
        if self._read_end >= 0:
            asyncio.get_running_loop().remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1

    def _read(self) -> None:
        if self._read_end < 0:
            return
        try:
            chunk = os.read(self._read_end, _READ_BYTES)
        except BlockingIOError:
            return
        self._kept = (self._kept + chunk)[-_ERROR_BYTES:]
        if not chunk:
            self.close()
