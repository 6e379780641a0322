"""The proxy as commands see it: plain requests and tunnels through real sockets."""

import asyncio
import os
import socket

import pytest

from kaa.workspace.network.allow_list import NetworkState
from kaa.workspace.network.limits import ProxyLimits
from tests.workspace.network.world import Peer, Recorder, echo, world

_GET = b"GET http://example.com/page?q=1 HTTP/1.1\r\nHost: example.com\r\n\r\n"


def test_a_plain_request_reaches_its_server_and_the_answer_comes_back() -> None:
    async def scenario() -> None:
        async with world() as here:
            server = Recorder()
            await here.serve("example.com", server)

            answer = await here.ask(_GET)

            assert server.received == b"GET /page?q=1 HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"
            assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "request_bytes", [b"GET http://blocked.example/ HTTP/1.1\r\n\r\n", b"CONNECT blocked.example:443 HTTP/1.1\r\n\r\n"]
)
@pytest.mark.parametrize("state", ["off", "example.com", "*.blocked.example", "blocked.example:8443"])
def test_a_blocked_host_is_refused_with_words_and_never_resolved(request_bytes: bytes, state: str) -> None:
    async def scenario() -> None:
        async with world(state) as here:
            answer = await here.ask(request_bytes)

            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 403 Blocked by the kaa sandbox\r\n")
            assert b"\r\nX-Kaa-Sandbox: blocked" in head
            assert b"kaa sandbox: network access to blocked.example:" in body
            assert b"--net blocked.example" in body
            assert here.internet.resolved == []
            assert here.internet.connected == []

    asyncio.run(scenario())


def test_a_refusal_reaches_a_client_that_first_sends_everything() -> None:
    def ask(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST http://a.example/ HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n")
            for _ in range(9):
                client.sendall(bytes(1_000_000))
            return client.recv(65536)

    async def scenario() -> None:
        async with world("off") as here:
            assert (await asyncio.to_thread(ask, here.port)).startswith(b"HTTP/1.1 403 ")

    asyncio.run(scenario())


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])
@pytest.mark.parametrize("state", ["example.com", "on"])
def test_a_name_that_leads_to_this_machine_is_refused(address: str, state: str) -> None:
    async def scenario() -> None:
        async with world(state) as here:
            here.internet.names["example.com"] = (address,)

            answer = await here.ask(_GET)

            assert b"which nothing in the sandbox may reach" in answer
            assert here.internet.connected == []
            assert [(str(refusal.destination), refusal.rule) for refusal in here.gate.blocked_since(0)] == [
                ("example.com:80", None)
            ]

    asyncio.run(scenario())


def test_a_private_address_needs_the_exact_name() -> None:
    async def scenario() -> None:
        async with world("on") as here:
            server = Recorder()
            await here.serve("nas.corp.example", server, address="10.0.0.5")
            request = b"GET http://nas.corp.example/ HTTP/1.1\r\n\r\n"

            refused = await here.ask(request)
            here.gate.set_state(NetworkState.parse("on,nas.corp.example"))
            answer = await here.ask(request)

            assert b"private network" in refused
            assert [refusal.private for refusal in here.gate.blocked_since(0)] == [True]
            assert answer.endswith(b"\r\n\r\nhi")
            assert here.internet.connected == [("10.0.0.5", 80)]

    asyncio.run(scenario())


def test_only_judged_addresses_are_connected_to_and_the_name_is_resolved_once() -> None:
    async def scenario() -> None:
        async with world("on") as here:
            await here.serve("example.com", Recorder())
            here.internet.names["example.com"] = ("127.0.0.1", "10.0.0.1", "2606:4700::1", "93.184.216.34")

            answer = await here.ask(_GET)

            assert answer.endswith(b"hi")
            assert here.internet.resolved == ["example.com"]
            assert here.internet.connected == [("2606:4700::1", 80), ("93.184.216.34", 80)]

    asyncio.run(scenario())


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "localhost"])
def test_this_machine_is_not_reached_by_address_or_name(host: str) -> None:
    async def scenario() -> None:
        async with world("on") as here:
            answer = await here.ask(f"CONNECT {host}:80 HTTP/1.1\r\n\r\n".encode())

            assert answer.startswith(b"HTTP/1.1 403 ")
            assert here.internet.resolved == []
            assert here.internet.connected == []

    asyncio.run(scenario())


