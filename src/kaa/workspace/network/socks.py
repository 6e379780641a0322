"""SOCKS5 (RFC 1928) on the port of the HTTP proxy, for what speaks no HTTP, as SSH does.

Its CONNECT only, and no authentication.
"""

import asyncio
import socket
from enum import IntEnum
from typing import Final

from kaa.workspace.network.destinations import Destination, HostError, canonical_host
from kaa.workspace.network.internet import UnreachableError
from kaa.workspace.network.limits import ProxyLimits
from kaa.workspace.network.reach import ConnectTo, DestinationRefusedError
from kaa.workspace.network.streams import EndOfStreamError, Stream, splice

VERSION: Final = 5
_NO_AUTHENTICATION: Final = 0
_NO_ACCEPTABLE_METHOD: Final = 0xFF
_CONNECT: Final = 1

_SUCCEEDED: Final = 0
_GENERAL_FAILURE: Final = 1
_NOT_ALLOWED: Final = 2
_HOST_UNREACHABLE: Final = 4
_COMMAND_NOT_SUPPORTED: Final = 7
_ADDRESS_NOT_SUPPORTED: Final = 8


class _AddressType(IntEnum):
    IPV4 = 1
    NAME = 3
    IPV6 = 4


class _FailureError(Exception):
    """What the client is to be told: a code, for SOCKS has no words."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def serve_socks(client: Stream, reach: ConnectTo, limits: ProxyLimits) -> None:
    """Serve a client that speaks SOCKS5. What does not keep to the protocol is hung up on.

    Raises:
        OSError: one of the connections broke, or no request came in time.
    """
    try:
        async with asyncio.timeout(limits.head_seconds):
            await _agree_on_method(client)
            destination = await _receive_request(client)
        server = await reach(destination, tunnel=True)
    except _FailureError as failure:
        await _answer(client, failure.code)
    except DestinationRefusedError:
        await _answer(client, _NOT_ALLOWED)
    except UnreachableError:
        await _answer(client, _HOST_UNREACHABLE)
    else:
        await _answer(client, _SUCCEEDED)
        await splice(client, server.stream)


async def _agree_on_method(client: Stream) -> None:
    version, count = await client.exactly(2)
    methods = await client.exactly(count)
    if version != VERSION or _NO_AUTHENTICATION not in methods:
        await client.send(bytes((VERSION, _NO_ACCEPTABLE_METHOD)))
        raise EndOfStreamError("the client wants to authenticate")
    await client.send(bytes((VERSION, _NO_AUTHENTICATION)))


async def _receive_request(client: Stream) -> Destination:
    version, command, _reserved, kind = await client.exactly(4)
    if version != VERSION:
        raise _FailureError(_GENERAL_FAILURE)
    host = await _receive_host(client, kind)
    port = int.from_bytes(await client.exactly(2), "big")
    if command != _CONNECT:
        raise _FailureError(_COMMAND_NOT_SUPPORTED)
    if not port:
        raise _FailureError(_GENERAL_FAILURE)
    try:
        return Destination(canonical_host(host), port)
    except HostError:
        raise _FailureError(_GENERAL_FAILURE) from None


async def _receive_host(client: Stream, kind: int) -> str:
    match kind:
        case _AddressType.IPV4:
            return socket.inet_ntop(socket.AF_INET, await client.exactly(4))
        case _AddressType.IPV6:
            return socket.inet_ntop(socket.AF_INET6, await client.exactly(16))
        case _AddressType.NAME:
            (length,) = await client.exactly(1)
            return (await client.exactly(length)).decode("latin-1")
        case _:
            raise _FailureError(_ADDRESS_NOT_SUPPORTED)


async def _answer(client: Stream, code: int) -> None:
    bound = (
        0,
        _AddressType.IPV4,
        0,
        0,
        0,
        0,
        0,
        0,
    )  # reserved, and the address that we connected from, which is nobody's business
    await client.send(bytes((VERSION, code, *bound)))
