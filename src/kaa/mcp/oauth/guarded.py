"""Requests to addresses that a server chose: none of them leads kaa into a network where the server itself is not."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from kaa.core.errors import AuthError
from kaa.host.addresses import AddressKind, kind_of
from kaa.llm.auth.oauth.config import is_confidential
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport, host_of

# Nobody else can have such a name (RFC 6762, RFC 8375, and what ICANN reserved in 2024).
_LOCAL_ENDINGS = (".localhost", ".local", ".lan", ".home.arpa", ".internal")
_PROOF_SECONDS = 10


class UnsafeAddressError(AuthError):
    """The server sends kaa where it must not go. Not a `LoginError`: no other address is tried instead."""


class GuardedTransport:
    """Sends requests only to addresses that are no more internal than all of those of the server that named them.

    A name can point elsewhere between this check and the connection. What it leads to then has to prove by TLS to be
    the named host, and gets no token. A server counts as internal only if it proves that likewise, by TLS at its
    internal address: whoever owns a name may have it lead to any address for a moment.

    Closing it leaves `transport` open, which others use too.

    Args:
        transport: to the network.
        server: the URL of the MCP server, which the user configured.
    """

    def __init__(self, transport: Transport, server: str) -> None:
        self._transport = transport
        self._server = server

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """See `Transport`.

        Raises:
            UnsafeAddressError: the address is not permitted.
        """
        await self.check(request.url)
        async with self._transport.send(request) as response:
            yield response

    async def close(self) -> None: ...

    async def check(self, url: str) -> None:
        """Check an address before anything is sent to it, by kaa or by the browser.

        Raises:
            UnsafeAddressError: the address is not permitted.
        """
        if not is_confidential(url):
            raise UnsafeAddressError(
                f"{host_of(self._server)} names {url[:200]!r} for its login: kaa uses only addresses that begin with "
                "https://"
            )
        kind = max(await _kinds(url), key=_by_nearness)
        if kind is AddressKind.PUBLIC or kind.value <= (await _proved_kind(self._server)).value:
            return
        where = "in a private network" if kind is AddressKind.PRIVATE else "on this machine or its local network"
        raise UnsafeAddressError(
            f"{host_of(self._server)} names {host_of(url)} for its login, which is {where}, where the server "
            "itself is not: kaa does not connect to it"
        )


def _by_nearness(kind: AddressKind) -> int:
    return kind.value


async def _kinds(url: str) -> Sequence[AddressKind]:
    """What the host of `url` leads to: a name may have several addresses, as whoever owns it likes.

    What has no address here is left to a proxy, or to fail.
    """
    return [kind for _, kind in await _addresses(url)] or [AddressKind.PUBLIC]


async def _addresses(url: str) -> Sequence[tuple[str, AddressKind]]:
    host = urlsplit(url).hostname or ""
    try:
        return [(host, kind_of(host))]
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [(str(place[0]), kind_of(str(place[0]))) for *_, place in found]


async def _proved_kind(url: str) -> AddressKind:
    """The kind of the least internal address of a server, if it really is there."""
    found = await _addresses(url)
    if not found:
        return AddressKind.PUBLIC
    address, kind = min(found, key=lambda one: one[1].value)
    host = urlsplit(url).hostname or ""
    is_local = host in (address, "localhost") or "." not in host or host.endswith(_LOCAL_ENDINGS)
    is_there = kind is AddressKind.PUBLIC or is_local or await _answers_for(url, address)
    return kind if is_there else AddressKind.PUBLIC


async def _answers_for(url: str, address: str) -> bool:
    """Whether what listens at an address proves by TLS to be the host of `url`."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return False
    from kaa.llm.http.tls import tls_context  # lazy: few logins lead to a private network

    try:
        async with asyncio.timeout(_PROOF_SECONDS):
            _, writer = await asyncio.open_connection(
                address, parts.port or 443, ssl=tls_context(None), server_hostname=parts.hostname
            )
            writer.close()
    except (OSError, TimeoutError):  # also what TLS refuses
        return False
    return True
