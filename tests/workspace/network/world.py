"""A gate between real sockets: clients on one side, servers on the other, between them an internet of loopback.

The rules about addresses stay those of the product: servers have public addresses as far as the gate can see.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.network.asking import RunningCalls
from kaa.workspace.network.gate import NetworkGate
from kaa.workspace.network.limits import ProxyLimits
from tests.support.patience import HANG_SECONDS

PUBLIC = "93.184.216.34"

Serve = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self, count: int) -> bytes:
        """Exactly so many bytes."""
        async with asyncio.timeout(HANG_SECONDS):
            return await self.reader.readexactly(count)

    async def head(self) -> bytes:
        """A head with its empty line."""
        async with asyncio.timeout(HANG_SECONDS):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """Everything up to the end."""
        async with asyncio.timeout(HANG_SECONDS):
            return await self.reader.read()

    def end(self) -> None:
        """Say that nothing more follows."""
        self.writer.write_eof()

    async def ask(self, data: bytes) -> bytes:
        """Send something and read everything up to the end."""
        await self.send(data)
        return await self.rest()

    async def is_cut(self) -> bool:
        """Whether the connection ends without another byte."""
        try:
            return await self.rest() == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


class LoopbackInternet:
    """An internet whose addresses are mapped to ports of loopback.

    Attributes:
        resolved: the names that were looked up.
        connected: the addresses that were connected to.
    """

    def __init__(self) -> None:
        self.names: dict[str, Sequence[str]] = {}
        self.servers: dict[tuple[str, int], int] = {}
        self.resolved: list[str] = []
        self.connected: list[tuple[str, int]] = []

    async def resolve(self, host: str) -> Sequence[str]:
        self.resolved.append(host)
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]

    async def connect(self, address: str, port: int) -> socket.socket:
        self.connected.append((address, port))
        if (address, port) not in self.servers:
            raise ConnectionRefusedError("nobody listens")
        sock = socket.socket()
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.servers[address, port]))
        return sock


class World:
    """A gate, and what is on both sides of it."""

    def __init__(self, gate: NetworkGate, internet: LoopbackInternet, port: int) -> None:
        self.gate = gate
        self.internet = internet
        self.port = port
        self._servers: list[asyncio.Server] = []
        self._peers: list[Peer] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def serve(self, host: str, serve: Serve, *, port: int = 80, address: str = PUBLIC) -> None:
        """Let a server answer on a host of the internet."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            peer = Peer(reader, writer)
            self._peers.append(peer)
            task = asyncio.current_task()
            assert task is not None
            self._serving.add(task)
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await serve(peer)
            await peer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self._servers.append(server)
        self.internet.servers[address, port] = server.sockets[0].getsockname()[1]
        self.internet.names[host] = (address,)

    async def client(self) -> Peer:
        """A connection to the gate, as a command makes it."""
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self._peers.append(peer)
        return peer

    async def ask(self, request: bytes) -> bytes:
        """Send a request in a connection of its own; returns everything that comes back."""
        client = await self.client()
        try:
            return await client.ask(request)
        finally:
            await client.close()

    async def tunnel(self, target: str) -> Peer:
        """A tunnel that has been opened."""
        client = await self.client()
        await client.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        assert (await client.head()).startswith(b"HTTP/1.1 200 ")
        return client

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for peer in self._peers:
            await peer.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


@contextlib.asynccontextmanager
async def world(
    allowed: str = "example.com",
    *,
    environment: Mapping[str, str] | None = None,
    internet: LoopbackInternet | None = None,
    limits: ProxyLimits | None = None,
    calls: RunningCalls | None = None,
) -> AsyncIterator[World]:
    """A world, and behind it the certainty that the gate has left nothing."""
    descriptors, tasks = set(os.listdir("/dev/fd")), asyncio.all_tasks()
    internet = internet or LoopbackInternet()
    gate = NetworkGate(
        NetworkState.parse(allowed),
        environment=environment or {},
        calls=calls,
        internet=internet,
        limits=limits or ProxyLimits(),
    )
    here = World(gate, internet, gate.attach(socket.create_server(("127.0.0.1", 0))))
    try:
        yield here
    finally:
        await gate.close()
        await here.close()
    assert asyncio.all_tasks() == tasks, "a task was left"
    assert set(os.listdir("/dev/fd")) == descriptors, "a socket was left"


async def echo(peer: Peer) -> None:
    """Send back what comes, and end when the other side does."""
    while data := await peer.reader.read(65536):
        await peer.send(data)


class Recorder:
    """A web server that remembers what it was sent, byte for byte, and answers once the request has come."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") -> None:
        self.received = b""
        self.connections = 0
        self._ended = asyncio.Event()
        self._answer = answer

    async def __call__(self, peer: Peer) -> None:
        self.connections += 1
        self.received += await peer.head()
        await peer.send(self._answer)
        peer.end()
        self.received += await peer.rest()
        self._ended.set()

    async def all_received(self) -> bytes:
        """What came, once the connection has ended."""
        async with asyncio.timeout(HANG_SECONDS):
            await self._ended.wait()
        return self.received
