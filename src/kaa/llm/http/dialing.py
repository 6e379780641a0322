"""Connects a socket to the first address of a host that answers.

asyncio's own way (`happy_eyeballs_delay`) drops a connected socket if it is cancelled before it hands the socket over.
"""

import asyncio
import socket
from contextlib import suppress
from itertools import zip_longest
from typing import Any, Final, TypeAlias

_FALLBACK_DELAY_SECONDS: Final = 0.25  # RFC 8305: when IPv6 is slow to answer, IPv4 is tried beside it
_MAX_LABEL: Final = 64  # RFC 1035 (2.3.4): the parts of a name are shorter

# Family, type, protocol and address, as `getaddrinfo` has them.
_Address: TypeAlias = tuple[int, int, int, Any]  # any: addresses differ by family


async def dial(host: str, port: int) -> socket.socket:
    """A connected socket. If this is cancelled, no socket stays open.

    Raises:
        OSError: no address answers.
    """
    loop = asyncio.get_running_loop()
    waiting = await _addresses(host, port)
    attempts: list[asyncio.Task[socket.socket]] = []
    try:
        while True:
            if waiting:
                attempts.append(loop.create_task(_connected(waiting.pop(0))))
            if running := [attempt for attempt in attempts if not attempt.done()]:
                delay = _FALLBACK_DELAY_SECONDS if waiting else None
                await asyncio.wait(running, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
            errors = [attempt.exception() for attempt in attempts if attempt.done()]
            if None in errors:
                won = next(attempt for attempt in attempts if attempt.done() and attempt.exception() is None)
                attempts.remove(won)
                return won.result()
            if not waiting and len(errors) == len(attempts):
                raise _failure(errors)
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_discard)


async def _addresses(host: str, port: int) -> list[_Address]:
    """The addresses of a host, its families in turn."""
    # A text would load Python's tables for names in other scripts; what they refuse, it has to be.
    name = host.encode() if host.isascii() and max(map(len, host.split("."))) < _MAX_LABEL else host
    with suppress(socket.gaierror):  # an address needs no lookup, which would take a thread
        return _in_turn(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    return _in_turn(await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM))


def _in_turn(found: list[tuple[Any, Any, int, str, Any]]) -> list[_Address]:
    families: dict[int, list[_Address]] = {}
    for family, kind, protocol, _, address in found:
        families.setdefault(family, []).append((family, kind, protocol, address))
    return [address for turn in zip_longest(*families.values()) for address in turn if address is not None]


async def _connected(address: _Address) -> socket.socket:
    family, kind, protocol, place = address
    connecting = socket.socket(family, kind, protocol)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, place)
    except BaseException:
        connecting.close()
        raise
    return connecting


def _discard(attempt: asyncio.Task[socket.socket]) -> None:
    """Close the socket of an attempt that nobody needs."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


def _failure(errors: list[BaseException | None]) -> BaseException:
    """One error for those of all addresses."""
    found = {str(error): error for error in errors if error is not None}
    first = next(iter(found.values()))
    return first if len(found) == 1 else OSError(", ".join(found))
