"""The way out: resolving names and connecting to addresses, without ever blocking the event loop."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import Protocol

from kaa.workspace.network.destinations import in_brackets

_MAX_LOOKUPS = 8  # threads; each may hang for as long as the system's resolver does
_LOOKUP_SECONDS = 10.0
# An address that does not answer keeps us for the first limit while there are others, the last one for the second.
_NEXT_ADDRESS_SECONDS = 2.0
_CONNECT_SECONDS = 10.0
_MAX_ADDRESSES = 6


class UnreachableError(Exception):
    """A server cannot be reached; the message says why, and nothing secret."""


class Internet(Protocol):
    """What the gate needs of the outer network."""

    async def resolve(self, host: str) -> Sequence[str]:
        """The addresses of a name, best first.

        Raises:
            OSError: it has none.
        """

    async def connect(self, address: str, port: int) -> socket.socket:
        """A non-blocking socket, connected to an address (no name).

        Raises:
            OSError: nobody answers there.
        """


class SystemInternet:
    """The network of this machine.

    Lookups have threads of their own: a command that asks for many slow names must keep neither asyncio's threads, in
    which kaa does its own work, nor the end of the process.
    """

    def __init__(self) -> None:
        self._lookups = asyncio.Semaphore(_MAX_LOOKUPS)

    async def resolve(self, host: str) -> Sequence[str]:
        await self._lookups.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[str]] = loop.create_future()

        def conclude(addresses: Sequence[str], error: OSError | None) -> None:
            self._lookups.release()  # only now: a thread that nobody waits for any more still is one
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(addresses)

        def look_up() -> None:
            addresses: Sequence[str] = ()
            failure: OSError | None = None
            try:
                addresses = _look_up(host)
            except OSError as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(conclude, addresses, failure)

        threading.Thread(target=look_up, name="kaa-lookup", daemon=True).start()
        return await answer

    async def connect(self, address: str, port: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
        except BaseException:
            sock.close()
            raise
        return sock


async def resolve(internet: Internet, host: str) -> Sequence[str]:
    """The addresses of a name, within a time limit.

    Raises:
        UnreachableError: it has none.
    """
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            return (await internet.resolve(host))[:_MAX_ADDRESSES]
    except TimeoutError:
        raise UnreachableError(f"the name {host} was not resolved within {_LOOKUP_SECONDS:g} s") from None
    except OSError as error:
        raise UnreachableError(f"the name {host} cannot be resolved ({error.strerror or error})") from None


async def connect_first(internet: Internet, addresses: Sequence[str], port: int) -> tuple[str, socket.socket]:
    """Connect to the first address that answers.

    Returns:
        The address and the socket.

    Raises:
        UnreachableError: none does.
    """
    reason = "it has no address"
    for number, address in enumerate(addresses, 1):
        seconds = _CONNECT_SECONDS if number == len(addresses) else _NEXT_ADDRESS_SECONDS
        try:
            async with asyncio.timeout(seconds):
                return address, await internet.connect(address, port)
        except TimeoutError:
            reason = f"no answer within {seconds:g} s"
        except OSError as error:
            reason = error.strerror or str(error)
    raise UnreachableError(f"no connection to port {port} ({reason})")


def _look_up(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that the codec does not like
        raise OSError(f"{in_brackets(host)} is no valid name") from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
