"""TLS as the transport speaks it: to servers, to proxies, and through them; certificates are made on the spot."""

import asyncio
import contextlib
import os
import pty
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from kaa.core.errors import NetworkError
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from tests.support.patience import HANG_SECONDS

_BODY = b"data: word\n\n" * 100_000  # more than any buffer on the way

_Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(autouse=True)
def _trusting_environment(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


def _identity(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


class _Peer:
    """A server or a proxy on the loopback interface.

    Attributes:
        port: where it listens.
        connections: how many were made, those included whose handshake failed.
        heads: of all requests.
        handler: what to do with a connection.
    """

    def __init__(self, handler: _Handler | None = None) -> None:
        self.port = 0
        self.connections = 0
        self.heads: list[bytes] = []
        self.left = asyncio.Event()
        self._handler = handler or self._answer

    @asynccontextmanager
    async def running(self, identity: ssl.SSLContext | None) -> AsyncIterator["_Peer"]:
        tasks: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await self._handler(reader, writer)
            except (asyncio.IncompleteReadError, OSError):
                pass
            finally:
                self.left.set()
                writer.transport.abort()
                tasks.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=identity)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            if tasks:
                await asyncio.wait(tasks, timeout=HANG_SECONDS)

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        """The head of the next request."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        return head

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await self.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY))
            await writer.drain()


def _tunnel_to(server: _Peer) -> _Peer:
    """A proxy that connects to `server`, whatever host it is asked for."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await proxy.request(reader)
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\n")
        copies = [
            asyncio.create_task(_copy(reader, onward_writer)),
            asyncio.create_task(_copy(onward_reader, writer)),
        ]
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        onward_writer.transport.abort()
        writer.transport.abort()
        await asyncio.gather(*copies, return_exceptions=True)

    proxy = _Peer(handler)
    return proxy


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def _get(transport: LiveTransport, url: str) -> bytes:
    async with transport.send(HttpRequest("GET", url, (("x-api-key", "secret"),))) as response:
        assert response.status == 200
        return b"".join([piece async for piece in response.chunks()])


def _run(scenario: Callable[[LiveTransport], Awaitable[None]]) -> None:
    async def main() -> None:
        transport = LiveTransport()
        try:
            await asyncio.wait_for(scenario(transport), HANG_SECONDS)
        finally:
            await transport.close()

    asyncio.run(main())


def test_a_server_whose_authority_is_in_ssl_cert_file_is_trusted(authority: trustme.CA) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(_identity(authority, "127.0.0.1")) as server:
            for _ in range(3):
                assert await _get(transport, f"https://127.0.0.1:{server.port}/") == _BODY
            await transport.close()

            assert len(server.heads) == 3
            assert server.connections == 1

    _run(scenario)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="only openssl knows what files in SSL_CERT_DIR are called")
def test_a_server_whose_authority_is_in_ssl_cert_dir_is_trusted(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "authority.pem"
    asked = ["openssl", "x509", "-noout", "-subject_hash", "-in", str(known)]
    name = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    folder = tmp_path / "authorities"
    folder.mkdir()
    known.rename(folder / f"{name}.0")
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))

    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(_identity(authority, "127.0.0.1")) as server:
            assert await _get(transport, f"https://127.0.0.1:{server.port}/") == _BODY
            await transport.close()

    _run(scenario)


def _refusal(identity: ssl.SSLContext) -> NetworkError:
    """Why the transport does not speak to a server with this certificate."""
    caught: list[NetworkError] = []

    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(identity) as server:
            with pytest.raises(NetworkError) as info:
                await _get(transport, f"https://127.0.0.1:{server.port}/")
            assert server.heads == []
            caught.append(info.value)

    _run(scenario)
    return caught[0]


def test_a_certificate_nobody_trusts_is_refused_with_the_remedy() -> None:
    failure = _refusal(_identity(trustme.CA(), "127.0.0.1"))

    assert not failure.transient
    assert "the certificate is not trusted" in str(failure)
    assert "set SSL_CERT_FILE" in str(failure)


