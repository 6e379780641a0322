"""What is told of servers inside and what is opened by itself. Here the inside is this machine as well."""

import asyncio
import json
import socket
from collections.abc import Collection
from pathlib import Path

from kaa.workspace.network.ports import Ports


def test_whoever_looks_while_somebody_else_does_finds_the_server_opened() -> None:
    """A command that ends may not run ahead of the look that was begun beside it."""
    reached, admitted = asyncio.Event(), asyncio.Event()

    async def inside(family: int) -> socket.socket:
        reached.set()
        await admitted.wait()
        return socket.socket(family, socket.SOCK_STREAM)

    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = int(server.getsockname()[1])

            async def listening() -> Collection[int]:
                return {port}

            # The number is taken on this machine, by the server itself: what is told is that.
            ports = Ports(inside, listening, lambda: True)
            first = asyncio.create_task(ports.look())
            await reached.wait()
            second = asyncio.create_task(ports.look())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not second.done()

            admitted.set()
            told = await first
            assert len(told) == 1
            assert str(port) in told[0]
            assert await second == ()
            await ports.close_all()

    asyncio.run(scenario())


def test_of_many_servers_five_are_told_of_and_the_others_counted() -> None:
    async def inside(family: int) -> socket.socket:
        return socket.socket(family, socket.SOCK_STREAM)

    async def listening() -> Collection[int]:
        return range(40_000, 40_030)

    async def scenario() -> tuple[str, ...]:
        ports = Ports(inside, listening, lambda: False)
        told = await ports.look()
        assert await ports.look() == ()
        await ports.close_all()
        return told

    told = asyncio.run(scenario())

    assert len(told) == 6
    assert all(str(40_000 + number) in text for number, text in enumerate(told[:5]))
    assert told[-1] == "Commands listen on 25 more ports of the sandbox: /ports lists all."


def test_a_port_that_the_users_configuration_names_is_not_opened_by_itself(tmp_path: Path) -> None:
    async def inside(family: int) -> socket.socket:
        return socket.socket(family, socket.SOCK_STREAM)

    async def scenario(port: int) -> tuple[str, ...]:
        async def listening() -> Collection[int]:
            return {port}

        ports = Ports(inside, listening, lambda: True, (str(tmp_path),))
        told = await ports.look()
        assert ports.forwards.active == ()
        await ports.close_all()
        return told

    urls = ("http://127.0.0.1:40001/mcp", "http://localhost:40002", "http://[::1]:40003/v1")
    (tmp_path / "mcp.json").write_text(json.dumps({"urls": urls, "oauth": {"callbackPort": 40_004}}))

    for port in (40_001, 40_002, 40_003, 40_004):
        [told] = asyncio.run(scenario(port))
        assert "your own configuration names this port" in told
    [told] = asyncio.run(scenario(40_005))
    assert "names this port" not in told
