"""What a server prints while its first start takes long reaches whoever waits for it."""

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from kaa.builtin.mcp.host import ServerUnavailableError
from kaa.ext.asking import NOBODY, Asker
from kaa.shell.mcp.following import followed
from tests.support.agents import run

if TYPE_CHECKING:
    from kaa.shell.mcp.server import Server


class SlowServer:
    """It starts when it is told to; or does not."""

    name = "files"

    def __init__(self, failure: str = "") -> None:
        self.log = ["Downloading cryptography"]
        self.may_start = asyncio.Event()
        self.was_cancelled = False
        self._failure = failure

    async def started(self, asker: Asker) -> str:
        try:
            await self.may_start.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self._failure:
            raise ServerUnavailableError(self._failure)
        return "client"


async def follow(server: SlowServer, told: list[str]) -> object:
    """Let it start when something new was told twice."""

    def tell(said: str) -> None:
        told.append(said.partition("\n")[2])
        server.log.append("Installed 32 packages") if len(told) == 1 else server.may_start.set()

    return await followed(cast("Server", server), tell, NOBODY, quiet_seconds=0)


def test_lines_are_told_once_each_until_it_has_started() -> None:
    told: list[str] = []

    async def scenario() -> object:
        return await follow(SlowServer(), told)

    assert run(scenario()) == "client"
    assert told[:2] == ["  Downloading cryptography\n", "  Installed 32 packages\n"]


def test_a_failure_is_raised() -> None:
    async def scenario() -> object:
        return await follow(SlowServer("no such package"), [])

    with pytest.raises(ServerUnavailableError, match="no such package"):
        run(scenario())


def test_who_stops_waiting_stops_the_start() -> None:
    async def scenario() -> SlowServer:
        server = SlowServer()
        following = asyncio.ensure_future(followed(cast("Server", server), lambda _: None, NOBODY))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.wait({following})
        return server

    assert run(scenario()).was_cancelled
