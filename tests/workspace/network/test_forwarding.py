"""Ports of the sandbox on this machine. Here the inside is this machine as well."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kaa.workspace.network.forwarding import Forward, ForwardError, InsideSocket, PortForwards
from tests.support.patience import HANG_SECONDS
from tests.workspace.network.world import Peer, echo

Serve = Callable[[Peer], Awaitable[None]]


def _run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run a scenario and make sure that it leaves neither tasks nor sockets."""

    async def watched() -> None:
        before = _left()
        await scenario()
        async with asyncio.timeout(HANG_SECONDS):
            while _left() != before:  # the test's own server closes in its own time
                await asyncio.sleep(0.01)

    asyncio.run(watched())


def _left() -> tuple[set[asyncio.Task[None]], set[str]]:
    return asyncio.all_tasks(), set(os.listdir("/dev/fd"))


async def _inside(family: int) -> socket.socket:
    return socket.socket(family, socket.SOCK_STREAM)


@asynccontextmanager
async def _forwards(inside: InsideSocket = _inside) -> AsyncIterator[PortForwards]:
    forwards = PortForwards(inside)
    try:
        yield forwards
    finally:
        await forwards.close_all()
    assert forwards.active == ()


@asynccontextmanager
async def _server(serve: Serve, host: str = "127.0.0.1") -> AsyncIterator[int]:
    serving: set[asyncio.Task[None] | None] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        peer = Peer(reader, writer)
        try:
            await serve(peer)
        finally:
            await peer.close()

    server = await asyncio.start_server(connected, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.gather(*filter(None, serving), return_exceptions=True)


async def _client(forward: Forward) -> Peer:
    return Peer(*await asyncio.open_connection("127.0.0.1", forward.host_port))


def test_a_forwarded_port_leads_to_the_server_inside() -> None:
    async def scenario() -> None:
        async with _server(echo) as port, _forwards() as forwards:
            forward = await forwards.open(port)
            client = await _client(forward)

            await client.send(b"hello")
            client.end()

            assert await client.rest() == b"hello"
            assert forward.sandbox_port == port
            assert forwards.active == (forward,)
            await client.close()

    _run(scenario)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_servers_of_either_family_are_reached(host: str) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("this machine has no IPv6 on loopback")

    async def scenario() -> None:
        async with _server(echo, host) as port, _forwards() as forwards:
            client = await _client(await forwards.open(port))

            await client.send(b"hello")

            assert await client.receive(5) == b"hello"
            await client.close()

    _run(scenario)


@pytest.mark.skipif(not Path("/proc/net/tcp6").exists(), reason="this system does not list its sockets in /proc/net")
def test_the_port_is_on_loopback_only() -> None:
    async def scenario() -> None:
        async with _server(echo) as port, _forwards() as forwards:
            forward = await forwards.open(port)

            listening = _listening_addresses(forward.host_port)

            assert listening == {"0100007F"}

    _run(scenario)


def test_a_port_on_which_nobody_listens_cannot_be_forwarded() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        async with _forwards() as forwards:
            with pytest.raises(ForwardError, match=f"Nobody listens on port {port} inside the sandbox"):
                await forwards.open(port)

    _run(scenario)


def test_a_taken_port_is_named() -> None:
    async def scenario() -> None:
        async with _server(echo) as port, _forwards() as forwards:
            with pytest.raises(ForwardError, match=f"Port {port} of this machine is taken"):
                await forwards.open(port, port)

    _run(scenario)


@pytest.mark.parametrize(("inside", "outside"), [(0, 0), (-1, 0), (65536, 0), (80, -1), (80, 65536)])
def test_what_is_no_port_is_an_error(inside: int, outside: int) -> None:
    async def scenario() -> None:
        async with _forwards() as forwards:
            with pytest.raises(ForwardError, match="from 1 to 65535"):
                await forwards.open(inside, outside)

    _run(scenario)


def test_a_sandbox_that_is_gone_is_reported() -> None:
    async def gone(_family: int) -> socket.socket:
        raise OSError("The hands are gone")

    async def scenario() -> None:
        async with _forwards(gone) as forwards:
            with pytest.raises(ForwardError, match="The hands are gone"):
                await forwards.open(80)

    _run(scenario)


def test_connections_are_refused_once_the_server_inside_has_ended() -> None:
    async def scenario() -> None:
        async with _forwards() as forwards:
            async with _server(echo) as port:
                forward = await forwards.open(port)
            client = await _client(forward)

            assert await client.is_cut()
            await client.close()

    _run(scenario)


def test_closing_a_forward_cuts_its_connections_and_frees_its_port() -> None:
    async def scenario() -> None:
        async with _server(echo) as port, _forwards() as forwards:
            forward, other = await forwards.open(port), await forwards.open(port)
            client = await _client(forward)
            await client.send(b"hello")
            await client.receive(5)

            await forwards.close(forward)
            await forwards.close(forward)

            assert await client.is_cut()
            assert forwards.active == (other,)
            with pytest.raises(ConnectionRefusedError):
                await _client(forward)
            await client.close()

    _run(scenario)


def _listening_addresses(port: int) -> set[str]:
    """The addresses, in the kernel's notation, on which somebody listens on a port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, local_port = local.partition(":")
            if state == "0A" and int(local_port, 16) == port:
                found.add(address)
    return found


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
