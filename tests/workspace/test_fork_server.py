"""The client of the fork-server: each answer reaches who asked for it, in whatever portions the answers come."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands import wire
from kaa.hands.policy import Policy
from kaa.workspace.fork_server import PolicyRefusedError
from kaa.workspace.hands import Hands
from kaa.workspace.launch import LaunchedHands
from kaa.workspace.protocol import WorkspaceUnavailableError

_UNCONFINED = Policy(tier="none", mode="full-access")


class _Peer:
    """The other end of the control socket, moved by the test; the process beside it only waits for its end."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        # Not this socket: what the process reads of it would be missing here.
        self._end, self._alive = os.pipe()
        self.process = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=self._end)
        self.launched = LaunchedHands(self.process, ours)
        self.socket.setblocking(False)
        self._connection = wire.FrameDecoder()
        self._held: list[socket.socket] = []

    async def requests(self, count: int) -> list[wire.Header]:
        """Wait for so many frames."""
        found: list[wire.Header] = []
        while len(found) < count:
            data = await asyncio.get_running_loop().sock_recv(self.socket, 65536)
            assert data, f"the client hung up after {len(found)} of {count} requests"
            self._connection.feed(data)
            while (frame := self._connection.next()) is not None:
                found.append(frame.header)
        return found

    def answer(self, *headers: wire.Header) -> None:
        """Send answers, all in one piece, each but a report with a socket."""
        ends = [socket.socketpair() for header in headers if "ready" not in header]
        data = b"".join(map(wire.encode, headers))
        wire.send_some(self.socket, data, [theirs.fileno() for theirs, _ in ends])
        for theirs, ours in ends:
            theirs.close()
            self._held.append(ours)

    def close(self) -> None:
        for end in (self.socket, *self._held):
            end.close()
        os.close(self._end)
        os.close(self._alive)


@pytest.fixture
def peer() -> Iterator[_Peer]:
    with contextlib.closing(_Peer()) as peer:
        yield peer


def _hands(project: Path, peer: _Peer) -> Hands:
    hands = Hands(str(project), "/", _UNCONFINED)
    hands.start(peer.launched)
    return hands


_READY: wire.Header = {"ready": {"tier": "none"}}


def test_answers_that_come_in_one_piece_reach_everybody_who_waits(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        report = asyncio.create_task(hands.report())
        taken = asyncio.create_task(hands.take("files"))
        sockets = [asyncio.create_task(hands.socket(socket.AF_INET)) for _ in range(2)]
        again = asyncio.create_task(hands.report())
        await peer.requests(4)  # the settings, the slot, two sockets

        peer.answer(_READY, {"slot": 7}, {"socket": True}, {"socket": True})

        async with asyncio.timeout(20):  # far less than the patience of the hands
            assert await report == await again
            slot, first, second = await taken, await sockets[0], await sockets[1]
        assert slot.pid == 7
        assert first is not second
        first.close()
        second.close()
        slot.close()
        peer.socket.close()
        await hands.close()

    asyncio.run(scenario())


def test_an_answer_read_on_the_way_to_another_slot_reaches_who_waits_for_it(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        report = asyncio.create_task(hands.report())
        await peer.requests(2)
        await asyncio.sleep(0)  # it waits

        peer.answer(_READY, {"slot": 7})
        slot = await hands.take("files")  # reads both before the loop sees that there is something to read

        async with asyncio.timeout(20):
            assert (await report).tier == "none"
        slot.close()
        peer.socket.close()
        await hands.close()

    asyncio.run(scenario())


def test_who_gives_up_waiting_leaves_the_slot_to_the_next(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        given_up = asyncio.create_task(hands.take("files"))
        await peer.requests(2)
        given_up.cancel()
        await asyncio.wait([given_up])

        next_one = asyncio.create_task(hands.take("files"))
        peer.answer(_READY, {"slot": 7})

        slot = await next_one
        assert slot.pid == 7
        slot.close()
        peer.socket.close()
        await hands.close()

    asyncio.run(scenario())


def test_a_request_that_fails_ends_nothing_else(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        first = asyncio.create_task(hands.take("files"))
        second = asyncio.create_task(hands.take("files"))
        await peer.requests(3)

        peer.answer(_READY)
        wire.send_some(peer.socket, wire.encode({"error": "cannot start a process: out of memory"}))
        peer.answer({"slot": 8})

        with pytest.raises(WorkspaceUnavailableError, match="out of memory"):
            await first
        slot = await second
        assert slot.pid == 8
        assert peer.process.poll() is None
        slot.close()
        peer.socket.close()
        await hands.close()

    asyncio.run(scenario())


def test_a_refused_policy_is_reported_to_everybody(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        waiting = [asyncio.create_task(hands.report()), asyncio.create_task(hands.take("files"))]
        await peer.requests(2)
        await asyncio.sleep(0)  # both wait

        wire.send_some(peer.socket, wire.encode({"failed": "no walls here"}))

        for one in waiting:
            with pytest.raises(PolicyRefusedError, match="no walls here"):
                await one
        await hands.close()

    asyncio.run(scenario())


def test_sockets_that_nobody_waits_for_any_more_are_closed(project: Path, peer: _Peer) -> None:
    async def scenario() -> None:
        hands = _hands(project, peer)
        given_up = asyncio.create_task(hands.socket(socket.AF_INET))
        await peer.requests(3)
        given_up.cancel()
        await asyncio.wait([given_up])
        before = len(os.listdir("/proc/self/fd"))

        peer.answer(_READY, {"slot": 7}, {"socket": True})
        slot = await hands.take("files")
        slot.close()

        assert len(os.listdir("/proc/self/fd")) - before == len(peer._held)
        peer.socket.close()
        await hands.close()

    asyncio.run(scenario())
