"""The variables that commands get, tried with the programs that read them."""

import asyncio
import os
import shutil
import sys

import pytest

from kaa.workspace.network.environment import proxy_environment
from tests.workspace.network.world import Peer, Recorder, World, world

_FETCH = "import urllib.request; print(urllib.request.urlopen('http://example.com/').read().decode())"
_FETCH_TLS = "import urllib.request; urllib.request.urlopen('https://example.com/')"


async def _run(here: World, *argv: str) -> str:
    """What a command prints."""
    # What the user has set must not win.
    inherited = {"PATH": os.environ["PATH"], "ALL_PROXY": "socks5://127.0.0.1:1", "no_proxy": "example.com"}
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**inherited, **proxy_environment(here.port)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode()


def test_loopback_is_reached_directly() -> None:
    environment = proxy_environment(8080)

    assert environment["NO_PROXY"] == environment["no_proxy"] == "localhost,127.0.0.1,::1"
    assert {environment[name] for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY")} == {"http://127.0.0.1:8080"}


def test_python_goes_through_the_proxy_and_shows_what_blocked_it() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.serve("example.com", Recorder())

            assert await _run(here, sys.executable, "-I", "-c", _FETCH) == "hi\n"
            here.gate.set_state(type(here.gate.state)())
            assert "Blocked by the kaa sandbox" in await _run(here, sys.executable, "-I", "-c", _FETCH_TLS)

    asyncio.run(scenario())


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("options", [(), ("--http1.0",), ("-T", "/dev/null"), ("-d", "a=b"), ("-p",)])
def test_curl_goes_through_the_proxy(options: tuple[str, ...]) -> None:
    async def scenario() -> None:
        async def serve(peer: Peer) -> None:
            await peer.head()
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n")

        async with world() as here:
            await here.serve("example.com", serve)

            assert await _run(here, "curl", "-sS", *options, "http://example.com/") == "hi\n"

    asyncio.run(scenario())


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_goes_through_socks() -> None:
    async def scenario() -> None:
        async with world("example.com") as here:
            await here.serve("example.com", Recorder())
            socks = f"127.0.0.1:{here.port}"

            allowed = await _run(
                here, "curl", "-sS", "--noproxy", "", "--socks5-hostname", socks, "http://example.com/"
            )
            blocked = await _run(here, "curl", "-sS", "--noproxy", "", "--socks5-hostname", socks, "http://a.example/")

            assert allowed == "hi"
            assert "SOCKS5" in blocked
            assert here.internet.resolved == ["example.com"]

    asyncio.run(scenario())