@pytest.mark.parametrize("request_bytes", [_GET, b"CONNECT example.com:80 HTTP/1.1\r\n\r\n"])
def test_a_server_that_cannot_be_reached_is_a_bad_gateway(request_bytes: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:
            unknown = await here.ask(request_bytes)
            here.internet.names["example.com"] = ("93.184.216.34",)
            refusing = await here.ask(request_bytes)
            here.internet.names["example.com"] = ()
            nowhere = await here.ask(request_bytes)

            assert unknown.startswith(b"HTTP/1.1 502 ")
            assert b"cannot be resolved" in unknown
            assert b"nobody listens" in refusing
            assert b"no address" in nowhere
            assert here.gate.blocked_since(0) == ()
            assert here.gate.allowed_since(0) == ()

    asyncio.run(scenario())


def test_bodies_are_passed_on_to_the_byte_and_what_follows_them_is_not() -> None:
    async def scenario() -> None:
        async with world() as here:
            server = Recorder()
            await here.serve("example.com", server)
            smuggled = b"GET /admin HTTP/1.1\r\nHost: evil.example\r\n\r\n"

            answer = await here.ask(b"POST http://example.com/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + smuggled)

            assert (await server.all_received()).endswith(b"\r\n\r\nhello")
            assert answer.count(b"HTTP/1.1") == 1
            assert server.connections == 1

    asyncio.run(scenario())


def test_chunks_are_written_anew_without_extensions_and_trailers() -> None:
    async def scenario() -> None:
        async with world() as here:
            server = Recorder()
            await here.serve("example.com", server)
            body = b"5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nContent-Length: 9\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n"

            await here.ask(b"POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)

            head, _, sent = (await server.all_received()).partition(b"\r\n\r\n")
            assert b"Content-Length" not in head
            assert sent == b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"x\r\n",
        b"-1\r\n",
        b"5 \n",
        b"5\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5\r\nhello!\r\n0\r\n\r\n",
        b"5\r\nhel",
        b"FFFFFFFFFFFFFFFFF\r\n",
        b"\r\n",
        b"5;" + b"a" * 5000 + b"\r\n",
        b"0\r\n" + b"X: a\r\n" * 20000 + b"\r\n",
    ],
)
def test_a_body_that_is_not_as_announced_is_a_bad_request(body: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:

            async def serve(peer: Peer) -> None:
                await peer.rest()

            await here.serve("example.com", serve)
            client = await here.client()
            await client.send(b"POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            client.end()

            assert (await client.rest()).startswith(b"HTTP/1.1 400 ")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET http://example.com/ HTTP/1.1\nHost: example.com\n\n",
        b"GET http://example.com/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        b"POST http://example.com/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST http://example.com/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"CONNECT example.com HTTP/1.1\r\n\r\n",
        b"CONNECT http://example.com:80 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_bad_requests_are_answered_and_lead_nowhere(request_bytes: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", Recorder())

            answer = await here.ask(request_bytes)

            assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
            assert b"\r\n\r\nkaa sandbox: " in answer
            assert here.internet.resolved == []

    asyncio.run(scenario())


def test_a_head_without_end_is_refused() -> None:
    async def scenario() -> None:
        async with world() as here:
            client = await here.client()
            await client.send(b"GET http://example.com/ HTTP/1.1\r\n" + b"X: " + b"a" * 70_000)

            assert (await client.rest()).startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")

    asyncio.run(scenario())


def test_a_head_that_trickles_is_not_waited_for() -> None:
    async def scenario() -> None:
        async with world(limits=ProxyLimits(head_seconds=0.3)) as here:
            client = await here.client()
            await client.send(b"GET http://exa")
            silent = await here.client()

            assert (await client.rest()).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert await silent.is_cut()

    asyncio.run(scenario())


def test_interim_answers_are_passed_on() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            assert b"\r\nExpect: 100-continue\r\n" in await peer.head()
            await peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            assert await peer.receive(5) == b"hello"
            await peer.send(b"HTTP/1.1 204 No Content\r\n\r\n")

        async with world() as here:
            await here.serve("example.com", serve)
            client = await here.client()

            await client.send(b"POST http://example.com/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            assert (await client.head()).startswith(b"HTTP/1.1 100 ")
            await client.send(b"hello")

            assert (await client.head()).startswith(b"HTTP/1.1 204 ")

    asyncio.run(scenario())


def test_an_answer_before_the_end_of_the_request_is_passed_on() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            await peer.head()
            await peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

        async with world() as here:
            await here.serve("example.com", serve)
            client = await here.client()
            await client.send(b"POST http://example.com/ HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)

            assert (await client.rest()).startswith(b"HTTP/1.1 413 ")

    asyncio.run(scenario())


def test_a_request_that_turns_out_bad_adds_nothing_to_an_answer_under_way() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            await peer.send(b"HTTP/1.1 200 OK\r\n\r\nhalf of")
            await peer.rest()

        async with world() as here:
            await here.serve("example.com", serve)
            client = await here.client()
            await client.send(b"POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            await client.head()
            await client.receive(7)

            await client.send(b"no size\r\n")

            assert await client.is_cut()

    asyncio.run(scenario())


def test_an_answer_that_breaks_off_does_not_look_complete() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            await peer.head()
            await peer.send(b"HTTP/1.1 200 OK\r\n\r\nhalf of")
            await peer.receive(4)
            peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0" + bytes(4))
            peer.writer.transport.abort()

        async with world() as here:
            await here.serve("example.com", serve)
            client = await here.client()
            await client.send(b"POST http://example.com/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
            await client.head()
            await client.receive(7)
            await client.send(b"part")

            with pytest.raises(ConnectionResetError):
                await client.rest()

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 101 Switching\r\n\r\n", b"HTTP/1.1 200 OK\n\n"])
def test_a_server_that_does_not_speak_http_is_a_bad_gateway(answer: bytes) -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", Recorder(answer))

            assert (await here.ask(_GET)).startswith(b"HTTP/1.1 502 ")

    asyncio.run(scenario())


def test_a_tunnel_passes_bytes_both_ways_and_each_end_on_its_own() -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            received = await peer.rest()
            await peer.send(b"got " + received)

        async with world() as here:
            await here.serve("example.com", serve, port=443)
            client = await here.tunnel("example.com:443")

            await client.send(b"all of it")
            client.end()

            assert await client.rest() == b"got all of it"

    asyncio.run(scenario())


def test_what_is_sent_together_with_the_request_for_a_tunnel_goes_through_it() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", echo, port=443)
            client = await here.client()
            await client.send(b"CONNECT example.com:443 HTTP/1.1\r\n\r\nhello")

            await client.head()

            assert await client.receive(5) == b"hello"

    asyncio.run(scenario())


def test_large_transfers_arrive_whole() -> None:
    content = os.urandom(5_000_000)

    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", echo, port=443)
            client = await here.tunnel("example.com:443")

            async def send() -> None:
                await client.send(content)
                client.end()

            sending = asyncio.create_task(send())
            received = await client.rest()
            await sending

            assert received == content

    asyncio.run(scenario())


def test_a_slow_reader_holds_back_the_sender() -> None:
    async def scenario() -> None:
        sent = 0

        async def serve(peer: Peer) -> None:
            nonlocal sent
            while True:
                await peer.send(bytes(65536))
                sent += 65536

        async with world() as here:
            await here.serve("example.com", serve, port=443)
            await here.tunnel("example.com:443")

            before = -1
            while sent != before:  # until everything between the two is full
                before = sent
                await asyncio.sleep(0.2)

            assert sent < 30_000_000

    asyncio.run(scenario())


def test_more_clients_than_the_limit_wait_for_their_turn() -> None:
    async def scenario() -> None:
        async with world(limits=ProxyLimits(connections=3)) as here:
            await here.serve("example.com", Recorder())

            answers = await asyncio.gather(*(here.ask(_GET) for _ in range(40)))

            assert all(answer.endswith(b"hi") for answer in answers)

    asyncio.run(scenario())


def test_no_more_clients_than_the_limit_are_served_at_a_time() -> None:
    async def scenario() -> None:
        async with world(limits=ProxyLimits(connections=2)) as here:
            await here.serve("example.com", echo, port=443)
            tunnels = [await here.tunnel("example.com:443") for _ in range(2)]
            third = asyncio.create_task(here.tunnel("example.com:443"))
            for _ in range(20):  # round trips through the gate, which would have served the third by now
                await tunnels[0].send(b"x")
                await tunnels[0].receive(1)
            connected = len(here.internet.connected)

            await tunnels[1].close()
            await third

            assert connected == 2
            assert len(here.internet.connected) == 3

    asyncio.run(scenario())


def test_closing_the_gate_leaves_nothing_of_what_was_under_way() -> None:
    async def scenario() -> None:
        async def silence(peer: Peer) -> None:
            await peer.rest()

        async with world() as here:
            await here.serve("example.com", silence, port=443)
            await here.serve("example.com", silence)
            tunnel = await here.tunnel("example.com:443")
            waiting = await here.client()
            await waiting.send(_GET)
            half = await here.client()
            await half.send(b"GET http")
            just_connected = await here.client()

            await here.gate.close()

            for client in (tunnel, waiting, half, just_connected):
                assert await client.is_cut()

    asyncio.run(scenario())
