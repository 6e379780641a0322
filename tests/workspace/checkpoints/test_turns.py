"""What a turn did to files, taken back and done again, with real commands in every tier."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxOptions
from tests.workspace.checkpoints.conftest import Play, Turns

FILES = {"a.txt": "one\ntwo\n", "sub/b.txt": "b\n", "run.sh": "#!/bin/sh\n", ".env": "KEY=1\n"}


def test_whatever_a_command_did_is_taken_back_and_done_again(play: Play, tiers: SandboxOptions) -> None:
    script = """
        echo three >> a.txt; chmod +x a.txt; rm -r sub; ln -s a.txt link; mkdir -p new/deep empty
        echo x > new/deep/x; mv run.sh ran.sh; echo KEY=2 > .env
    """

    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        before = turns.contents()

        change_set = await turns.changed(script)
        after = turns.contents()
        undone = await turns.undo(change_set)

        assert turns.contents() == before
        assert not undone.kept
        assert not undone.failed
        assert not os.access(turns.root / "a.txt", os.X_OK)

        await turns.redo(change_set)

        assert turns.contents() == after
        assert (turns.root / "a.txt").stat().st_mode & 0o111

    play(scene, FILES, sandbox=tiers)


def test_the_preview_touches_nothing_and_counts_lines(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed(r"printf 'two\nthree\nfour\n' > a.txt; rm .env; printf 'a\0' > binary")
        after = turns.contents()

        plan = await turns.checkpoints.preview([change_set.id], [])

        assert turns.contents() == after
        assert [(step.path, step.action, step.added, step.removed) for step in plan.steps] == [
            (".env", "create", 1, 0),
            ("a.txt", "restore", 1, 2),
            ("binary", "delete", 0, 0),
        ]

    play(scene, FILES)


def test_the_differences_are_those_from_the_first_turn_to_the_last(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = await turns.changed("echo three >> a.txt; echo x > new; rm .env; chmod 755 run.sh; mkdir -p empty")
        second = await turns.changed("echo four >> a.txt; rm new; echo c > sub/b.txt")
        (turns.root / "sub" / "b.txt").write_text("mine")

        found = await turns.checkpoints.differences([first.id, second.id])

        assert [(one.path, one.before, one.after, one.remark) for one in found] == [
            (".env", b"KEY=1\n", None, ""),
            ("a.txt", b"one\ntwo\n", b"one\ntwo\nthree\nfour\n", ""),
            ("run.sh", b"#!/bin/sh\n", b"#!/bin/sh\n", ""),
            ("sub/b.txt", b"b\n", b"c\n", "changed since by someone else"),
        ]
        assert await turns.checkpoints.differences([]) == ()

    play(scene, FILES)


def test_a_file_that_somebody_else_changed_between_two_turns_is_marked(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = await turns.changed("echo three >> a.txt")
        (turns.root / "a.txt").write_text("mine\n")
        second = await turns.changed("echo four >> a.txt")

        (found,) = await turns.checkpoints.differences([first.id, second.id])

        assert (found.path, found.remark) == ("a.txt", "changed by someone else in between")

    play(scene, FILES)


def test_a_turn_that_changes_nothing_leaves_nothing(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        assert await turns.turn("cat a.txt; touch a.txt; cp a.txt c; rm c") is None

    play(scene, FILES)


def test_what_changed_between_turns_is_nobodys(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.turn("true")
        (turns.root / "mine").write_text("mine")

        change_set = await turns.changed("echo yours > yours")

        assert [change.path for change in change_set.files] == ["yours"]

    play(scene, FILES)


def test_what_somebody_changed_since_is_kept_and_said(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("echo x > a.txt; echo x > new; rm .env; echo x > sub/b.txt; echo x > gone")
        (turns.root / "a.txt").write_text("mine")
        (turns.root / "new").write_text("mine")
        (turns.root / ".env").write_text("mine")
        (turns.root / "gone").unlink()

        done = await turns.undo(change_set)

        assert {conflict.path: conflict.reason for conflict in done.kept} == {
            "a.txt": "changed since by someone else",
            "new": "changed since by someone else",
            ".env": "created since by someone else",
        }
        assert [step.path for step in done.done] == ["sub/b.txt"]
        assert turns.contents() == {
            **dict.fromkeys(("a.txt", "new", ".env"), "mine"),
            "run.sh": FILES["run.sh"],
            "sub": "/",
            "sub/b.txt": "b\n",
        }

    play(scene, FILES)


def test_a_file_that_somebody_changed_between_two_turns_goes_back_to_what_they_left(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = await turns.changed("echo 1 > a.txt; echo 1 > b.txt")
        (turns.root / "a.txt").write_text("mine")
        second = await turns.changed("echo 2 > a.txt; echo 2 > b.txt")

        done = await turns.undo(first, second)

        assert not done.kept
        assert [(step.path, step.is_partial) for step in done.done] == [("a.txt", True), ("b.txt", False)]
        assert (turns.root / "a.txt").read_text() == "mine"
        assert not (turns.root / "b.txt").exists()

        await turns.redo(first, second)

        assert {path.name: path.read_text() for path in turns.root.glob("[ab].txt")} == {"a.txt": "2\n", "b.txt": "2\n"}

    play(scene, FILES)


def test_what_changed_after_the_preview_is_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("echo x > a.txt; echo x > new")
        plan = await turns.checkpoints.preview([change_set.id], [])
        (turns.root / "a.txt").write_text("mine")
        (turns.root / "new").unlink()
        (turns.root / "new").symlink_to("/etc/passwd")

        done = await turns.checkpoints.restore(plan)

        assert [conflict.reason for conflict in done.kept] == ["changed since the preview"] * 2
        assert not done.done
        assert (turns.root / "a.txt").read_text() == "mine"
        assert (turns.root / "new").is_symlink()

    play(scene, FILES)


def test_a_directory_that_became_a_symlink_leads_nowhere(play: Play, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("x\n")

    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("echo x > sub/b.txt; echo y > sub/c.txt")
        plan = await turns.checkpoints.preview([change_set.id], [])
        shutil.rmtree(turns.root / "sub")
        (turns.root / "sub").symlink_to(outside)

        done = await turns.checkpoints.restore(plan)

        assert not done.done
        assert {path.name: path.read_text() for path in outside.iterdir()} == {"b.txt": "x\n"}

    play(scene, FILES)


def test_a_directory_somebody_put_something_into_stays(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("mkdir new; echo x > new/x")
        (turns.root / "new" / "mine").write_text("mine")

        done = await turns.undo(change_set)

        assert not done.kept
        assert turns.contents()["new/mine"] == "mine"
        assert "new/x" not in turns.contents()

    play(scene, FILES)


def test_a_directory_that_was_renamed_is_followed(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = await turns.changed("mkdir -p d/e; echo 1 > d/e/f")
        second = await turns.changed("mv d moved; mkdir d; echo other > d/g")
        third = await turns.changed("echo 2 > moved/e/f; echo more > d/g")

        await turns.undo(third)
        assert turns.contents()["moved/e/f"] == "1\n"
        assert turns.contents()["d/g"] == "other\n"
        await turns.undo(second)
        assert turns.contents()["d/e/f"] == "1\n"
        assert "moved" not in turns.contents()
        await turns.undo(first)
        assert turns.contents() == {**FILES, "sub": "/"}

    play(scene, FILES)


def test_a_file_in_place_of_a_directory_goes_both_ways(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        before = turns.contents()
        change_set = await turns.changed("rm -r sub; echo now a file > sub; rm a.txt; mkdir a.txt; echo x > a.txt/x")
        after = turns.contents()

        await turns.undo(change_set)
        assert turns.contents() == before
        await turns.redo(change_set)
        assert turns.contents() == after

    play(scene, FILES)


_SOCKET = """python3 -c "import socket as s; s.socket(s.AF_UNIX).bind('{}')" """


@pytest.mark.parametrize("makes", ["mkfifo {}", _SOCKET], ids=["pipe", "socket"])
@pytest.mark.parametrize("place", ["a.txt", "d"])
def test_what_comes_back_takes_the_place_of_what_has_no_content(play: Play, place: str, makes: str) -> None:
    async def scenario(turns: Turns) -> None:
        change_set = await turns.changed(f"rm -rf {place}; {makes.format(place)}")

        undone = await turns.undo(change_set)

        assert list(undone.kept) == []
        assert turns.contents() == {"a.txt": "mine\n", "d": "/", "d/f": "mine\n"}
        plan = await turns.checkpoints.preview([], [change_set.id])
        assert place in [conflict.path for conflict in plan.conflicts]  # nobody can make it again

    play(scenario, {"a.txt": "mine\n", "d/f": "mine\n"})


@pytest.mark.parametrize("place", ["a.txt", "d"])
def test_what_comes_back_takes_the_place_of_what_is_too_large_to_be_kept(play: Play, place: str) -> None:
    async def scenario(turns: Turns) -> None:
        change_set = await turns.changed(f"rm -rf {place}; truncate -s 11M {place}")

        undone = await turns.undo(change_set)

        assert list(undone.kept) == []
        aside = turns.root / f"{place}.kaa-replaced"
        assert aside.stat().st_size == 11 * 1024 * 1024
        aside.unlink()
        assert turns.contents() == {"a.txt": "mine\n", "d": "/", "d/f": "mine\n"}

    play(scenario, {"a.txt": "mine\n", "d/f": "mine\n"})


def test_names_that_are_not_utf8_and_contents_of_all_bytes(play: Play) -> None:
    name = os.fsencode("caf") + b"\xe9"

    async def scene(turns: Turns) -> None:
        path = os.path.join(os.fsencode(turns.root), name)
        Path(os.fsdecode(path)).write_bytes(bytes(range(256)))
        change_set = await turns.changed("printf x > caf*")

        await turns.undo(change_set)

        assert Path(os.fsdecode(path)).read_bytes() == bytes(range(256))

    play(scene, FILES)


def test_a_write_of_one_file_waits_only_for_that_file(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        checkpoints = turns.checkpoints
        checkpoints.begin()
        for path in ("a.txt", "new/dir/file", "ignored/file"):
            await checkpoints.ready(path)
            await turns.workspace.write(path, b"written")
        change_set = await checkpoints.collect()

        assert change_set is not None
        assert [(change.path, change.kind) for change in change_set.files] == [
            ("a.txt", "changed"),
            ("ignored/file", "created"),
            ("new/dir/file", "created"),
        ]
        await turns.undo(change_set)
        assert turns.contents()["a.txt"] == FILES["a.txt"]
        assert "new" not in turns.contents()

    play(scene, {**FILES, ".gitignore": "ignored/\n", "ignored/other": "x", **{f"many/{n}": "x" for n in range(500)}})


def test_what_goes_on_in_the_background_belongs_to_the_next_change_set(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.checkpoints.ready()
        await turns.checkpoints.collect(more_to_come=True)
        await turns.workspace.run(CommandRequest(("bash", "-c", "echo x > background")))

        await turns.checkpoints.ready()
        change_set = await turns.checkpoints.collect()

        assert change_set is not None
        assert [change.path for change in change_set.files] == ["background"]

    play(scene, FILES)


def test_a_directory_that_was_deleted_gets_its_mode_back(play: Play, tiers: SandboxOptions) -> None:
    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        (turns.root / "closed" / "deeper").mkdir(parents=True)
        (turns.root / "private").mkdir()
        for name, mode in (("closed/deeper", 0o777), ("private", 0o700), ("closed", 0o555)):
            (turns.root / name / "file").write_text("x")
            (turns.root / name).chmod(mode)
        change_set = await turns.changed("chmod u+w closed; rm -r closed private")

        await turns.undo(change_set)

        modes = {name: (turns.root / name).stat().st_mode & 0o777 for name in ("closed", "closed/deeper", "private")}
        assert modes == {"closed": 0o555, "closed/deeper": 0o777, "private": 0o700}
        assert (turns.root / "closed" / "file").read_text() == "x"

    play(scene, FILES, sandbox=tiers)


def _modes(root: Path, *names: str) -> dict[str, int]:
    return {name: stat.S_IMODE((root / name).stat().st_mode) for name in names}


def test_modes_of_directories_come_back_also_that_of_the_project(play: Play, tiers: SandboxOptions) -> None:
    names = (".", "sub", "closed", "closed/deeper")

    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        (turns.root / "closed" / "deeper").mkdir(parents=True)
        (turns.root / "closed" / "deeper" / "file").write_text("x")
        (turns.root / "closed").chmod(0o500)
        turns.root.chmod(0o755)
        before = _modes(turns.root, *names)

        change_set = await turns.changed(
            "chmod 2777 .; chmod 700 sub; chmod 1777 closed; rm closed/deeper/file; touch closed/new; chmod 111 sub"
        )
        after = _modes(turns.root, *names)
        assert [change.path for change in change_set.files] == [
            ".",
            "closed",
            "closed/deeper/file",
            "closed/new",
            "sub",
        ]
        undone = await turns.undo(change_set)

        assert [step.path for step in undone.done] == [change.path for change in change_set.files]
        assert [step.action for step in undone.done] == ["restore", "restore", "create", "delete", "restore"]
        assert _modes(turns.root, *names) == before
        assert turns.contents() == {**FILES, "sub": "/", "closed": "/", "closed/deeper": "/", "closed/deeper/file": "x"}

        redone = await turns.redo(change_set)

        assert not redone.failed
        assert _modes(turns.root, *names) == after

    play(scene, FILES, sandbox=tiers)


def test_the_mode_of_another_writable_directory_comes_back(play: Play, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir(mode=0o755)

    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        change_set = await turns.changed(f"chmod 777 {added}")

        await turns.undo(change_set)

        assert _modes(added, ".") == {".": 0o755}

    play(scene, FILES, sandbox=SandboxOptions(writable=(str(added),)))


def test_what_happens_to_hard_links(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        for name in ("other", "sub/other"):
            (turns.root / name).hardlink_to(turns.root / "a.txt")
        await turns.turn("true")

        change_set = await turns.changed("echo x > a.txt; rm sub/other")
        await turns.undo(change_set)

        contents = turns.contents()
        assert (contents["a.txt"], contents["sub/other"], contents["other"]) == (FILES["a.txt"], FILES["a.txt"], "x\n")
        assert len({(turns.root / name).stat().st_ino for name in ("a.txt", "other", "sub/other")}) == 3

    play(scene, FILES)


def test_a_mode_of_a_directory_that_somebody_changed_since_is_kept_and_said(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("chmod 700 sub; chmod 2777 .; mkdir new")
        (turns.root / "sub").chmod(0o750)
        (turns.root / "new").chmod(0o700)

        done = await turns.undo(change_set)

        assert [(kept.path, kept.reason) for kept in done.kept] == [("sub", "changed since by someone else")]
        assert _modes(turns.root, "sub") == {"sub": 0o750}
        assert not (turns.root / "new").exists()

    play(scene, FILES)


def test_a_restore_of_a_mode_that_was_killed_is_finished(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        (turns.root / "sub").chmod(0o555)
        change_set = await turns.changed("chmod 777 sub; rm sub/b.txt")
        (turns.root / "sub").chmod(0o755)  # so that files can be put into it: then kaa was killed

        done = await turns.undo(change_set)

        assert not done.kept
        assert _modes(turns.root, "sub") == {"sub": 0o555}
        assert (turns.root / "sub" / "b.txt").read_text() == FILES["sub/b.txt"]

    play(scene, FILES)


def test_what_somebody_else_changed_between_two_calls_of_a_turn_is_never_taken_back(
    play: Play, tiers: SandboxOptions
) -> None:
    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()

        async def call(number: int, script: str) -> None:
            await turns.checkpoints.ready(call=str(number))
            await turns.workspace.run(CommandRequest(("bash", "-c", script)))
            await turns.checkpoints.ended(str(number))

        await call(1, "echo 1 > a.txt; echo 1 > b.txt; rm .env")
        (turns.root / "a.txt").write_text("mine")
        (turns.root / "mine").write_text("mine")
        (turns.root / "run.sh").unlink()
        await call(2, "echo 2 > a.txt; echo 2 > c.txt; echo new > run.sh")
        (turns.root / "c.txt").write_text("mine")
        (turns.root / "later").write_text("mine")
        change_set = await turns.checkpoints.collect()

        assert change_set is not None
        plan = await turns.checkpoints.preview([change_set.id], [])
        assert [(step.path, step.is_partial) for step in plan.steps] == [
            (".env", False),
            ("a.txt", True),
            ("b.txt", False),
            ("run.sh", False),
        ]
        done = await turns.checkpoints.restore(plan)
        assert {conflict.path: conflict.reason for conflict in done.kept} == {
            "c.txt": "changed since by someone else",
        }
        assert turns.contents() == {
            ".env": "KEY=1\n",
            **dict.fromkeys(("a.txt", "c.txt", "later", "mine"), "mine"),
            "sub": "/",
            "sub/b.txt": "b\n",
        }

    play(scene, FILES, sandbox=tiers)


def test_beside_a_call_that_changes_one_file_nothing_else_is_its_doing(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.turn("true")  # everything has been looked at
        await turns.checkpoints.ready("sub/b.txt", call="write")
        (turns.root / "a.txt").write_text("mine")
        await turns.workspace.write("sub/b.txt", b"written")
        await turns.checkpoints.ended("write")
        change_set = await turns.checkpoints.collect()

        assert change_set is not None
        assert [(change.path, change.by) for change in change_set.files] == [("sub/b.txt", "call")]

    play(scene, FILES)


def test_several_turns_are_one_when_they_are_merged(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = await turns.changed("echo 1 > a.txt; echo 1 > b.txt")
        second = await turns.changed("echo 2 > a.txt; rm b.txt")

        merged = await turns.checkpoints.merge([], [first.id, second.id])

        assert merged is not None
        assert [change.path for change in merged.files] == ["a.txt"]
        assert merged.files[0].before == first.files[0].before
        assert await turns.checkpoints.merge([second.id, first.id], [first.id, second.id]) is None

    play(scene, FILES)


@pytest.mark.parametrize("kind", ["worktree", "submodule", "symlink"])
def test_a_git_that_is_no_directory_is_left_alone_and_everything_else_is_covered(
    play: Play, tmp_path: Path, kind: str
) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")

    def run(*arguments: str, cwd: Path) -> None:
        subprocess.run([*git, *arguments], cwd=cwd, check=True, capture_output=True)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("init", "-q", cwd=elsewhere)
    run("commit", "-q", "--allow-empty", "-m", "one", cwd=elsewhere)

    async def scene(turns: Turns) -> None:
        if kind == "worktree":
            run("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), cwd=elsewhere)
            shutil.move(tmp_path / "tree" / ".git", turns.root / ".git")
        elif kind == "submodule":
            run("init", "-q", cwd=turns.root)
            run("submodule", "add", "-q", str(elsewhere), "module", cwd=turns.root)
            assert (turns.root / "module" / ".git").is_file()
        else:
            (turns.root / ".git").symlink_to(elsewhere / ".git")
        before = _without_git(turns)

        first = await turns.changed("echo x > a.txt; touch .git; mkdir -p module; echo x > module/new")
        (turns.root / "again").mkdir()
        (turns.root / "again" / ".git").write_text("gitdir: elsewhere\n")
        second = await turns.changed("echo y > a.txt; rm again/.git; echo gitdir: else > again/.git")
        done = await turns.undo(first, second)

        assert not [change.path for change in (*first.changes, *second.changes) if ".git" in change.path]
        assert not done.kept
        assert not done.failed
        assert _without_git(turns) == before
        assert (turns.root / "again" / ".git").read_text() == "gitdir: else\n"

    play(scene, FILES)


def _without_git(turns: Turns) -> dict[str, str]:
    files = (path for path in turns.root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(turns.root)): path.read_text() for path in files}


def test_special_bits_that_the_sandbox_refuses_keep_nothing_from_coming_back(play: Play, tiers: SandboxOptions) -> None:
    async def scenario(turns: Turns) -> None:
        await turns.skip_unless_held()
        helper = turns.root / "helper"
        helper.chmod(0o4755)
        moved = await turns.changed("mv helper helper2")

        undone = await turns.undo(moved)

        assert turns.contents() == {"helper": "mine\n"}
        assert not undone.failed
        assert not undone.kept
        said = [(each.path, each.reason) for each in undone.reduced]
        if turns.workspace.sandbox.mode == "full-access":
            assert helper.stat().st_mode & 0o7777 == 0o4755
            assert said == []
        else:
            assert helper.stat().st_mode & 0o7777 == 0o755
            assert said == [("helper", "restored without its set-user-ID bit")]
        assert not (await turns.redo(moved)).kept
        assert turns.contents() == {"helper2": "mine\n"}

    play(scenario, {"helper": "mine\n"}, sandbox=tiers)


@pytest.mark.parametrize("overwritten", ["", "; echo new > helper"])
def test_the_only_copy_of_what_cannot_be_put_back_stays(play: Play, overwritten: str) -> None:
    async def scenario(turns: Turns) -> None:
        moved = await turns.changed(f"mv helper helper2; mv a/other helper3; echo x > more{overwritten}")
        plan = await turns.checkpoints.preview([moved.id], [])
        (turns.root / "helper").unlink(missing_ok=True)
        (turns.root / "helper").mkdir()  # somebody is in the way

        undone = await turns.checkpoints.restore(plan)

        assert turns.contents() == {"a": "/", "a/other": "other\n", "helper": "/", "helper2": "mine\n"}
        assert [(each.path, each.reason) for each in undone.kept] == [
            ("helper", "changed since the preview"),
            ("helper2", "kept, as helper could not be put back"),
        ]

    play(scenario, {"helper": "mine\n", "a/other": "other\n"})


def test_what_was_renamed_over_another_file_stays_if_it_cannot_be_put_back(play: Play) -> None:
    async def scenario(turns: Turns) -> None:
        moved = await turns.changed("mv helper other")
        plan = await turns.checkpoints.preview([moved.id], [])
        (turns.root / "helper").mkdir()

        undone = await turns.checkpoints.restore(plan)

        assert turns.contents() == {"helper": "/", "other": "mine\n"}
        assert [each.path for each in undone.kept] == ["helper", "other"]

    play(scenario, {"helper": "mine\n", "other": "other\n"})
