"""SOCKS5 proxies, against a small server of the protocol (RFC 1928, RFC 1929)."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from kaa.core.errors import NetworkError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from tests.support.patience import HANG_SECONDS

_LOGIN = b"\x01\x04user\x07pa:ss @"


_Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def _serving(handler: _Handler, identity: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server; gives its port. All its connections have ended afterwards."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=identity)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        if tasks:
            await asyncio.wait(tasks, timeout=HANG_SECONDS)


class _SocksProxy:
    """Connects every client to one server, whatever address it is asked for.

    Args:
        server: port of that server.
        wants_login: accept nobody without `user` and `pa:ss @`.
        refusal: answer to each wish to connect; 0 grants it.

    Attributes:
        wishes: the addresses asked for, as they came.
    """

    def __init__(self, server: int = 0, *, wants_login: bool = False, refusal: int = 0) -> None:
        self._server = server
        self._wants_login = wants_login
        self._refusal = refusal
        self.wishes: list[bytes] = []
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["_SocksProxy"]:
        async with _serving(self._serve) as self.port:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await self._is_let_in(reader, writer):
            await self._connect(reader, writer)

    async def _is_let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        version, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self._wants_login else 0
        method = wanted if version == 5 and wanted in methods else 0xFF
        writer.write(bytes((5, method)))
        if method == 2:
            is_right = await reader.readexactly(len(_LOGIN)) == _LOGIN
            writer.write(bytes((1, not is_right)))
            return is_right
        return method == 0

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, _, kind = await reader.readexactly(4)
        length = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        self.wishes.append(await reader.readexactly(length + 2))
        # The address it connects from is of each kind once, and comes in two pieces.
        bound = [b"\x01\x7f\0\0\1\0\x50", b"\x03\x05proxy\0\x50", b"\x04" + bytes(16) + b"\0\x50"]
        writer.write(bytes((5, self._refusal, 0)))
        await asyncio.sleep(0)
        writer.write(bound[len(self.wishes) % 3])
        if self._refusal:
            return
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", self._server)
        copies = [asyncio.create_task(_copy(reader, onward_writer)), asyncio.create_task(_copy(onward_reader, writer))]
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        onward_writer.transport.abort()
        writer.transport.abort()
        await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def _web_server(identity: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that answers every request with `hello`; gives its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

    async with _serving(serve, identity) as port:
        yield port


def _run(scenario: Callable[[LiveTransport], Awaitable[None]]) -> None:
    async def main() -> None:
        transport = LiveTransport()
        try:
            await asyncio.wait_for(scenario(transport), HANG_SECONDS)
        finally:
            await transport.close()

    asyncio.run(main())


async def _get(transport: LiveTransport, url: str) -> bytes:
    async with transport.send(HttpRequest("GET", url)) as response:
        return b"".join([piece async for piece in response.chunks()])


@pytest.fixture(autouse=True)
def _no_other_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("url", "wish"),
    [
        ("http://model.test/v1", b"model.test\0\x50"),
        ("http://192.0.2.7:8080/v1", b"\xc0\0\2\7\x1f\x90"),
        ("http://[2001:db8::1]/v1", b"\x20\x01\x0d\xb8" + bytes(11) + b"\1\0\x50"),
    ],
)
def test_a_plain_request_goes_through(monkeypatch: pytest.MonkeyPatch, url: str, wish: bytes) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async with _web_server() as server, _SocksProxy(server).running() as proxy:
            monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{proxy.port}")
            for _ in range(2):
                assert await _get(transport, url) == b"hello"
            await transport.close()
        assert proxy.wishes == [wish]  # the connection was used again

    _run(scenario)


def test_tls_goes_through_with_a_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    identity = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("model.test").configure_cert(identity)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))

    async def scenario(transport: LiveTransport) -> None:
        async with _web_server(identity) as server, _SocksProxy(server, wants_login=True).running() as proxy:
            monkeypatch.setenv("https_proxy", f"socks5h://user:pa%3Ass%20%40@127.0.0.1:{proxy.port}")
            assert await _get(transport, "https://model.test/v1") == b"hello"
            await transport.close()
        assert proxy.wishes == [b"model.test\x01\xbb"]

    _run(scenario)


def test_socks5_has_names_looked_up_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async with _web_server() as server, _SocksProxy(server).running() as proxy:
            monkeypatch.setenv("all_proxy", f"socks5://127.0.0.1:{proxy.port}")
            with pytest.raises(NetworkError, match=r"cannot connect to no-such-host\.invalid"):
                await _get(transport, "http://no-such-host.invalid/")
        assert proxy.wishes == []

    _run(scenario)


@pytest.mark.parametrize(
    ("proxy", "login", "complaint"),
    [
        (_SocksProxy(wants_login=True), "", "it requires a name and password"),
        (_SocksProxy(wants_login=True), "user:wrongpw@", "it refuses the name and password in its URL"),
        (_SocksProxy(refusal=2), "", "its rules do not allow the connection"),
        (_SocksProxy(refusal=77), "", "it answered: error 77"),
    ],
)
def test_a_proxy_that_refuses_says_why(
    monkeypatch: pytest.MonkeyPatch, proxy: _SocksProxy, login: str, complaint: str
) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async with proxy.running():
            monkeypatch.setenv("all_proxy", f"socks5h://{login}127.0.0.1:{proxy.port}")
            with pytest.raises(NetworkError, match=complaint) as caught:
                await _get(transport, "http://model.test/")
        assert "wrongpw" not in str(caught.value)

    _run(scenario)


def test_a_proxy_that_speaks_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await reader.read()

        async with _serving(serve) as port:
            monkeypatch.setenv("all_proxy", f"socks5h://127.0.0.1:{port}")
            with pytest.raises(NetworkError, match="it does not speak SOCKS5"):
                await _get(transport, "http://model.test/")

    _run(scenario)
