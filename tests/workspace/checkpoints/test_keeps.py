"""What would be restored if a command destroyed it now: everything that `keeps` says is, in every tier."""

import os
from pathlib import Path

import pytest

from kaa.workspace.checkpoints.contract import CheckpointLimits, Kept
from kaa.workspace.sandbox.options import SandboxOptions
from tests.workspace.checkpoints.conftest import Play, Turns

_FILES = {
    ".gitignore": "build/\n*.log\n",
    "src/a.py": "a",
    "src/deep/b.py": "b",
    "build/out": "o",
    "small.log": "s",
    "node_modules/m/index.js": "m",
    "packages/p/node_modules/m/index.js": "m",
    "repository/.git/config": "[core]",
    "repository/file": "f",
    "~/node_modules/x": "x",
}


def test_what_is_kept_is_restored_after_it_was_destroyed(play: Play, tiers: SandboxOptions) -> None:
    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        before = turns.contents()

        for path in ("src", "src/a.py", "./src/", "small.log", "absent", "src/absent/x", "src/../src"):
            assert await turns.keeps([path]), path
            change_set = await turns.turn(f"rm -rf {path}")
            if change_set is not None:
                await turns.undo(change_set)

            assert turns.contents() == before, path

    play(scene, _FILES, sandbox=tiers)


def test_what_checkpoints_leave_out_is_not_kept(play: Play) -> None:
    left_out = [".", "build", "build/out", "packages/p/node_modules", "node_modules", "packages"]
    left_out += ["repository", "repository/.git", "/", "/etc", "..", "~"]

    async def scene(turns: Turns) -> list[str]:
        return [path for path in left_out if await turns.keeps(["src", path])]

    assert play(scene, _FILES) == []


def test_what_was_made_or_changed_since_the_last_turn_is_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.turn("true")
        (turns.root / "mine").mkdir()
        (turns.root / "mine" / "new").write_text("mine")
        (turns.root / "src" / "a.py").write_text("my change")
        before = turns.contents()

        assert await turns.keeps(["mine", "src"])
        change_set = await turns.changed("rm -rf mine src")
        await turns.undo(change_set)

        assert turns.contents() == before

    play(scene, _FILES)


def test_what_changed_while_another_call_runs_counts_as_its_doing_and_is_not_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.checkpoints.ready(call="build")
        (turns.root / "src" / "a.py").write_text("my change")

        assert await turns.keeps(["small.log", "src/deep"])
        assert not await turns.keeps(["src"])
        await turns.checkpoints.ended("build")
        assert await turns.keeps(["src"])

    play(scene, _FILES)


def test_what_a_link_leads_to_must_be_kept_too(play: Play, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("f")

    async def scene(turns: Turns) -> None:
        (turns.root / "out").symlink_to(outside)
        (turns.root / "in").symlink_to("src")
        (turns.root / "ignored").symlink_to("build")

        assert await turns.keeps(["in", "in/a.py"])
        assert not await turns.keeps(["out"])
        assert not await turns.keeps(["out/f"])
        assert not await turns.keeps(["ignored"])
        assert not await turns.keeps(["ignored/out"])

    play(scene, _FILES)


def test_a_file_with_several_names_is_not_kept(play: Play) -> None:
    async def scene(turns: Turns) -> bool:
        os.link(turns.root / "src" / "a.py", turns.root / "twin")
        return await turns.keeps(["src"])

    assert not play(scene, _FILES)


def test_what_is_no_file_and_what_is_too_large_is_not_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        (turns.root / "large").mkdir()
        with (turns.root / "large" / "file").open("wb") as file:
            file.truncate(11 * 1024 * 1024)
        (turns.root / "pipes").mkdir()
        os.mkfifo(turns.root / "pipes" / "pipe")

        assert not await turns.keeps(["large"])
        assert not await turns.keeps(["pipes"])

    play(scene, _FILES)


def test_what_a_note_alone_kept_is_not_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.checkpoints.ready("build/out")
        (turns.root / "build" / "out").write_text("edited")
        await turns.checkpoints.collect()

        assert not await turns.keeps(["build/out"])

    play(scene, _FILES)


def test_beyond_the_limits_nothing_is_kept(play: Play) -> None:
    async def scene(turns: Turns) -> bool:
        (turns.root / "half").mkdir()
        (turns.root / "half" / "a").write_bytes(b"a" * 700_000)
        (turns.root / "half" / "b").write_bytes(b"b" * 700_000)
        return await turns.keeps(["half"])

    assert not play(scene, _FILES, limits=CheckpointLimits(max_megabytes=2))


def test_whoever_declines_the_first_copy_keeps_nothing(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        turns.permits = False
        with pytest.raises(OSError, match="declined"):
            await turns.keeps(["src"])

    play(scene, {"src/a": "a" * 2_000_000}, limits=CheckpointLimits(announce_megabytes=1))


_GENERATED = {
    ".gitignore": "build/\nout/\n.venv/\n",
    "build/deep/o": "o",
    "out/only": "copy",
    "src/.hidden.pyc": "h",
    "src/a.pyc": "a",
    "src/__pycache__/a.pyc": "a",
    "src/sub/b.pyc": "b",
    ".venv/src/p/.git/config": "[core]",
    "linked/node_modules/f": "f",
}


@pytest.mark.parametrize(
    ("pattern", "name", "kind", "generated"),
    [
        ("build", "", "", ("build",)),
        ("build/*", "", "", ("build",)),
        ("b*", "", "", ("build",)),
        ("src/*.pyc", "", "", ()),
        (".", "*.pyc", "", ("src/__pycache__",)),
        (".", "__pycache__", "d", ("src/__pycache__",)),
        (".", "build", "f", ()),
        ("src", "*", "f", ("src/__pycache__",)),
        ("*.absent", "", "", ()),
        ("out", "", "", None),
        ("o*", "", "", None),
        ("*", "", "", None),
        (".", "only", "", None),
        (".", "o*", "f", None),
        (".", "config", "", None),
        ("to_out", "only", "f", None),
        ("to_out/*", "", "", None),
        ("to_*", "", "", None),
        (".venv", "", "", None),
        ("linked/node_modules", "", "", None),
    ],
)
def test_what_is_generated_is_told_apart_from_what_is_lost(
    play: Play, pattern: str, name: str, kind: str, generated: tuple[str, ...] | None
) -> None:
    async def scene(turns: Turns) -> None:
        (turns.root / "to_out").symlink_to("out")
        os.link(turns.root / "linked" / "node_modules" / "f", turns.root / "twin")

        found = await turns.checkpoints.keeps([pattern], name=name, kind=kind)

        assert found == (Kept(False) if generated is None else Kept(True, generated))

    play(scene, _GENERATED)
