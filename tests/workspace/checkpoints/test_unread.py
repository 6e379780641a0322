"""Turns in a project that has more files than are read before the first command."""

import asyncio
import json
import time
from pathlib import Path

from kaa.hands.checkpoints.states import FRESH_NS
from kaa.workspace.checkpoints.contract import ChangeSet, CheckpointLimits, Kept
from kaa.workspace.protocol import CommandRequest
from tests.support.patience import HANG_SECONDS
from tests.workspace.checkpoints.conftest import Play, Turns

_FILES = {f"d/{number}": f"{number}" for number in range(40)}
_FEW = CheckpointLimits(first_files=10)


async def _turn(turns: Turns, script: str) -> ChangeSet | None:
    """Have the agent run a command as the loop does, which then lets checkpoints read more."""
    await turns.checkpoints.ready(call="one")
    await turns.workspace.run(CommandRequest(("bash", "-c", script)))
    await turns.checkpoints.ended("one")
    return await turns.checkpoints.collect()


def _age(turns: Turns) -> None:
    """Wait until the times of the files tell whether they change."""
    newest = max(path.stat().st_ctime_ns for path in turns.root.rglob("*"))
    while time.time_ns() < newest + 2 * FRESH_NS:
        time.sleep(0.01)


def _known(store: Path) -> set[str]:
    """Give the files that the manifests know."""
    lines = [line for path in (store / "manifests").iterdir() for line in path.read_text().splitlines()]
    return {path for line in lines for path, row in json.loads(line) if row and row[0] == "file"}


def test_a_file_that_was_not_read_is_a_conflict_that_names_the_setting(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        _age(turns)
        change_set = await turns.changed("for f in d/*; do echo new > $f; done; touch d/created")

        assert len([change for change in change_set.changes if change.before is None]) == 1
        plan = await turns.checkpoints.preview([change_set.id], [])
        assert len(plan.steps) == 10 + 1
        assert len(plan.conflicts) == 30
        assert all("checkpoints.waitForAllFiles" in conflict.reason for conflict in plan.conflicts)

        await turns.checkpoints.restore(plan)
        contents = turns.contents()
        assert "d/created" not in contents
        assert [contents[path] for path in _FILES].count("new\n") == 30

    play(scene, _FILES, limits=_FEW)


def test_what_is_not_read_yet_is_counted_where_a_command_would_destroy_it(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        _age(turns)
        await turns.changed("touch created")

        kept = await turns.checkpoints.keeps(["d"])  # which reads some hundred of them, and leaves the rest
        assert not kept.kept
        assert 0 < kept.unread < 700
        assert await turns.checkpoints.keeps(["created"]) == Kept(True)

    play(scene, {f"d/{number}": f"{number}" for number in range(700)}, limits=_FEW)


def test_what_is_not_read_yet_is_counted_in_a_preview(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        _age(turns)
        change_set = await turns.changed("touch created")
        plan = await turns.checkpoints.preview([change_set.id], [])
        assert any(told.startswith("30 files that kaa has not read yet (it reads 10 ") for told in plan.uncovered)

    play(scene, _FILES, limits=_FEW)


def test_the_others_are_read_after_a_call_and_known_in_later_sessions(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        _age(turns)
        assert await _turn(turns, "true") is None
        deadline = time.monotonic() + HANG_SECONDS
        while not _known(turns.store).issuperset(_FILES) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert _known(turns.store) == set(_FILES)

        change_set = await _turn(turns, "rm -r d")
        assert change_set is not None
        assert not (await turns.undo(change_set)).kept
        assert turns.contents() == {**_FILES, "d": "/"}

        size = sum(path.stat().st_size for path in (turns.store / "packs").iterdir())
        turns.session("two")
        assert await _turn(turns, "true") is None
        assert sum(path.stat().st_size for path in (turns.store / "packs").iterdir()) == size

    play(scene, _FILES, limits=_FEW)


def test_a_killed_turn_is_never_said_to_have_made_a_file_that_was_not_read(play: Play) -> None:
    async def killed(turns: Turns) -> None:
        _age(turns)
        await turns.checkpoints.ready()
        await turns.workspace.run(CommandRequest(("bash", "-c", "for f in d/*; do echo new > $f; done")))

    async def again(turns: Turns) -> None:
        _age(turns)
        found = await turns.checkpoints.interrupted()
        assert found is not None
        assert len(found.files) == 10
        await turns.undo(found)
        contents = turns.contents()
        assert contents.keys() == {*_FILES, "d"}
        assert [contents[path] for path in _FILES].count("new\n") == 30

    play(killed, _FILES, limits=_FEW)
    play(again, limits=_FEW)


_MAKE = "mkdir made; for n in $(seq 40); do echo $n > made/$n; done"
_MADE = {f"made/{number}": f"{number}\n" for number in range(1, 41)}


async def _made_many(turns: Turns) -> None:
    """Have a call make more files than are read at its end."""
    await turns.checkpoints.ready(call="one")
    await turns.workspace.run(CommandRequest(("bash", "-c", _MAKE)))
    _age(turns)
    await turns.checkpoints.ended("one")


def test_a_turn_that_makes_many_files_is_undone_and_done_again_whole(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await _made_many(turns)
        change_set = await turns.checkpoints.collect()
        assert change_set is not None
        assert {change.after.kind for change in change_set.files if change.after} == {"file"}

        assert not (await turns.undo(change_set)).kept
        assert turns.contents() == {"mine": "mine"}
        assert not (await turns.redo(change_set)).kept
        assert turns.contents() == {"mine": "mine", "made": "/", **_MADE}

    play(scene, {"mine": "mine"}, limits=_FEW)


def test_what_later_calls_do_with_files_that_were_not_read_belongs_to_the_turn(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await _made_many(turns)
        await turns.checkpoints.ready(call="two")
        known = await turns.checkpoints.keeps(["made"])
        assert known.kept
        await turns.workspace.run(CommandRequest(("bash", "-c", "rm -r made/3*; echo new > made/2; echo new > new")))
        await turns.checkpoints.ended("two")
        change_set = await turns.checkpoints.collect()
        assert change_set is not None

        expected = {path: text for path, text in _MADE.items() if not path.startswith("made/3")}
        assert [(change.path, change.kind) for change in change_set.files] == [
            (path, "created") for path in sorted([*expected, "new"])
        ]
        assert not (await turns.undo(change_set)).kept
        assert turns.contents() == {"mine": "mine"}
        assert not (await turns.redo(change_set)).kept
        assert turns.contents() == {"mine": "mine", "made": "/", **expected, "made/2": "new\n", "new": "new\n"}

    play(scene, {"mine": "mine"}, limits=_FEW)


def test_what_a_turn_makes_and_removes_is_no_change(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await _made_many(turns)
        await turns.checkpoints.ready(call="two")
        assert (await turns.checkpoints.keeps(["made"])).kept
        await turns.workspace.run(CommandRequest(("bash", "-c", "rm -r made")))
        await turns.checkpoints.ended("two")
        assert await turns.checkpoints.collect() is None

    play(scene, {"mine": "mine"}, limits=_FEW)
