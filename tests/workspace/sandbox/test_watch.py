"""The brain's end of the guard, with a guard that answers when the test has it answer."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from kaa.hands.connection import WireConnection
from kaa.hands.wire import Header
from kaa.workspace.blocked import Blocked
from kaa.workspace.channel import Channel
from kaa.workspace.hands import Hands
from kaa.workspace.sandbox.watch import GuardWatch
from kaa.workspace.slots import GuardLostError, Slot
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
        watch = GuardWatch(slot, "/project", lambda: (), lambda: None, deliver, lambda _: None)
        guard = _Guard(theirs)
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
        guard.answer(findings=[_FOUND], unchecked=["/project/.git/lfs"])

        try:
            while not told:
                assert await asyncio.wait_for(guard.asked(), HANG_SECONDS) == "news"
                guard.answer()
                await asyncio.sleep(0.01)
        finally:
            watch.close()

    with theirs:
        asyncio.run(scenario())
    assert [(one.kind, one.what) for one in told] == [("protected", "/project/.envrc"), ("unread", "/project/.git/lfs")]


def test_the_guard_is_asked_while_the_hands_hold_what_was_replaced() -> None:
    ours, theirs = socket.socketpair()
    guard_was_asked = asyncio.Event()

    class _Hands:
        async def hold(self) -> None:
            await guard_was_asked.wait()

    async def scenario() -> None:
        hands = cast("Hands", _Hands())
        watch = GuardWatch(
            Slot(0, Channel(ours, "The guard"), hands),
            "/project",
            lambda: (hands,),
            lambda: None,
            lambda _: None,
            lambda _: None,
        )
        guard = _Guard(theirs)
        beginning = asyncio.create_task(watch.begin("command", hands))
        assert await guard.asked() == "signs"
        guard.answer()
        await asyncio.sleep(0)
        assert not beginning.done()

        guard_was_asked.set()
        await beginning
        watch.close()

    with theirs:
        asyncio.run(asyncio.wait_for(scenario(), HANG_SECONDS))


def test_a_guard_that_is_late_is_named_with_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kaa.workspace.sandbox.watch._PATIENCE_SECONDS", 0.2)
    ours, theirs = socket.socketpair()

    async def scenario() -> None:
        slot = Slot(0, Channel(ours, "The guard"), cast("Hands", None))
        watch = GuardWatch(slot, "/project", lambda: (), lambda: None, lambda _: None, lambda _: None)
        guard = _Guard(theirs)
        guard.answer(busy="/project/.git")
        try:
            with pytest.raises(GuardLostError, match=r"too much to do at /project/\.git; stop"):
                await watch.begin("command", slot.hands)
            assert watch.busy_at == "/project/.git"
        finally:
            watch.close()

    with theirs:
        asyncio.run(scenario())
    assert "did not answer (it is at /project/.git). Stop" in Blocked("unchecked", "/project/.git").text
    assert "did not answer. Stop" in Blocked("unchecked").text


def test_what_a_file_had_when_it_was_moved_and_what_it_has_later_are_both_kept(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    told: list[Blocked] = []
    later: list[Blocked] = []

    def content(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    async def scenario() -> None:
        slot = Slot(0, Channel(ours, "The guard"), cast("Hands", None))
        watch = GuardWatch(slot, "/project", lambda: (), lambda: None, told.extend, later.append, str(tmp_path))
        guard = _Guard(theirs)
        beginning = asyncio.create_task(watch.begin("command", slot.hands))
        assert await guard.asked() == "signs"
        guard.answer(findings=[_FOUND | {"content": content("half")}, _FOUND | {"kept_as": "/project/.envrc.2"}])
        begun = await beginning

        ending = asyncio.create_task(watch.end(begun))
        assert await guard.asked() == "check"
        guard.answer(
            later=[
                _FOUND | {"content": content("half and half")},
                _FOUND | {"content": content("evil")},
                _FOUND | {"kept_as": "/project/.envrc.2", "content": content("whole")},
            ]
        )
        await ending
        watch.close()

    with theirs:
        asyncio.run(scenario())
    first, empty = told
    second, whole = later
    kept = {path.read_text() for path in tmp_path.iterdir()}
    assert kept == {"half", "half and half", "evil", "whole"}
    assert Path(first.with_later(second).saved).read_text() == "half"
    assert Path(first.with_later(second).later).read_text() == "half and half"
    assert second.with_later(first).later in first.with_later(second).text
    assert Path(empty.with_later(whole).saved).read_text() == "whole"
    assert empty.with_later(second) == empty
