"""Somebody is asked before the first checkpoint copies much."""

import asyncio
import gc
import threading

import pytest

from kaa.workspace.checkpoints.contract import CheckpointLimits, CheckpointsDeclinedError
from kaa.workspace.checkpoints.store import CheckpointStore
from tests.support.patience import HANG_SECONDS
from tests.workspace.checkpoints.conftest import Play, Turns

_KILOBYTE = 1024
# Three MiB that are covered, and as much that is not.
_FILES = {
    **{f"d{number}/f": f"{number}".ljust(32 * _KILOBYTE) for number in range(96)},
    **{f"node_modules/{number}": f"{number}".ljust(32 * _KILOBYTE) for number in range(96)},
    **{f"ignored/{number}": f"{number}".ljust(32 * _KILOBYTE) for number in range(96)},
    ".gitignore": "ignored/\n",
}
_COVERED = [(97, 96 * 32 * _KILOBYTE + len("ignored/\n"))]


def test_a_yes_covers_everything_and_the_next_session_asks_nothing(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("echo x > d0/f; rm -r d1")
        assert turns.asked == _COVERED
        await turns.undo(change_set)
        assert (turns.root / "d1" / "f").read_text() == _FILES["d1/f"]

        turns.session("two")
        await turns.changed("echo x > d0/f")
        assert turns.asked == _COVERED

    play(scene, _FILES, limits=CheckpointLimits(announce_megabytes=2))


def test_a_no_holds_for_the_session_and_leaves_no_copy(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        turns.permits = False
        for path in (None, None, "d0/f"):
            with pytest.raises(CheckpointsDeclinedError, match="would copy 3 MB"):
                await turns.checkpoints.ready(path)
        assert turns.asked == _COVERED
        assert not list((turns.store / "packs").iterdir())

        turns.permits = True
        turns.session("two")
        await turns.changed("echo x > d0/f")
        assert turns.asked == _COVERED * 2

    play(scene, _FILES, limits=CheckpointLimits(announce_megabytes=2))


@pytest.mark.parametrize("announce", [0, 4])
def test_less_than_that_is_not_asked_about(play: Play, announce: int) -> None:
    async def scene(turns: Turns) -> None:
        turns.permits = False
        await turns.changed("echo x > d0/f")
        assert turns.asked == []

    play(scene, _FILES, limits=CheckpointLimits(announce_megabytes=announce))


def test_who_is_asked_may_take_the_time_and_the_project_may_be_closed_meanwhile(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        asked = asyncio.Event()

        async def permit(files: int, size: int) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return True

        checkpoints = turns.workspace.checkpoints(str(turns.store), "three", turns.limits, permit)
        waiting = asyncio.ensure_future(checkpoints.ready())
        await asyncio.wait_for(asked.wait(), HANG_SECONDS)
        await checkpoints.close()
        with pytest.raises((OSError, asyncio.CancelledError)):
            await waiting

    play(scene, _FILES, limits=CheckpointLimits(announce_megabytes=2))


def test_closed_while_it_begins_it_leaves_no_slot(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(_: CheckpointStore) -> dict[str, list[str]]:
        begun.set()
        may_end.wait(HANG_SECONDS)
        return {}

    async def scene(turns: Turns) -> None:
        checkpoints = turns.workspace.checkpoints(str(turns.store), "three", turns.limits, turns._permit)
        waiting = asyncio.ensure_future(checkpoints.ready())
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        await checkpoints.close()
        may_end.set()
        with pytest.raises((OSError, asyncio.CancelledError)):
            await waiting

    monkeypatch.setattr(CheckpointStore, "killed_restores", slow)
    play(scene)
    gc.collect()  # warns of a socket that is left
