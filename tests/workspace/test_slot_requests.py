"""A slot that comes when nobody wants it any more is let go."""

import asyncio
import socket
from typing import cast

import pytest

from kaa.workspace.channel import Channel
from kaa.workspace.hands import Hands
from kaa.workspace.protocol import WorkspaceUnavailableError
from kaa.workspace.slots import Slot, SlotKind, SlotRequests, Slots


class LateSlots:
    """Gives one slot, when it is let."""

    def __init__(self, slot: Slot) -> None:
        self.come = asyncio.Event()
        self._slot = slot

    async def take(self, kind: SlotKind) -> Slot:
        await self.come.wait()
        return self._slot


def test_one_that_comes_after_the_end_is_closed() -> None:
    async def scene() -> None:
        ours, its = socket.socketpair()
        with its:
            slots = LateSlots(Slot(0, Channel(ours, "It"), cast("Hands", None)))
            requests = SlotRequests(cast("Slots", slots), "files")
            asked = asyncio.create_task(requests.call("a", {"op": "stat"}))
            await asyncio.sleep(0)
            requests.close()
            slots.come.set()
            with pytest.raises(WorkspaceUnavailableError, match="closed"):
                await asked
            assert its.recv(1) == b""

    asyncio.run(scene())
