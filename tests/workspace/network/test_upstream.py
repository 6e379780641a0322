"""Networks that are left through a proxy of their own."""

import asyncio
import traceback
from base64 import b64encode

import pytest

from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.upstream import UnsupportedProxyError, UpstreamProxies, UpstreamProxy
from tests.workspace.network.world import Peer, Recorder, World, echo, world

_PROXY = {"HTTP_PROXY": "http://proxy.corp.example:3128", "HTTPS_PROXY": "http://user:p%40ss@proxy.corp.example:3128"}
_CREDENTIALS = b64encode(b"user:p@ss").decode()


async def _corporate(here: World, answer: bytes, seen: list[bytes]) -> None:
    async def serve(peer: Peer) -> None:
        seen.append(await peer.head())
        await peer.send(answer)
        await echo(peer)

    await here.serve("proxy.corp.example", serve, port=3128, address="10.9.9.9")


@pytest.mark.parametrize(
    ("environment", "destination", "proxy"),
    [
        ({}, "a.example:443", None),
        ({"HTTPS_PROXY": "http://p:1"}, "a.example:443", UpstreamProxy("p", 1)),
        ({"https_proxy": "p:1", "HTTPS_PROXY": "http://q:1"}, "a.example:443", UpstreamProxy("p", 1)),
        ({"all_proxy": "http://p"}, "a.example:443", UpstreamProxy("p", 80)),
        ({"HTTP_PROXY": "http://p:1"}, "a.example:443", None),
        ({"https_proxy": "http://[fd00::1]:1"}, "a.example:443", UpstreamProxy("fd00::1", 1)),
        ({"https_proxy": "http://p:1", "no_proxy": "*"}, "a.example:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "x, A.example"}, "a.example:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": ".example"}, "a.example:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "*.example"}, "a.example:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "a.example:80"}, "a.example:443", UpstreamProxy("p", 1)),
        ({"https_proxy": "http://p:1", "no_proxy": "ample"}, "a.example:443", UpstreamProxy("p", 1)),
        ({"https_proxy": "http://p:1", "no_proxy": "."}, "a.example:443", UpstreamProxy("p", 1)),
        ({"https_proxy": "http://p:1", "no_proxy": "10.0.0.0/8"}, "10.1.1.1:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "10.0.0.0/8"}, "11.1.1.1:443", UpstreamProxy("p", 1)),
        ({"https_proxy": "http://p:1", "no_proxy": "[fd00::1]"}, "[fd00::1]:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "10.1.1.1:443"}, "10.1.1.1:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "a.example:443"}, "a.example:443", None),
        ({"https_proxy": "http://p:1", "no_proxy": "a.example"}, "10.1.1.1:443", UpstreamProxy("p", 1)),
    ],
)
def test_the_environment_names_the_proxy(
    environment: dict[str, str], destination: str, proxy: UpstreamProxy | None
) -> None:
    host, _, port = destination.rpartition(":")

    found = UpstreamProxies(environment).towards(Destination(host.strip("[]"), int(port)), tunnel=True)

    assert found == proxy


