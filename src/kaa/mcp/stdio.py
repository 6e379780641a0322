"""Messages as lines over a program's standard input and output (specification, Transports, stdio)."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Protocol

from kaa.host.log import LOG
from kaa.mcp import messages
from kaa.mcp.connection import Message, ServerConnection
from kaa.mcp.errors import ServerGoneError
from kaa.mcp.manifest import ToolInfo
from kaa.mcp.messages import MAX_MESSAGE_BYTES, MalformedMessageError

# Programs print greetings to their standard output, which they should not.
_MAX_STRAY_LINES = 1_000
_MAX_UNREAD_BYTES = 16 * 1024 * 1024
# A server that closed its output is about to end, and then its exit code explains more.
_LAST_SECONDS = 2.0


class ServerProgram(Protocol):
    """A program that was started. The descriptors are kaa's ends, and belong to the connection.

    Attributes:
        stdin: what is written here arrives at its standard input.
        stdout: what it writes to its standard output.
    """

    stdin: int
    stdout: int

    async def wait(self) -> str:
        """Wait for its end, and say how it ended, in a sentence without its name. Cancelling this stops nothing."""

    def end(self) -> None:
        """Send it TERM, and two seconds later KILL."""

    def take_hindrance(self, said: str = "", asked: str = "") -> str: ...

    def discreet(self, line: bytes) -> bytes:
        """A line that it wrote, without the secrets that it was given."""


class StdioConnection(ServerConnection):
    """A connection to a program.

    Args:
        start: starts it; raises `ServerGoneError` if it cannot be started.
    """

    def __init__(self, start: Callable[[], Awaitable[ServerProgram]]) -> None:
        self._start = start
        self._program: ServerProgram | None = None
        self._reading: asyncio.Task[None] | None = None
        self._inlet: asyncio.ReadTransport | None = None
        self._outlet: asyncio.WriteTransport | None = None
        self._has_spoken = False

    async def open(self) -> None:
        self._program = program = await self._start()
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        with contextlib.ExitStack() as unused:
            out = unused.enter_context(os.fdopen(program.stdout, "rb", 0))
            into = unused.enter_context(os.fdopen(program.stdin, "wb", 0))
            self._inlet, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), out)
            self._outlet, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, into)
            unused.pop_all()
        self._reading = asyncio.create_task(self._read(reader, program))

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        outlet = self._outlet
        if outlet is None or outlet.is_closing():
            raise ServerGoneError("it does not read its standard input any more")
        if outlet.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            raise ServerGoneError(f"it left {_MAX_UNREAD_BYTES // 1024**2} MiB of messages unread")
        outlet.write(messages.encode(message) + b"\n")

    def take_hindrance(self, said: str = "", asked: str = "") -> str:
        return "" if self._program is None else self._program.take_hindrance(said, asked)

    async def close(self) -> None:
        """See `ServerConnection`: close its input, then TERM, then KILL. What never spoke hardly reads its input."""
        self._ended = lambda _: None
        if self._outlet is not None:
            self._outlet.close()
        if (program := self._program) is not None:
            over = asyncio.ensure_future(program.wait())
            if not (await asyncio.wait({over}, timeout=_LAST_SECONDS if self._has_spoken else 0))[0]:
                program.end()
            await asyncio.wait({over})
            with contextlib.suppress(Exception):
                over.result()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._inlet is not None:
            self._inlet.close()

    async def _read(self, reader: asyncio.StreamReader, program: ServerProgram) -> None:
        problem = await self._problem(reader, program)
        if problem:
            program.end()
        over = asyncio.ensure_future(program.wait())
        ended, _ = await asyncio.wait({over}, timeout=None if problem else _LAST_SECONDS)
        if problem:
            self._ended(problem)
        elif ended:
            self._ended(_ending(over))
        else:
            self._ended("it closed its standard output")

    async def _problem(self, reader: asyncio.StreamReader, program: ServerProgram) -> str:
        """Receive until the end. Returns what the program did wrong; empty for nothing."""
        stray = 0
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                line = error.partial
                if not line:
                    return ""
            except asyncio.LimitOverrunError:
                return f"it sent a message of more than {MAX_MESSAGE_BYTES // 1024**2} MiB"
            except OSError as error:
                return f"its standard output cannot be read: {error.strerror or error}"
            if not line.strip():
                continue
            try:
                found = messages.decode(program.discreet(line))
            except MalformedMessageError as error:
                stray += 1
                self._strayed(str(error))
                LOG.debug("mcp: a line that is no message: %s", error)
                if stray > _MAX_STRAY_LINES:
                    return f"it printed more than {_MAX_STRAY_LINES:,} lines that are no messages"
                continue
            self._has_spoken = True
            for message in found:
                self._receive(message)


def _ending(over: "asyncio.Future[str]") -> str:
    error = over.exception()
    return f"it ended: {error}" if error is not None else over.result()
