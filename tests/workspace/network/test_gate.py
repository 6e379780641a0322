"""Changing what is allowed while commands run, and knowing afterwards what they were kept from."""

import asyncio
import socket

import pytest

from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.gate import NetworkGate
from tests.workspace.network.world import LoopbackInternet, Peer, Recorder, echo, world

_OFF = NetworkState()
_ON = NetworkState(public=True)


@pytest.mark.parametrize("state", ["off", "other.example", "example.com:8443", "*.example.com"])
def test_a_tunnel_that_is_no_longer_allowed_is_cut(state: str) -> None:
    async def scenario() -> None:
        ends: list[bool] = []

        async def serve(peer: Peer) -> None:
            await peer.send(await peer.receive(5))
            ends.append(await peer.is_cut())

        async with world() as here:
            await here.serve("example.com", serve, port=443)
            client = await here.tunnel("example.com:443")
            await client.send(b"hello")
            await client.receive(5)

            here.gate.set_state(NetworkState.parse(state))
            client.writer.write(b"after")

            assert await client.is_cut()
            while not ends:
                await asyncio.sleep(0.01)
            assert ends == [True]
            assert [str(refusal.destination) for refusal in here.gate.blocked_since(0)] == ["example.com:443"]

    asyncio.run(scenario())


def test_a_tunnel_full_of_data_is_cut() -> None:
    async def scenario() -> None:
        async def flood(peer: Peer) -> None:
            while True:
                await peer.send(bytes(65536))

        async with world() as here:
            await here.serve("example.com", flood, port=443)
            client = await here.tunnel("example.com:443")
            await client.receive(1_000_000)

            here.gate.set_state(_OFF)

            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await client.receive(100_000_000)

    asyncio.run(scenario())


def test_an_answer_that_is_under_way_is_cut() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            await peer.head()
            await peer.send(b"HTTP/1.1 200 OK\r\n\r\nbeginning")
            await peer.rest()

        async with world() as here:
            await here.serve("example.com", serve)
            client = await here.client()
            await client.send(b"GET http://example.com/ HTTP/1.1\r\n\r\n")
            await client.head()
            await client.receive(9)

            here.gate.set_state(_OFF)

            with pytest.raises(ConnectionResetError):  # the end of the connection would be the end of the answer
                await client.rest()

    asyncio.run(scenario())


@pytest.mark.parametrize("state", ["on", "example.com,other.example", "example.com:443"])
def test_a_tunnel_that_is_still_allowed_stays(state: str) -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", echo, port=443)
            client = await here.tunnel("example.com:443")

            here.gate.set_state(NetworkState.parse(state))
            await client.send(b"hello")

            assert await client.receive(5) == b"hello"
            assert here.gate.blocked_since(0) == ()

    asyncio.run(scenario())


def test_a_tunnel_into_a_private_network_is_cut_when_its_exact_rule_goes() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", echo, port=443, address="10.0.0.5")
            client = await here.tunnel("example.com:443")

            here.gate.set_state(_ON)

            assert await client.is_cut()

    asyncio.run(scenario())


def test_what_is_switched_off_while_it_connects_is_refused() -> None:
    class Slow(LoopbackInternet):
        def __init__(self) -> None:
            super().__init__()
            self.asked = asyncio.Event()
            self.answer = asyncio.Event()

        async def connect(self, address: str, port: int) -> socket.socket:
            self.asked.set()
            await self.answer.wait()
            return await super().connect(address, port)

    async def scenario() -> None:
        internet = Slow()
        async with world(internet=internet) as here:
            await here.serve("example.com", Recorder())
            client = await here.client()
            await client.send(b"GET http://example.com/ HTTP/1.1\r\n\r\n")
            await internet.asked.wait()

            here.gate.set_state(_OFF)
            internet.answer.set()

            assert (await client.rest()).startswith(b"HTTP/1.1 403 ")
            assert here.gate.allowed_since(0) == ()

    asyncio.run(scenario())


def test_switching_works_for_new_requests_both_ways() -> None:
    async def scenario() -> None:
        async with world("off") as here:
            await here.serve("example.com", Recorder())
            statuses = []

            for state in (_OFF, _ON, _OFF, NetworkState.parse("example.com"), NetworkState.parse("other.example")):
                here.gate.set_state(state)
                answer = await here.ask(b"GET http://example.com/ HTTP/1.1\r\n\r\n")
                statuses.append(int(answer.split()[1]))
                assert here.gate.state == state

            assert statuses == [403, 200, 403, 200, 403]

    asyncio.run(scenario())


def test_what_was_blocked_and_allowed_since_a_mark_is_known() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", Recorder())
            await here.ask(b"GET http://before.example/ HTTP/1.1\r\n\r\n")
            mark = here.gate.mark()

            for _ in range(3):
                await here.ask(b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n")
                await here.ask(b"GET http://example.com/ HTTP/1.1\r\n\r\n")
            await here.ask(b"CONNECT github.com:22 HTTP/1.1\r\n\r\n")

            assert [(str(one.destination), one.rule) for one in here.gate.blocked_since(mark)] == [
                ("pypi.org:443", "pypi.org"),
                ("github.com:22", "github.com:22"),
            ]
            assert here.gate.allowed_since(mark) == (Destination("example.com", 80),)
            assert here.gate.blocked_since(here.gate.mark()) == ()

    asyncio.run(scenario())


def test_the_rule_of_a_refusal_allows_it() -> None:
    async def scenario() -> None:
        async with world("off") as here:
            await here.serve("example.com", Recorder(), port=8080, address="192.168.1.5")
            request = b"GET http://example.com:8080/ HTTP/1.1\r\n\r\n"
            await here.ask(request)

            (refusal,) = here.gate.blocked_since(0)
            assert refusal.rule is not None
            here.gate.set_state(NetworkState.parse(refusal.rule))

            assert (await here.ask(request)).endswith(b"hi")

    asyncio.run(scenario())


def test_several_listeners_are_served_and_one_that_is_shut_down_harms_no_other() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", Recorder())
            second = socket.create_server(("127.0.0.1", 0))
            shared = socket.socket(fileno=second.dup().detach())
            port = here.gate.attach(second)

            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET http://example.com/ HTTP/1.1\r\n\r\n")
            assert (await reader.read()).endswith(b"hi")
            writer.close()
            await writer.wait_closed()
            shared.shutdown(socket.SHUT_RDWR)
            shared.close()

            assert (await here.ask(b"GET http://example.com/ HTTP/1.1\r\n\r\n")).endswith(b"hi")

    asyncio.run(scenario())


def test_a_gate_that_was_never_attached_can_be_closed() -> None:
    async def scenario() -> None:
        gate = NetworkGate(environment={})

        await gate.close()

        assert gate.state == NetworkState()
        assert gate.problem is None

    asyncio.run(scenario())
