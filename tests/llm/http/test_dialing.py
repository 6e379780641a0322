"""Connecting: the first address that answers, and no socket that stays open."""

import asyncio
import os
import socket
from itertools import count

import pytest

from kaa.llm.http.connections import HttpConnection
from tests.support.agents import run
from tests.test_import_budget import modules_after


def _sockets() -> int:
    """How many sockets this process has open."""
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(os.path.lexists(link) and os.readlink(link).startswith("socket:") for link in links)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to count open sockets")
def test_a_connection_that_is_cancelled_at_any_moment_leaves_no_socket_open() -> None:
    async def scenario() -> int:
        with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
            port = server.getsockname()[1]
            before = _sockets()
            for steps in count():
                connecting = asyncio.ensure_future(HttpConnection.to("127.0.0.1", port))
                for _ in range(steps):
                    await asyncio.sleep(0)
                if connecting.done():
                    connecting.result().close()
                    return steps
                connecting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await connecting
                await asyncio.sleep(0)  # a transport closes its socket in the next round of the loop
                assert _sockets() == before, f"cancelled after {steps} rounds of the loop"
        raise AssertionError("unreachable")

    assert run(scenario()) > 2


def test_the_next_address_is_tried_when_one_refuses() -> None:
    async def scenario() -> str:
        with socket.create_server(("127.0.0.1", 0)) as server:
            connection = await HttpConnection.to("localhost", server.getsockname()[1])  # ::1 refuses, where it exists
            address, _ = server.accept()
            with address:
                connection.close()
                return str(address.getsockname()[0])

    assert run(scenario()) == "127.0.0.1"


def test_a_server_that_refuses_is_an_error_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(ConnectionRefusedError):
        run(HttpConnection.to("127.0.0.1", port))


def test_an_ascii_name_is_looked_up_without_the_tables_for_other_scripts() -> None:
    dialing = "import asyncio; from kaa.llm.http.connections import dial"
    refused = "try: asyncio.run(dial('127.0.0.1', 1))\nexcept OSError: pass"

    assert "encodings.idna" not in modules_after(f"{dialing}\n{refused}")
