"""One process of an extension, from its start to its end: pipes, handshake, shutdown, and why it ended."""

import asyncio
import os
import signal
from collections.abc import Callable

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Permissions
from kaa.ext.process import wire
from kaa.ext.process.connection import Connection, ConnectionEndedError, MessageChannel, OutputLog, Receiver
from kaa.ext.process.host import ExtensionProcess, ProcessHost
from kaa.ext.process.manifest import Manifest, Transport
from kaa.ext.process.wire import RpcError
from kaa.host.log import LOG, log_hint


class _Channels:
    """Kaa's ends of the pipes of one process.

    Args:
        name: of the extension.
        transport: how the process exchanges messages; None if it may use either way.

    Attributes:
        ways: to exchange messages.
        errors: what it prints on stderr.
    """

    def __init__(self, name: str, transport: Transport | None) -> None:
        self.ways: tuple[MessageChannel, ...] = ()
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
                self.ways = (MessageChannel(stdout, stdin, unread_stdin),)
            case "fd":
                stdin.close()
                self.ways = (MessageChannel(replies, messages, unread),)
                self._log(self._printed, stdout)
            case None:
                self.ways = (
                    MessageChannel(replies, messages, unread),
                    MessageChannel(stdout, stdin, unread_stdin, self._printed),
                )

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


PROTOCOL_VERSION = "4"

# For the rest of what a process printed, and for its end after it closed its descriptors.
_LAST_WORDS_SECONDS = 1


class Timing(msgspec.Struct, frozen=True):
    """How long kaa waits for a process, in seconds.

    Attributes:
        handshake: for the answer to `initialize`.
        shutdown: for its end, after kaa asked for it.
        pauses: before each start after a crash; as many starts as there are.
        stable: a process that ran so long has a new count of crashes.
    """

    handshake: float = 10.0
    shutdown: float = 2.0
    pauses: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    stable: float = 30.0


class NotRunningError(ExtensionError):
    """The process is gone: it ended during the call, or was given up."""


class _Identity(msgspec.Struct, frozen=True):
    """The answer to `initialize`."""

    name: str = ""
    version: str = ""


async def run_process(
    manifest: Manifest,
    permissions: Permissions,
    host: ProcessHost,
    receiver: Receiver,
    timing: Timing,
    ending: asyncio.Event,
    ready: Callable[[Connection], None],
) -> str:
    """Run the process of an extension until it ends, or until `ending`. Nothing of it is left afterwards.

    Args:
        manifest: of the extension.
        permissions: that the user granted.
        host: starts it.
        receiver: gets its messages.
        timing: how long to wait for it.
        ending: set to shut it down.
        ready: called after the handshake.

    Returns:
        Why it ended; empty if kaa asked for it.

    Raises:
        ExtensionError: it cannot be started, or the handshake fails.
    """
    about = {"cwd": host.project, "configDir": host.data_folder(manifest)}
    process = await host.start(manifest, permissions)
    channels = _Channels(manifest.extension.name, manifest.transport)
    await channels.open(process)
    connection = Connection(manifest.extension.name, channels.ways, receiver)
    ended = asyncio.create_task(process.wait())
    over = asyncio.create_task(_end(connection, channels, ended))
    try:
        await _greet(manifest.extension.name, connection, about, timing.handshake, channels)
        ready(connection)
        stopping = asyncio.create_task(ending.wait())
        await asyncio.wait((over, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if ending.is_set():
            connection.notify("shutdown")
            await connection.close("kaa ends it")
            await asyncio.wait((ended,), timeout=timing.shutdown)
            return "" if ended.done() else f"its process did not end {timing.shutdown:g} seconds after `shutdown`"
        return await over
    finally:
        await _clear(process, ended, connection, over)
        await channels.close()


async def _clear(
    process: ExtensionProcess, ended: "asyncio.Task[int]", connection: Connection, over: "asyncio.Task[str]"
) -> None:
    """Leave nothing of a process."""
    if not ended.done():
        process.end()
    await asyncio.wait((ended,))
    await connection.close("its process ended")
    await asyncio.gather(over, return_exceptions=True)


async def _greet(name: str, connection: Connection, about: dict[str, str], seconds: float, channels: _Channels) -> None:
    """Exchange the handshake.

    Raises:
        NotRunningError: it fails, or takes too long.
    """
    try:
        async with asyncio.timeout(seconds):
            answer = await connection.request("initialize", {"protocolVersion": PROTOCOL_VERSION, **about})
            identity = wire.parse(answer or {}, _Identity)
    except TimeoutError as error:
        problem = f"its process did not answer `initialize` within {seconds:g} seconds"
        raise NotRunningError(f"Extension {name} is not used: {problem}. {_printed(channels)}") from error
    except ConnectionEndedError as error:
        raise NotRunningError(f"Extension {name} is not used: `initialize` failed: {error}") from error
    except RpcError as error:
        problem = f"`initialize` failed: {error}"
        raise NotRunningError(f"Extension {name} is not used: {problem}. {_printed(channels)}") from error
    LOG.info("extension %s: %s %s is ready", name, identity.name, identity.version)


async def _end(connection: Connection, channels: _Channels, ended: "asyncio.Task[int]") -> str:
    """Receive messages until the process ends or does wrong, then close the connection. Returns the reason."""
    receiving = asyncio.create_task(connection.receive())
    try:
        await asyncio.wait((receiving, ended), return_when=asyncio.FIRST_COMPLETED)
        connection.lost()
        if not receiving.done() or not receiving.result():
            await asyncio.wait((receiving, ended), timeout=_LAST_WORDS_SECONDS)
        reason = receiving.result() if receiving.done() else ""
        if not reason:
            await channels.settle(_LAST_WORDS_SECONDS)
            reason = _reason(ended, channels)
        await connection.close(reason)
        return reason
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)


def _reason(ended: "asyncio.Task[int]", channels: _Channels) -> str:
    if not ended.done():
        return "it closed its connection to kaa"
    try:
        code = ended.result()
    except OSError as error:
        return f"its sandbox failed: {error}"
    how = f"exit code {code}" if code >= 0 else f"signal {_signal(-code)}"
    return f"its process ended with {how}. {_printed(channels)}"


def _printed(channels: _Channels) -> str:
    """The last that a process printed, and where there is more."""
    lines = channels.errors.last
    return f"It printed:\n{lines}\n{log_hint()}" if lines else log_hint()


def _signal(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