@pytest.mark.parametrize("name", ["127.0.0.2", "model.test"])
def test_a_certificate_for_another_name_is_refused(authority: trustme.CA, name: str) -> None:
    failure = _refusal(_identity(authority, name))

    assert not failure.transient
    assert "127.0.0.1" in str(failure)
    assert "check the base URL" in str(failure)
    assert "SSL_CERT_FILE" not in str(failure)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_tls_through_a_tunnel(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async def scenario(transport: LiveTransport) -> None:
        server = _Peer()
        proxy = _tunnel_to(server)
        proxy_identity = _identity(authority, "localhost") if scheme == "https" else None
        async with server.running(_identity(authority, "model.test")), proxy.running(proxy_identity):
            monkeypatch.setenv("https_proxy", f"{scheme}://user:pass@localhost:{proxy.port}")
            for _ in range(2):
                assert await _get(transport, "https://model.test/v1") == _BODY
            await transport.close()
            await server.left.wait()

        assert [head.split(b"\r\n")[0] for head in proxy.heads] == [b"CONNECT model.test:443 HTTP/1.1"]
        assert b"proxy-authorization: Basic dXNlcjpwYXNz" in proxy.heads[0]
        assert [head.split(b"\r\n")[0] for head in server.heads] == [b"GET /v1 HTTP/1.1"] * 2
        assert b"proxy-authorization" not in server.heads[0]
        assert b"secret" not in proxy.heads[0]

    _run(scenario)


_FORGED = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"


def test_what_comes_before_the_encryption_is_not_taken_for_the_servers_words(authority: trustme.CA) -> None:
    """Somebody on the way writes an answer in plain text first, and lets the real handshake through then."""

    async def scenario(transport: LiveTransport) -> None:
        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(_FORGED)
            await writer.start_tls(_identity(authority, "127.0.0.1"))
            await _Peer().request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nreal")
            await writer.drain()

        async with _Peer(handler).running(None) as server:
            with pytest.raises(NetworkError, match="cannot connect to"):
                await _get(transport, f"https://127.0.0.1:{server.port}/")

    _run(scenario)


def test_what_a_proxy_says_behind_its_consent_is_not_taken_for_the_servers_words(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await proxy.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(_FORGED)
            await writer.start_tls(_identity(authority, "model.test"))
            await proxy.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nreal")
            await writer.drain()

        proxy = _Peer(handler)
        async with proxy.running(None):
            monkeypatch.setenv("https_proxy", f"http://localhost:{proxy.port}")
            with contextlib.suppress(NetworkError):  # what must not happen is that the forged answer is taken
                assert await _get(transport, "https://model.test/") == b"real"

    _run(scenario)


def _with_client_certificate(folder: Path, authority: trustme.CA, *, password: bytes = b"") -> None:
    """Write a certificate and a key as a user would have them."""
    issued = authority.issue_cert("me@model.test")
    issued.cert_chain_pems[0].write_to_path(str(folder / "me.pem"))
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    (folder / "me.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))


def _demanding(authority: trustme.CA) -> ssl.SSLContext:
    """A server that answers nobody but those with a certificate."""
    context = _identity(authority, "127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    return context


@pytest.mark.parametrize("password", [b"", b"open sesame"])
def test_a_client_certificate_is_shown_to_a_server_that_asks_for_one(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: bytes
) -> None:
    _with_client_certificate(tmp_path, authority, password=password)
    monkeypatch.setenv("KAA_CLIENT_CERT", str(tmp_path / "me.pem"))
    monkeypatch.setenv("KAA_CLIENT_KEY", str(tmp_path / "me.key"))
    monkeypatch.setenv("KAA_CLIENT_KEY_PASSWORD", password.decode())

    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(_demanding(authority)) as server:
            assert await _get(transport, f"https://127.0.0.1:{server.port}/") == _BODY
            await transport.close()

    _run(scenario)


def test_a_server_that_asks_for_a_client_certificate_in_vain(authority: trustme.CA) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        """Not with asyncio, which closes the connection without saying why."""
        connection, _ = listener.accept()
        demanding = _demanding(authority)
        with demanding.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as encrypted:
            with contextlib.suppress(ssl.SSLError):
                encrypted.do_handshake()
            while socket.socket.recv(encrypted, 65536):  # else the system resets the connection, and the reason is lost
                pass

    async def scenario(transport: LiveTransport) -> None:
        refusing = asyncio.create_task(asyncio.to_thread(refuse))
        with pytest.raises(NetworkError, match="name one in KAA_CLIENT_CERT"):
            await _get(transport, f"https://127.0.0.1:{listener.getsockname()[1]}/")
        await refusing

    with listener:
        _run(scenario)


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_client_certificate_that_cannot_be_used(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    _with_client_certificate(tmp_path, authority, password=b"open sesame")
    monkeypatch.setenv("KAA_CLIENT_CERT", str(tmp_path / "me.pem"))
    monkeypatch.setenv("KAA_CLIENT_KEY", str(tmp_path / "me.key"))
    monkeypatch.setenv("KAA_CLIENT_KEY_PASSWORD", password)

    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(_identity(authority, "127.0.0.1")) as server:
            with pytest.raises(
                NetworkError, match=r"me\.pem cannot be used \(its key is encrypted, and .*check KAA_CLIENT_CERT"
            ) as caught:
                await _get(transport, f"https://127.0.0.1:{server.port}/")
            assert not caught.value.transient

    _run(scenario)


_AT_A_TERMINAL = """
import os, sys
os.close(os.open(sys.argv[1], os.O_RDWR))  # of the first process of a session: now its controlling terminal
from kaa.llm.http.network_variables import ClientCertificate
from kaa.llm.http.tls import CertificateError, tls_context
os.close(os.open("/dev/tty", os.O_RDWR))
try:
    tls_context(ClientCertificate(*sys.argv[2:]))
except CertificateError:
    print("refused")
"""


@pytest.mark.parametrize("password", ["", "wrong"])
def test_no_password_is_asked_for_at_the_terminal(authority: trustme.CA, tmp_path: Path, password: str) -> None:
    _with_client_certificate(tmp_path, authority, password=b"open sesame")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"open sesame\n")  # what the user would answer
        certificate = [str(tmp_path / "me.pem"), str(tmp_path / "me.key"), password]
        argv = [sys.executable, "-c", _AT_A_TERMINAL, os.ttyname(theirs), *certificate]
        said = subprocess.run(argv, capture_output=True, check=False, start_new_session=True)
    finally:
        os.close(ours)
        os.close(theirs)

    assert (said.stdout, said.stderr) == (b"refused\n", b"")


def test_a_plain_request_through_an_encrypted_proxy(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(transport: LiveTransport) -> None:
        async with _Peer().running(_identity(authority, "localhost")) as proxy:
            monkeypatch.setenv("http_proxy", f"https://localhost:{proxy.port}")
            assert await _get(transport, "http://model.test/v1") == _BODY
            await transport.close()

        assert proxy.heads[0].startswith(b"GET http://model.test/v1 HTTP/1.1\r\nhost: model.test\r\n")

    _run(scenario)


@pytest.mark.parametrize("trusted_proxy", [True, False])
def test_a_tunnel_vouches_for_nobody(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, trusted_proxy: bool
) -> None:
    stranger = trustme.CA()

    async def scenario(transport: LiveTransport) -> None:
        server = _Peer()
        proxy = _tunnel_to(server)
        proxy_identity = _identity(authority if trusted_proxy else stranger, "localhost")
        async with server.running(_identity(stranger, "model.test")), proxy.running(proxy_identity):
            monkeypatch.setenv("https_proxy", f"https://localhost:{proxy.port}")
            with pytest.raises(NetworkError, match=r"model\.test through the proxy localhost.*not trusted") as info:
                await _get(transport, "https://model.test/v1")

        assert not info.value.transient
        assert len(proxy.heads) == trusted_proxy
        assert server.heads == []

    _run(scenario)


@pytest.mark.parametrize("through_tunnel", [False, True])
def test_cancelling_before_the_answer_closes_an_encrypted_connection(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, through_tunnel: bool
) -> None:
    asked = asyncio.Event()

    async def thinks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        asked.set()
        await reader.read(1)

    server = _Peer(thinks)

    async def scenario(transport: LiveTransport) -> None:
        proxy = _tunnel_to(server)
        async with server.running(_identity(authority, "model.test", "127.0.0.1")), proxy.running(None):
            url = f"https://127.0.0.1:{server.port}/"
            if through_tunnel:
                monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
                url = "https://model.test/"
            task = asyncio.create_task(_get(transport, url))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.left.wait()

    _run(scenario)


def test_an_encrypted_answer_cut_short_is_an_error(authority: trustme.CA) -> None:
    async def cuts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        await writer.drain()

    server = _Peer(cuts)

    async def scenario(transport: LiveTransport) -> None:
        async with server.running(_identity(authority, "127.0.0.1")):
            with pytest.raises(NetworkError, match=r"the connection to 127\.0\.0\.1:\d+ broke"):
                await _get(transport, f"https://127.0.0.1:{server.port}/")

    _run(scenario)