@pytest.mark.parametrize(
    "url",
    [
        "socks5://user:hunter2@p:1080",
        "https://user:hunter2@p",
        "http://user:hunter2@",
        "http://user:hunter2@p:99999",
        "http://user:hunter2@p q",
        "http://user:hunter2@[::1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_reported_without_its_secrets(url: str) -> None:
    proxies = UpstreamProxies({"HTTPS_PROXY": url})

    with pytest.raises(UnsupportedProxyError) as caught:
        proxies.towards(Destination("a.example", 443), tunnel=True)

    assert "https_proxy" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert proxies.problem == str(caught.value)


def test_tunnels_go_through_the_proxy_which_resolves_the_name() -> None:
    async def scenario() -> None:
        async with world(environment=_PROXY) as here:
            seen: list[bytes] = []
            await _corporate(here, b"HTTP/1.1 200 OK\r\nVia: corp\r\n\r\nearly", seen)

            client = await here.tunnel("example.com:443")

            assert await client.receive(5) == b"early"
            await client.send(b"hello")
            assert await client.receive(5) == b"hello"
            assert here.internet.resolved == ["proxy.corp.example"]
            assert seen == [
                b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"
                b"Proxy-Authorization: Basic " + _CREDENTIALS.encode() + b"\r\n\r\n"
            ]

    asyncio.run(scenario())


def test_plain_requests_go_through_the_proxy_with_their_whole_address() -> None:
    async def scenario() -> None:
        async with world(environment={"http_proxy": "http://user:p%40ss@proxy.corp.example:3128"}) as here:
            server = Recorder()
            await here.serve("proxy.corp.example", server, port=3128, address="10.9.9.9")
            await here.ask(
                b"GET http://example.com/a?b HTTP/1.1\r\nHost: evil.example\r\n"
                b"Proxy-Authorization: Basic bWluZQ==\r\n\r\n"
            )

            assert await server.all_received() == (
                b"GET http://example.com/a?b HTTP/1.1\r\nHost: example.com\r\n"
                b"Proxy-Authorization: Basic " + _CREDENTIALS.encode() + b"\r\nConnection: close\r\n\r\n"
            )

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "host", ["blocked.example", "127.0.0.1", "169.254.169.254", "localhost", "metadata.google.internal"]
)
def test_the_rules_come_before_the_proxy(host: str) -> None:
    async def scenario() -> None:
        async with world("example.com", environment=_PROXY) as here:
            answer = await here.ask(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())

            assert answer.startswith(b"HTTP/1.1 403 ")
            assert here.internet.connected == []

    asyncio.run(scenario())


def test_exempt_hosts_are_connected_to_directly_and_checked() -> None:
    async def scenario() -> None:
        async with world("on", environment={**_PROXY, "no_proxy": "example.com"}) as here:
            here.internet.names["example.com"] = ("10.0.0.1",)

            assert (await here.ask(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403 ")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"HTTP/1.1 503 No\r\n\r\n", b"SSH-2.0\r\n\r\n"]
)
@pytest.mark.parametrize("request_bytes", [b"CONNECT example.com:443 HTTP/1.1\r\n\r\n"])
def test_a_proxy_that_opens_no_tunnel_is_a_bad_gateway(answer: bytes, request_bytes: bytes) -> None:
    async def scenario() -> None:
        async with world(environment=_PROXY) as here:
            await _corporate(here, answer, [])

            refusal = await here.ask(request_bytes)

            assert refusal.startswith(b"HTTP/1.1 502 ")
            assert b"the proxy of the user's network opens no tunnel" in refusal
            assert _CREDENTIALS.encode() not in refusal
            assert b"p@ss" not in refusal

    asyncio.run(scenario())


def test_the_proxys_wish_for_a_password_is_not_passed_on() -> None:
    async def scenario() -> None:
        async with world(environment=_PROXY) as here:
            await _corporate(here, b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n", [])

            answer = await here.ask(b"GET http://example.com/ HTTP/1.1\r\n\r\n")

            assert answer.startswith(b"HTTP/1.1 502 ")
            assert b"Proxy-Authenticate" not in answer

    asyncio.run(scenario())


@pytest.mark.parametrize("names", [{}, {"proxy.corp.example": ("10.9.9.9",)}])
def test_a_proxy_that_does_not_answer_is_named_as_the_cause(names: dict[str, tuple[str, ...]]) -> None:
    async def scenario() -> None:
        async with world(environment=_PROXY) as here:
            here.internet.names.update(names)

            answer = await here.ask(b"CONNECT example.com:443 HTTP/1.1\r\n\r\n")

            assert b"the proxy of the user's network does not answer" in answer

    asyncio.run(scenario())


def test_a_proxy_that_is_not_supported_is_not_gone_around() -> None:
    async def scenario() -> None:
        async with world(environment={"ALL_PROXY": "socks5://127.0.0.1:9050"}) as here:
            await here.serve("example.com", Recorder())

            answer = await here.ask(b"GET http://example.com/ HTTP/1.1\r\n\r\n")

            assert b"the proxy in all_proxy is not supported" in answer
            assert here.internet.connected == []
            assert here.gate.problem is not None

    asyncio.run(scenario())


@pytest.mark.parametrize("proxy", ["127.0.0.1", "10.9.9.9"])
def test_a_proxy_on_this_machine_leads_no_name_back_to_it(proxy: str) -> None:
    async def scenario() -> None:
        async with world("on", environment=_PROXY) as here:
            server = Recorder()
            await here.serve("proxy.corp.example", server, port=3128, address=proxy)
            here.internet.names["me.example"] = ("93.184.216.35", "127.0.1.1")
            here.internet.names["other.example"] = ("93.184.216.35", "10.0.0.1")

            answer = await here.ask(b"GET http://me.example/ HTTP/1.1\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 403 ") is (proxy == "127.0.0.1")
            for name in (b"other.example", b"unknown.example"):
                for _ in range(2):
                    answer = await here.ask(b"GET http://%s/ HTTP/1.1\r\n\r\n" % name)
                    assert not answer.startswith(b"HTTP/1.1 403 ")
            assert here.internet.resolved.count("unknown.example") == (proxy == "127.0.0.1")

    asyncio.run(scenario())
