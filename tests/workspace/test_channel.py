"""A channel that is closed leaves nothing of itself to whoever gets its number."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable

import pytest

from kaa.hands import wire
from kaa.workspace.channel import Channel
from tests.support.patience import HANG_SECONDS


@pytest.mark.parametrize("receive", [Channel.receive, Channel.receive_with_descriptors])
def test_a_socket_with_the_number_of_one_that_was_closed_while_it_was_read_is_heard(
    receive: Callable[[Channel], Awaitable[object]],
) -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        former, number = Channel(ours, "the former one"), ours.fileno()
        waiting = asyncio.ensure_future(receive(former))
        await asyncio.sleep(0)
        waiting.cancel()
        former.close()
        pairs = [socket.socketpair() for _ in range(3)]
        sock, other = next((a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a.fileno() == number)
        asyncio.get_running_loop().call_later(0.01, other.sendall, wire.encode({"a": 1}, b""))

        async with asyncio.timeout(HANG_SECONDS):  # the former task learns only meanwhile that it is cancelled
            await receive(Channel(sock, "the next one"))

        assert waiting.cancelled()
        for one in (theirs, *(end for pair in pairs for end in pair)):
            one.close()

    asyncio.run(scenario())


def test_what_nobody_waits_for_stays_in_the_socket_and_is_received_later() -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        channel = Channel(ours, "the other end")
        theirs.sendall(wire.encode({"a": 1}, b""))
        assert (await channel.receive()).header == {"a": 1}
        waiting = asyncio.ensure_future(channel.receive())
        await asyncio.sleep(0)
        waiting.cancel()
        sent, frame = 0, wire.encode({"a": 2}, b"")
        with contextlib.suppress(BlockingIOError):  # the socket is full
            while True:
                theirs.sendall(frame)
                sent += 1
                await asyncio.sleep(0)

        for _ in range(sent):
            assert (await channel.receive()).header == {"a": 2}
        channel.close()
        theirs.close()

    asyncio.run(asyncio.wait_for(scenario(), HANG_SECONDS))


def test_descriptors_that_nobody_wants_are_closed() -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        read, write = os.pipe()
        channel = Channel(ours, "the other end")
        wire.send_some(theirs, wire.encode({"a": 1}, b""), [write])
        os.close(write)

        await channel.receive()

        assert os.read(read, 1) == b""  # nobody has the other end
        os.close(read)
        channel.close()
        theirs.close()

    asyncio.run(scenario())


def test_it_can_be_closed_twice() -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        channel = Channel(ours, "the other end")
        for _ in range(2):
            channel.close()
        theirs.close()

    asyncio.run(scenario())
