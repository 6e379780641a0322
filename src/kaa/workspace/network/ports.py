"""Ports between a sandbox and the user's machine: servers inside, those that can be reached from outside, services.

Nothing looks at the sandbox while it is idle: `look` is called when a command ends and, for a while, after one was
started in the background.
"""

import asyncio
import glob
import os
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec

from kaa.host.regular_files import beginning_of
from kaa.workspace.network.forwarding import Forward, ForwardError, PortForwards
from kaa.workspace.network.host_services import HostServices, MakeSocket

# A command may listen on thousands of ports: the user is to hear of the first ones, and the machine to have some left.
_MOST_INTRODUCED = 5
_MOST_OPENED = 20
_MOST_BYTES = 1024 * 1024
_NAMED = re.compile(rb"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{1,5})\b|allbackPort\"\s*:\s*(\d{1,5})\b")

Inside: TypeAlias = Callable[[], Awaitable[Collection[int]]]


class PortsReport(msgspec.Struct, frozen=True):
    """What leads where at the moment.

    Attributes:
        listening: ports on which commands listen inside.
        forwards: those of them, or others, that can be reached from the user's machine.
        admitted: services of the user's machine that commands can reach: ports, and paths of sockets.
    """

    listening: tuple[int, ...]
    forwards: tuple[Forward, ...]
    admitted: tuple[str, ...]


class Ports:
    """The ports of one sandbox.

    Args:
        listening: the ports on which commands, kaa's proxy or admitted services listen inside.
        opens: says whether each server is forwarded at the same number as soon as it is seen.
        private: kaa's own directories: no port of this machine that is named there is opened without a word.
    """

    def __init__(
        self, make_socket: MakeSocket, listening: Inside, opens: Callable[[], bool], private: Sequence[str] = ()
    ) -> None:
        self.forwards = PortForwards(make_socket)
        self.services = HostServices(make_socket)
        self._listening = listening
        self._opens = opens
        self._private = private
        self._noted: set[int] = set()
        self._ended: set[int] = set()  # ports of servers that were seen and are gone
        self._looking = asyncio.Lock()

    async def report(self) -> PortsReport:
        return PortsReport(tuple(sorted(await self._servers())), self.forwards.active, self.services.admitted)

    async def look(self) -> tuple[str, ...]:
        """What to tell the user of servers that were not seen before: how to reach each, in a sentence.

        Whoever looks while somebody else does waits for that: afterwards the servers seen by either can be reached.
        """
        async with self._looking:
            servers = await self._servers()
            forwarded = {forward.sandbox_port for forward in self.forwards.active}
            unknown = sorted(servers - self._noted - forwarded)
            told = [await self._introduce(port) for port in unknown[:_MOST_INTRODUCED]]
            if more := len(unknown[_MOST_INTRODUCED:]):
                told.append(f"Commands listen on {more} more ports of the sandbox: /ports lists all.")
            self._ended = (self._ended | self._noted) - servers
            self._noted = servers  # one that was stopped and started again is news
            return tuple(told)

    @property
    def served(self) -> tuple[int, ...]:
        """Ports of the user's machine that lead into the sandbox, without those whose server has ended."""
        return tuple(one.host_port for one in self.forwards.active if one.sandbox_port not in self._ended)

    async def close(self, name: str) -> bool:
        closed = [forward for forward in self.forwards.active if name in map(str, forward)]
        for forward in closed:
            await self.forwards.close(forward)
        admitted = name in self.services.admitted
        await self.services.close(name)
        return bool(closed) or admitted

    async def close_all(self) -> None:
        await self.forwards.close_all()
        await self.services.close_all()

    async def _servers(self) -> set[int]:
        return set(await self._listening()) - {int(name) for name in self.services.admitted if name.isdecimal()}

    async def _introduce(self, port: int) -> str:
        if self._opens() and len(self.forwards.active) < _MOST_OPENED:
            if port in await asyncio.to_thread(_named_ports, self._private):
                return (
                    f"A command listens on port {port} of the sandbox. kaa does not open it by itself: your own"
                    f" configuration names this port of your machine. (/forward {port} NUMBER opens it as another one.)"
                )
            try:
                forward = await self.forwards.open(port, port)
            except ForwardError as error:
                return (
                    f"A command listens on port {port} of the sandbox. {error} (/forward {port} chooses another port.)"
                )
            return f"Port {port} of the sandbox is open at {forward.url} (/ports close {port} closes it)."
        return f"A command listens on port {port} of the sandbox: /forward {port} opens it on this machine."


def _named_ports(folders: Sequence[str]) -> set[int]:
    """Ports of this machine that the user's configuration names: kaa sends keys and questions to what listens there."""
    found: set[int] = set()
    for file in (file for folder in folders for file in glob.glob(os.path.join(glob.escape(folder), "*.json"))):
        with suppress(OSError):
            found |= {int(one or other) for one, other in _NAMED.findall(beginning_of(file, _MOST_BYTES))}
    return found
