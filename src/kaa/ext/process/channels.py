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

    async def open(self, process: ExtensionProcess) -> None:
        """Open them, and log what the process prints from now on."""
        messages, stdin = await _writer(process.messages_in), await _writer(process.stdin)
        replies, stdout, stderr = [await _reader(one) for one in (process.messages_out, process.stdout, process.stderr)]
        self._log(self.errors, stderr)
        match self._transport:
            case "stdio":
                messages.close()
                self.ways = (Channel(stdout, stdin),)
            case "fd":
                stdin.close()
                self.ways = (Channel(replies, messages),)
                self._log(self._printed, stdout)
            case None:
                self.ways = (Channel(replies, messages), Channel(stdout, stdin, self._printed))

    async def settle(self, seconds: float) -> None:
        """Wait for the rest of what the process printed; it says why the process ended."""
        await asyncio.wait(self._logging, timeout=seconds)

    async def close(self) -> None:
        """Stop logging, when the process has ended."""
        for task in self._logging:
            task.cancel()
        await asyncio.gather(*self._logging, return_exceptions=True)

    def _log(self, log: OutputLog, reader: asyncio.StreamReader) -> None:
        self._logging.append(asyncio.create_task(log.read(reader)))


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=wire.MAX_MESSAGE_BYTES)
    pipe = os.fdopen(descriptor, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer(descriptor: int) -> asyncio.WriteTransport:
    pipe = os.fdopen(descriptor, "wb", 0)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
    return transport
