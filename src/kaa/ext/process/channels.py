"""Opens the pipes between kaa and a process that was started."""

import asyncio
import os

from kaa.ext.process import wire
from kaa.ext.process.connection import Channel
from kaa.ext.process.launch import ExtensionProcess
from kaa.ext.process.manifest import Transport
from kaa.ext.process.output import OutputLog


class Channels:
    """Kaa's ends of the pipes of one process.

    Args:
        name: of the extension.
        transport: how the process exchanges messages; None if it may use either way.

    Attributes:
        ways: to exchange messages.
        errors: what it prints on stderr.
    """

    def __init__(self, name: str, transport: Transport | None) -> None:
        self.ways: tuple[Channel, ...] = ()
        self.errors = OutputLog(name, "stderr")
        self._printed = OutputLog(name, "stdout")
        self._transport = transport
        self._logging: list[asyncio.Task[None]] = []
        self._inlets: list[asyncio.ReadTransport] = []

    async def open(self, process: ExtensionProcess) -> None:
        """Open them, and log what the process prints from now on."""
        messages, unread = await _writer(process.messages_in)
        stdin, unread_stdin = await _writer(process.stdin)
        outlets = (process.messages_out, process.stdout, process.stderr)
        replies, stdout, stderr = [await self._reader(one) for one in outlets]
        self._log(self.errors, stderr)
        match self._transport:
            case "stdio":
                messages.close()
                self.ways = (Channel(stdout, stdin, unread_stdin),)
            case "fd":
                stdin.close()
                self.ways = (Channel(replies, messages, unread),)
                self._log(self._printed, stdout)
            case None:
                self.ways = (Channel(replies, messages, unread), Channel(stdout, stdin, unread_stdin, self._printed))

    async def settle(self, seconds: float) -> None:
        """Wait for the rest of what the process printed; it says why the process ended."""
        await asyncio.wait(self._logging, timeout=seconds)

    async def close(self) -> None:
        """Stop logging, when the process has ended."""
        for task in self._logging:
            task.cancel()
        await asyncio.gather(*self._logging, return_exceptions=True)
        for inlet in self._inlets:  # open where something that the process started holds the other end
            inlet.close()

    async def _reader(self, descriptor: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=wire.MAX_MESSAGE_BYTES)
        pipe = os.fdopen(descriptor, "rb", 0)
        loop = asyncio.get_running_loop()
        inlet, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._inlets.append(inlet)
        return reader

    def _log(self, log: OutputLog, reader: asyncio.StreamReader) -> None:
        self._logging.append(asyncio.create_task(log.read(reader)))


class _Outlet(asyncio.BaseProtocol):
    """Knows when the process does not read any more."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def connection_lost(self, _: Exception | None) -> None:
        """The process or kaa closed its end."""
        self.closed.set()


async def _writer(descriptor: int) -> tuple[asyncio.WriteTransport, asyncio.Event]:
    pipe = os.fdopen(descriptor, "wb", 0)
    transport, outlet = await asyncio.get_running_loop().connect_write_pipe(_Outlet, pipe)
    return transport, outlet.closed
