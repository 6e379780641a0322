"""SOCKS5 on the port of the HTTP proxy, under the same rules."""

import asyncio

import pytest

from kaa.workspace.network.limits import ProxyLimits
from tests.workspace.network.world import Peer, echo, world

_NAME = b"\x05\x01\x00\x03\x0bexample.com\x00\x16"


async def _greet(client: Peer) -> None:
    await client.send(b"\x05\x02\x02\x00")
    assert await client.receive(2) == b"\x05\x00"


def test_a_tunnel_to_an_allowed_host_passes_bytes() -> None:
    async def scenario() -> None:
        async with world("example.com:22") as here:
            await here.serve("example.com", echo, port=22)
            client = await here.client()
            await _greet(client)

            await client.send(_NAME + b"SSH-2.0")

            assert await client.receive(10) == b"\x05\x00\x00\x01" + bytes(6)
            assert await client.receive(7) == b"SSH-2.0"
            client.end()
            assert await client.rest() == b""

    asyncio.run(scenario())


def test_addresses_are_judged_as_hosts_are() -> None:
    async def scenario() -> None:
        async with world("1.1.1.1,[2606:4700::1]:80") as here:
            await here.serve("unused.example", echo, port=80, address="2606:4700::1")
            client = await here.client()
            await _greet(client)

            await client.send(b"\x05\x01\x00\x04" + bytes.fromhex("26064700000000000000000000000001") + b"\x00\x50")

            assert (await client.receive(10))[1] == 0
            assert here.internet.connected == [("2606:4700::1", 80)]
            assert here.internet.resolved == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x05\x01\x00\x03\x0cblocked.test\x01\xbb",
        b"\x05\x01\x00\x03\x09127.0.0.1\x00\x50",
        b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
        b"\x05\x01\x00\x01\x00\x00\x00\x00\x00\x50",
        b"\x05\x01\x00\x04" + bytes(10) + b"\xff\xff\x7f\x00\x00\x01\x00\x50",
    ],
)
def test_a_blocked_host_is_not_allowed_and_never_resolved(request_bytes: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:
            client = await here.client()
            await _greet(client)

            answer = await client.ask(request_bytes)

            assert answer == b"\x05\x02\x00\x01" + bytes(6)
            assert here.internet.resolved == []
            assert here.internet.connected == []
            assert len(here.gate.blocked_since(0)) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (b"\x05\x02\x00\x01\x01\x01\x01\x01\x00\x50", 7),  # BIND
        (b"\x05\x03\x00\x01\x01\x01\x01\x01\x00\x50", 7),  # UDP ASSOCIATE
        (b"\x05\x01\x00\x02", 8),
        (b"\x04\x01\x00\x01", 1),
        (b"\x05\x01\x00\x03\x00\x00\x50", 1),
        (b"\x05\x01\x00\x03\x03a b\x00\x50", 1),
        (b"\x05\x01\x00\x03\x02\xff\xfe\x00\x50", 1),
        (b"\x05\x01\x00\x03\x05127.1\x00\x50", 1),
        (b"\x05\x01\x00\x03\x0bexample.com\x00\x00", 1),
        (_NAME.replace(b"\x00\x16", b"\x00\x50"), 4),  # allowed, and nobody knows it
    ],
)
def test_other_requests_have_their_codes(request_bytes: bytes, code: int) -> None:
    async def scenario() -> None:
        async with world() as here:
            client = await here.client()
            await _greet(client)

            assert (await client.ask(request_bytes))[:2] == bytes((5, code))

    asyncio.run(scenario())


@pytest.mark.parametrize("greeting", [b"\x05\x01\x02", b"\x05\x00"])
def test_a_client_that_insists_on_a_password_is_sent_away(greeting: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:
            client = await here.client()
            await client.send(greeting)

            assert await client.receive(2) == b"\x05\xff"
            assert await client.is_cut()

    asyncio.run(scenario())


@pytest.mark.parametrize("beginning", [b"\x05", b"\x05\x01\x00\x05\x01"])
def test_a_request_that_trickles_is_not_waited_for(beginning: bytes) -> None:
    async def scenario() -> None:
        async with world(limits=ProxyLimits(head_seconds=0.05)) as here:
            client = await here.client()
            await client.send(beginning)
            if len(beginning) > 1:
                await client.receive(2)

            assert await client.is_cut()

    asyncio.run(scenario())
