"""The brain's end of the guard, with a guard that answers when the test has it answer."""

import asyncio
import contextlib
import socket
from collections.abc import Iterable
from typing import cast

from kaa.hands.connection import WireConnection
from kaa.hands.wire import Header
from kaa.workspace.blocked import Blocked
from kaa.workspace.channel import Channel
from kaa.workspace.hands import Hands
from kaa.workspace.sandbox.watch import GuardWatch
from kaa.workspace.slots import Slot
from tests.support.patience import HANG_SECONDS

_FOUND = {"path": "/project/.envrc", "kept_as": "/project/.envrc.kaa-blocked", "why": "", "kind": "protected"}


class _Guard:
    """The other end."""

    def __init__(self, theirs: socket.socket) -> None:
        self._connection = WireConnection(theirs)

    async def asked(self) -> object:
        """What it is asked next."""
        frame = await asyncio.to_thread(self._connection.receive)
        assert frame is not None
        return frame.header["op"]

    def answer(self, **fields: object) -> None:
        header: Header = dict(fields)
        self._connection.send(header)


def test_what_an_answer_tells_that_nobody_waits_for_any_more_is_told_all_the_same() -> None:
    ours, theirs = socket.socketpair()
    told: list[Blocked] = []

    def deliver(found: Iterable[Blocked]) -> None:
        told.extend(found)

    async def scenario() -> None:
        slot = Slot(0, Channel(ours, "The guard"), cast("Hands", None))
        watch, guard = GuardWatch(slot, "/project", lambda: (), lambda: None, deliver), _Guard(theirs)
        begun = []
        for question in ("signs", "check"):  # a background process and something else
            beginning = asyncio.create_task(watch.begin("command", slot.hands))
            assert await guard.asked() == question
            guard.answer()
            begun.append(await beginning)

        ending = asyncio.create_task(watch.end(begun[0]))
        assert await guard.asked() == "check"
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ending
        guard.answer(findings=[_FOUND])

        try:
            while not told:
                assert await asyncio.wait_for(guard.asked(), HANG_SECONDS) == "news"
                guard.answer()
                await asyncio.sleep(0.01)
        finally:
            watch.close()

    with theirs:
        asyncio.run(scenario())
    assert [one.what for one in told] == ["/project/.envrc"]
