"""The network of this machine, as far as loopback shows it."""

import asyncio
import socket

import pytest

from kaa.workspace.network.internet import SystemInternet, UnreachableError, connect_first, resolve


def test_names_are_resolved_and_addresses_connected_to() -> None:
    async def scenario() -> None:
        internet = SystemInternet()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            assert "127.0.0.1" in await resolve(internet, "localhost")
            address, sock = await connect_first(internet, ["127.0.0.1"], listener.getsockname()[1])

            with sock:
                assert address == "127.0.0.1"
                assert not sock.getblocking()
                assert sock.getpeername() == listener.getsockname()

    asyncio.run(scenario())


def test_many_lookups_at_a_time_all_get_an_answer() -> None:
    async def scenario() -> None:
        internet = SystemInternet()

        found = await asyncio.gather(*(internet.resolve("localhost") for _ in range(50)))

        assert all("127.0.0.1" in addresses for addresses in found)

    asyncio.run(scenario())


def test_a_lookup_that_nobody_waits_for_any_more_gives_its_place_back() -> None:
    async def scenario() -> None:
        internet = SystemInternet()
        for _ in range(30):
            lookup = asyncio.create_task(internet.resolve("localhost"))
            await asyncio.sleep(0)
            lookup.cancel()

        assert "127.0.0.1" in await internet.resolve("localhost")

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["a" * 64, "bad..name", "1.2.3.4.5.6"])
def test_a_name_that_has_no_address_is_unreachable(name: str) -> None:
    async def scenario() -> None:
        with pytest.raises(UnreachableError, match="cannot be resolved"):
            await resolve(SystemInternet(), name)

    asyncio.run(scenario())


def test_the_next_address_is_tried_when_one_refuses() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]

            address, sock = await connect_first(SystemInternet(), ["127.0.0.2", "127.0.0.1"], port)

            sock.close()
            assert address == "127.0.0.1"

    asyncio.run(scenario())


def test_when_all_refuse_the_reason_is_told() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with pytest.raises(UnreachableError, match=f"port {port} .*[Rr]efused|failed"):
            await connect_first(SystemInternet(), ["127.0.0.1"], port)

    asyncio.run(scenario())
