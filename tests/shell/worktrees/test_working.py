"""Worktrees: how they begin, what differs, what a merge does, and what is left when they are removed."""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from kaa.shell.home import Home
from kaa.shell.safety import SandboxFlags, sandbox_options
from kaa.shell.worktrees import states
from kaa.shell.worktrees.registry import Change, Worktree, WorktreeError, WorktreeRegistry, checked, this_machine
from kaa.shell.worktrees.working import Worktrees, readable
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest
from tests.support import without_locks
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("mounts")


class World:
    """A project in a folder that the sandbox shows, and its worktrees."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.left_out: tuple[str, ...] = ()
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KAA_DIR": str(self.home),
            "LANG": "C.UTF-8",
            "GIT_CEILING_DIRECTORIES": str(folder),
        }

    def worktrees(self, place: Path | None = None) -> Worktrees:
        """The worktrees as seen from a directory, or from the project."""
        return Worktrees(str(place or self.project), Home.of(self.environ), self.environ)

    def enter(self, name: str = "try", place: Path | None = None) -> Path:
        """The directory of a worktree that is new."""
        entered = asyncio.run(self.worktrees(place).enter(name))
        assert entered.is_new
        self.left_out = entered.left_out
        return Path(entered.worktree.directory)

    def find(self, name: str = "try") -> Worktree:
        return self.worktrees().registry.find(name)

    @property
    def directory(self) -> Path:
        """The directory of the worktree `try`, which is there."""
        return Path(self.find().directory)

    def diff(self) -> str:
        return asyncio.run(self.worktrees().difference(self.find()))

    def merge(self, name: str = "try", place: Path | None = None, *, undo: bool = False) -> None:
        asyncio.run(self.worktrees(place).merge(self.find(name), undo=undo))

    def drop(self, *, force: bool = False) -> str:
        return asyncio.run(self.worktrees().drop(self.find(), force=force))

    def git(self, *arguments: str, at: Path | None = None) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        done = subprocess.run(
            ["git", *identity, *arguments],
            cwd=at or self.project,
            env=self.environ,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return done.stdout


class Beginnings:
    """What cases begin with, made once and copied: kaa and git work for half a second to create a worktree.

    It has absolute paths in it, so all cases of a worker play in one folder, one after another.

    Args:
        folder: empty.
        kept: where the copies are.
    """

    def __init__(self, folder: Path, kept: Path) -> None:
        self._folder = folder
        self._kept = kept

    def begin(self, prepare: Callable[[World], None]) -> World:
        """Return a world that has nothing but what a function made in it, now or before an earlier case."""
        for path in self._folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        copy = self._kept / prepare.__name__
        if copy.exists():
            shutil.copytree(copy, self._folder, symlinks=True, dirs_exist_ok=True)
            return World(self._folder)
        world = World(self._folder)
        prepare(world)
        shutil.copytree(self._folder, copy, symlinks=True)
        return world


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beginnings]:
    with folder_elsewhere() as folder:
        yield Beginnings(folder, tmp_path_factory.mktemp("beginnings"))


def nothing(_: World) -> None:
    """Leave a world as it is."""


def commit_first(world: World) -> None:
    world.git("init", "-q")
    (world.project / "same").write_text("same\n")
    world.git("add", ".")
    world.git("commit", "-q", "-m", "first")


def enter_first(world: World) -> None:
    commit_first(world)
    world.enter()


def kill_merge(world: World) -> None:
    """Leave the state of a merge that was killed when it had written half of its files; the user goes on."""
    enter_first(world)
    append("more\n", world.directory / "same")
    for name in ("new", "other", "third"):
        (world.directory / name).write_text(f"{name}\n")
    world.merge()
    change_record(world, merged=None, merging=world.find().merged)
    (world.project / "new").unlink()
    (world.project / "other").write_text("ot")
    (world.project / "same").write_text("")
    (world.project / "later").write_text("later\n")


@pytest.fixture
def world(beginnings: Beginnings) -> World:
    return beginnings.begin(nothing)


@pytest.fixture
def repository(beginnings: Beginnings) -> World:
    """A project with a commit."""
    return beginnings.begin(commit_first)


@pytest.fixture
def entered(beginnings: Beginnings) -> World:
    """The same, and a worktree of it."""
    return beginnings.begin(enter_first)


@pytest.fixture
def killed(beginnings: Beginnings) -> World:
    """The same, and a merge of it that was killed."""
    return beginnings.begin(kill_merge)


def append(text: str, path: Path) -> None:
    with path.open("a") as file:
        file.write(text)


def contents(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def test_a_patch_has_every_byte_of_text_and_of_binary_files(repository: World, tmp_path: Path) -> None:
    (repository.project / "latin").write_bytes(b"caf\xe9\n")
    (repository.project / "icon").write_bytes(bytes(range(256)))
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "second")
    directory = repository.enter()
    (directory / "latin").write_bytes(b"caf\xe9 au lait\r\n")
    (directory / "icon").write_bytes(bytes(reversed(range(256))))
    (directory / "new").write_bytes(b"\0\n\n")

    (tmp_path / "patch").write_bytes(asyncio.run(repository.worktrees().patch(repository.find())))
    repository.git("apply", "--whitespace=nowarn", str(tmp_path / "patch"))

    for name in ("latin", "icon", "new"):
        assert (repository.project / name).read_bytes() == (directory / name).read_bytes()
    assert r"+caf\xe9 au lait" in readable(repository.diff())


def test_more_can_be_merged_later(entered: World) -> None:
    directory = entered.directory
    append("one\n", directory / "same")
    entered.merge()
    append("two\n", directory / "same")

    entered.merge()

    assert (entered.project / "same").read_text() == "same\none\ntwo\n"


@pytest.mark.parametrize("attributes", ["own", "info"])
def test_attributes_hide_no_content(entered: World, attributes: str) -> None:
    directory = entered.directory
    (directory / "a.py").write_text("touch CANARY\n")
    if attributes == "own":
        (directory / ".gitattributes").write_text("*.py -diff\n")
        (entered.project / ".gitattributes").write_text("*.py -diff\n")
    else:
        (entered.project / ".git" / "info" / "attributes").write_text("*.py -diff\n")

    async def shown() -> tuple[str, str]:
        worktrees = entered.worktrees()
        merge = await worktrees.foresee(entered.find())
        return merge.summary, await worktrees.merge_diff(entered.find(), merge)

    assert "+touch CANARY" in entered.diff()
    summary, diff = asyncio.run(shown())
    assert "a.py" in summary
    assert "Bin" not in summary
    assert "+touch CANARY" in diff


def test_of_a_diff_that_is_too_long_all_files_are_listed(entered: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_MOST_BYTES", 64 * 1024)
    directory = entered.directory
    (directory / "aaa_evil.py").write_text("touch CANARY\n")
    (directory / "zzz.txt").write_text("z" * 79 + "\n" * 1)
    with (directory / "zzz.txt").open("a") as file:
        file.writelines(f"{number:079}\n" for number in range(1000))

    diff = entered.diff()

    assert "aaa_evil.py" in diff
    assert f"too long to be shown. Compare the files in {directory}" in diff


def test_what_is_only_in_commits_of_its_branch_is_named(entered: World) -> None:
    directory = entered.directory
    (directory / "b").write_text("b\n")
    entered.git("add", "b", at=directory)
    entered.git("commit", "-q", "-m", "b", at=directory)

    def named() -> tuple[tuple[str, ...], tuple[str, ...]]:
        worktrees = entered.worktrees()
        standing = asyncio.run(worktrees.standing(entered.find()))
        return asyncio.run(worktrees.only_in_commits(entered.find())), standing.only_in_commits

    assert named() == ((), ())

    for name, content in ((".envrc", "touch CANARY\n"), ("hidden.py", "touch CANARY\n"), ("b", "committed\n")):
        (directory / name).write_text(content)
    entered.git("add", "-f", ".", at=directory)
    entered.git("commit", "-q", "-m", "more", at=directory)
    for name in (".envrc", "hidden.py"):
        (directory / name).unlink()
    (directory / "b").write_text("later\n")

    assert named() == ((".envrc", "hidden.py"), (".envrc", "hidden.py"))


def test_conflicts_are_named_and_nothing_is_merged(entered: World) -> None:
    directory = entered.directory
    append("theirs\n", directory / "same")
    (directory / "new").write_text("new\n")
    append("mine\n", entered.project / "same")

    with pytest.raises(WorktreeError, match="same changed here and in the worktree"):
        entered.merge()

    assert contents(entered.project) == {"same": "same\nmine\n"}


def test_a_worktree_is_dropped_only_if_nothing_is_lost(entered: World) -> None:
    directory = entered.directory
    append("more\n", directory / "same")

    with pytest.raises(WorktreeError, match="changes that are not merged"):
        entered.drop()
    with chdir(directory), pytest.raises(WorktreeError, match=f"in use by process .*{os.getpid()}"):
        entered.drop(force=True)
    assert entered.drop(force=True) == ""

    assert not directory.exists()
    assert entered.git("branch", "--list", "kaa/*") == ""
    assert entered.git("worktree", "list").count("\n") == 1
    assert [*(entered.project / ".git/worktrees").glob("*")] == []
    assert entered.worktrees().registry.all() == ()


def test_dropping_leaves_worktrees_of_the_user_as_they_are(repository: World) -> None:
    theirs = repository.project.parent / "theirs"
    repository.git("worktree", "add", "-q", str(theirs))
    repository.enter()
    theirs.rename(theirs.with_name("on a disk that is not mounted"))
    kept = repository.project / ".git/worktrees/theirs"
    before = {path.name: path.read_bytes() for path in kept.iterdir() if path.is_file()}

    assert repository.drop(force=True) == ""

    assert {path.name: path.read_bytes() for path in kept.iterdir() if path.is_file()} == before


def change_record(world: World, **fields: object) -> None:
    """Put the record of the worktree into a state in which a kill leaves it."""
    world.worktrees().registry.save(msgspec.structs.replace(world.find(), **fields))


def test_a_creation_that_was_killed_is_removed_by_the_next_one(entered: World) -> None:
    (entered.directory / "left").touch()
    change_record(entered, base="")
    (entered.worktrees().registry.directory("w1")).mkdir()

    directory = entered.enter("other")

    assert {path.name for path in directory.parent.iterdir()} == {".other.lock", "other", "other.json", "w1"}
    assert entered.git("branch", "--list", "kaa/*").split() == ["+", "kaa/other"]
    assert contents(entered.enter()) == {"same": "same\n"}
    assert entered.enter("w1").is_dir()


def test_what_another_kaa_creates_is_left_alone(entered: World) -> None:
    directory = entered.directory
    change_record(entered, base="")

    with entered.worktrees().registry.holding("try"):
        entered.enter("other")
        with pytest.raises(WorktreeError, match="another kaa is creating or merging the worktree try"):
            entered.enter()
        with pytest.raises(WorktreeError, match="another kaa is creating or merging the worktree try"):
            entered.drop(force=True)

    assert contents(directory) == {"same": "same\n"}


def test_a_command_that_locks_its_worktree_keeps_nobody_from_merging_it(entered: World) -> None:
    directory = entered.directory
    (directory / "new").write_text("new\n")
    locked = os.open(directory, os.O_RDONLY)

    async def locks(path: Path) -> bool:
        options = sandbox_options(Home.of(entered.environ), SandboxFlags(), str(directory))
        workspace = LocalWorkspace.start(str(directory), env=entered.environ, sandbox=options)
        try:
            done = await workspace.run(CommandRequest(["flock", "-n", str(path), "true"]))
            return done.exit_code == 0
        finally:
            await workspace.close()

    try:
        fcntl.flock(locked, fcntl.LOCK_EX)
        entered.merge()
    finally:
        os.close(locked)

    assert (entered.project / "new").read_text() == "new\n"
    assert asyncio.run(locks(directory))
    assert not asyncio.run(locks(directory.parent / ".try.lock"))


def test_a_record_that_leads_elsewhere_has_nothing_removed(repository: World) -> None:
    elsewhere = repository.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "canary").write_text("x")
    registry = repository.worktrees().registry
    registry.folder.mkdir(parents=True)
    known = {"name": "x", "project": str(repository.project), "directory": str(registry.directory("x")), "base": ""}
    for name, changed in (
        ("x", {"directory": str(elsewhere)}),
        ("y", {"directory": str(elsewhere)}),
        ("z", {"name": "z", "directory": str(registry.directory("z")), "store": str(elsewhere)}),
    ):
        (registry.folder / f"{name}.json").write_text(json.dumps({**known, "created": "", **changed}))

    repository.enter()

    assert (elsewhere / "canary").exists()
    assert [one.name for one in registry.all()] == ["try"]


def test_a_removal_that_was_killed_leaves_no_half_and_is_finished_by_the_next_worktree(entered: World) -> None:
    directory = entered.directory
    registry = entered.worktrees().registry
    directory.rename(registry.dropped("try"))

    entered.enter("other")

    assert {path.name for path in registry.folder.iterdir()} == {".other.lock", "other", "other.json"}
    assert entered.git("branch", "--list", "kaa/*").split() == ["+", "kaa/other"]


def test_a_merge_that_was_killed_is_finished_by_the_next_one_and_taken_back_as_a_whole(killed: World) -> None:
    killed.merge()
    merged = contents(killed.project)
    killed.merge(undo=True)

    new = {name: f"{name}\n" for name in ("new", "other", "third")}
    assert merged == {"same": "same\nmore\n", "later": "later\n", **new}
    assert contents(killed.project) == {"same": "same\n", "later": "later\n"}


def test_a_worktree_that_another_kaa_merged_since_it_was_shown_is_not_merged_again(entered: World) -> None:
    append("more\n", entered.directory / "same")
    worktrees, known = entered.worktrees(), entered.find()
    shown = asyncio.run(worktrees.foresee(known))
    entered.merge()

    with pytest.raises(WorktreeError, match="another kaa merged the worktree try meanwhile"):
        asyncio.run(worktrees.merge(known, shown))

    entered.merge(undo=True)
    assert contents(entered.project) == {"same": "same\n"}


def test_a_merge_that_was_killed_can_be_taken_back(killed: World) -> None:
    killed.merge(undo=True)

    assert contents(killed.project) == {"same": "same\n", "later": "later\n"}
    killed.merge()
    assert (killed.project / "new").exists()


@pytest.fixture(params=[True, False], ids=["git", "no git"])
def with_or_without_git(request: pytest.FixtureRequest, world: World) -> World:
    (world.project / "same").write_text("same\n")
    if request.param:
        world.git("init", "-q")
    return world


class Moment:
    """What there is of a world, to go on from there several times: what leads there takes longest."""

    def __init__(self, world: World) -> None:
        self._folder = world.project.parent
        self._copy = self._folder / "moment"
        self._names = [path.name for path in self._folder.iterdir()]
        for name in self._names:
            shutil.copytree(self._folder / name, self._copy / name, symlinks=True)

    def restore(self) -> None:
        """Have everything as it was."""
        for name in self._names:
            shutil.rmtree(self._folder / name)
            shutil.copytree(self._copy / name, self._folder / name, symlinks=True)


def halves_and_ends(world: World, half: str) -> list[tuple[str | None, bool]]:
    """What a kill left of a file, and whether the merge is taken back then: each pair with git or without it."""
    taken_back_first = (world.project / ".git").exists()
    return [(one, (number % 2 == 0) == taken_back_first) for number, one in enumerate(("", half, None))]


def leave(half: str | None, file: Path) -> None:
    """Leave what there is of a file whose writer was killed: nothing if git had only removed it."""
    file.write_text(half) if half is not None else file.unlink()


def test_a_file_that_a_killed_merge_was_writing_is_no_conflict(with_or_without_git: World) -> None:
    world = with_or_without_git
    for name in ("a", "größe", "z"):
        (world.project / name).write_text("before\n")
    directory = world.enter()
    for name in ("a", "größe", "z", "new"):
        (directory / name).write_text("more than before\n")
    world.merge()
    change_record(world, merged=None, merging=world.find().merged)
    (world.project / "new").unlink()
    (world.project / "z").write_text("before\n")
    killed = Moment(world)
    ends: dict[tuple[str | None, bool], dict[str, str]] = {}

    for half, undo in halves_and_ends(world, "more than be"):
        killed.restore()
        leave(half, world.project / "größe")
        world.merge(undo=undo)
        ends[half, undo] = contents(world.project)

    merged = {"same": "same\n", **dict.fromkeys(("a", "größe", "z", "new"), "more than before\n")}
    taken_back = {"same": "same\n", **dict.fromkeys(("a", "größe", "z"), "before\n")}
    assert ends == {(half, undo): taken_back if undo else merged for half, undo in ends}


def test_a_merge_whose_taking_back_was_killed_keeps_what_the_user_changed_since(with_or_without_git: World) -> None:
    world = with_or_without_git
    lines = "".join(f"{number}\n" for number in range(20))
    for name in ("a", "b"):
        (world.project / name).write_text(lines)
    directory = world.enter()
    for name in ("a", "b"):
        append("more\n", directory / name)
    world.merge()
    for name in ("a", "b"):
        (world.project / name).write_text(f"mine\n{lines}more\n")
    merged = world.find().merged
    foreseen = asyncio.run(world.worktrees().foresee(world.find(), undo=True))
    change_record(world, merged=None, merging=merged, undoing=Change(foreseen.before, foreseen.after))
    (world.project / "a").write_text(f"mine\n{lines}")
    killed = Moment(world)
    ends: dict[tuple[str | None, bool], dict[str, str]] = {}

    for half, undo in halves_and_ends(world, "mi"):
        killed.restore()
        leave(half, world.project / "b")
        world.merge(undo=undo)
        ends[half, undo] = contents(world.project)
        assert world.find().merging is None

    with_both, with_mine = f"mine\n{lines}more\n", f"mine\n{lines}"
    assert ends == {
        (half, undo): {"same": "same\n", **dict.fromkeys(("a", "b"), with_mine if undo else with_both)}
        for half, undo in ends
    }


def test_taking_a_merge_back_is_recorded_before_it_begins(entered: World) -> None:
    append("more\n", entered.directory / "same")
    entered.merge()
    merged = entered.find().merged
    record = entered.worktrees().registry.folder / "try.json"
    seen: list[object] = []

    class Watched(WorktreeRegistry):
        def save(self, worktree: Worktree) -> None:
            super().save(worktree)
            seen.append((json.loads(record.read_bytes()).keys() & {"merged", "merging", "undoing"}, worktree.merging))

    worktrees = entered.worktrees()
    worktrees.registry = Watched(entered.environ, str(entered.project))
    asyncio.run(worktrees.merge(entered.find(), undo=True))

    assert seen == [({"merging", "undoing"}, merged), (set(), None)]


def test_a_renaming_merge_that_was_killed_between_both_names_is_finished_and_taken_back(
    with_or_without_git: World,
) -> None:
    world = with_or_without_git
    writes_new = (world.project / ".git").exists()
    (world.project / "old").write_text("long enough to be found\n" * 9)
    directory = world.enter()
    (directory / "old").rename(directory / "new")
    world.merge()
    change_record(world, merged=None, merging=world.find().merged)
    if not writes_new:
        (world.project / "new").unlink()

    world.merge()
    merged = set(contents(world.project))
    world.merge(undo=True)

    assert merged == {"same", "new"}
    assert set(contents(world.project)) == {"same", "old"}


def test_a_name_that_a_killed_kaa_locked_keeps_nobody_from_a_merge(with_or_without_git: World) -> None:
    world = with_or_without_git
    append("more\n", world.enter() / "same")
    (Path(world.find().git_directory) / "refs/kaa/worktrees/try.lock").touch()

    world.merge()

    assert contents(world.project) == {"same": "same\nmore\n"}


def lock_of_branch(repository: World, *, age: float) -> Path:
    """What a git leaves that is killed while it creates or removes the branch."""
    lock = repository.project / ".git/refs/heads/kaa/try.lock"
    lock.touch()
    os.utime(lock, (time.time() - age,) * 2)
    return lock


def test_the_lock_of_a_git_that_was_killed_long_ago_goes_with_the_branch(entered: World) -> None:
    lock = lock_of_branch(entered, age=360)

    assert entered.drop() == ""

    assert not lock.exists()
    assert "kaa/try" not in entered.git("branch", "--all")
    entered.enter()  # the name is free


def test_a_new_lock_of_the_branch_is_named_and_nothing_is_removed(entered: World) -> None:
    directory = entered.directory
    lock = lock_of_branch(entered, age=30)

    with pytest.raises(WorktreeError, match=rf"git locked the branch kaa/try 3\d seconds ago \({lock}\)"):
        entered.drop(force=True)

    assert contents(directory) == {"same": "same\n"}
    lock.unlink()
    entered.drop()
    assert not directory.exists()


def test_what_a_kill_left_and_cannot_be_removed_is_told_apart_from_work(entered: World) -> None:
    change_record(entered, base="", machine=this_machine())
    lock_of_branch(entered, age=30)

    with pytest.raises(WorktreeError, match="kaa was killed while creating or removing the worktree try"):
        asyncio.run(entered.worktrees().enter("try"))


# Enters worktrees of some names at once: each in a process of its own, none of which has to load kaa first.
_ENTER = """
import asyncio, os, sys, traceback
from kaa.shell.home import Home
from kaa.shell.worktrees.working import Worktrees
from tests.support.warm_start import warm_runs

with warm_runs():
    for name in sys.argv[1:]:
        if os.fork() == 0:
            code = 1
            try:
                asyncio.run(Worktrees(os.getcwd(), Home.of(os.environ), os.environ).enter(name))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in sys.argv[1:]]
sys.exit(any(codes))
"""


def enter_without_locks(world: World, *names: str) -> None:
    """Enter worktrees at once where no file system has locks."""
    done = subprocess.run(
        [sys.executable, without_locks.__file__, sys.executable, "-c", _ENTER, *names],
        cwd=world.project,
        env={**world.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_worktrees_that_are_created_at_once_leave_each_other_alone_without_locks(with_or_without_git: World) -> None:
    world = with_or_without_git
    for number in range(50):  # so that all of them are being created at the same time
        (world.project / f"file{number}").write_text("x")
    names = [f"at-once-{number}" for number in range(4)]

    enter_without_locks(world, *names)

    assert [one.name for one in world.worktrees().registry.all() if one.is_whole and one.exists] == names
    assert all(len(contents(Path(world.find(name).directory))) == 51 for name in names)


@pytest.mark.parametrize(
    ("machine", "created", "is_removed"),
    [("", "2026-01-01T00:00:00Z", True), ("another", "2026-01-01T00:00:00Z", True), ("another", "", False)],
)
def test_without_locks_only_an_old_creation_of_another_machine_counts_as_killed(
    entered: World, machine: str, created: str, is_removed: bool
) -> None:
    directory = entered.directory
    change_record(entered, base="", machine=machine, created=created or datetime.now(UTC).isoformat())

    enter_without_locks(entered, "other")

    assert directory.exists() != is_removed


def test_commits_stay_on_their_branch(entered: World) -> None:
    directory = entered.directory
    append("more\n", directory / "same")
    entered.git("add", "-A", at=directory)
    entered.git("commit", "-qm", "second", at=directory)

    assert "its branch kaa/try stays" in entered.drop(force=True)

    assert "second" in entered.git("log", "--format=%s", "kaa/try")


def test_without_a_repository_it_is_a_copy(world: World) -> None:
    (world.project / "same").write_text("same\n")
    directory = world.enter()
    append("more\n", directory / "same")
    (directory / "new").write_text("new\n")

    assert contents(world.project) == {"same": "same\n"}
    assert "+more" in world.diff()
    world.merge()
    assert contents(world.project) == {"same": "same\nmore\n", "new": "new\n"}
    assert world.drop() == ""
    assert not directory.exists()
    assert list(directory.parent.iterdir()) == []


def test_a_repository_without_commits_has_worktrees_too(world: World) -> None:
    world.git("init", "-q")
    (world.project / "same").write_text("same\n")

    assert contents(world.enter()) == {"same": "same\n"}


def test_a_worktree_can_be_made_of_another_and_merged_into_it(repository: World) -> None:
    project = repository.project
    outer = repository.enter("outer")
    append("outer\n", outer / "same")
    inner = repository.enter("inner", outer)
    (inner / "new").write_text("inner\n")

    assert (inner / "same").read_text() == "same\nouter\n"
    with pytest.raises(WorktreeError, match="cannot be merged into itself"):
        repository.merge("outer", outer)
    repository.merge("inner", outer)
    assert (outer / "new").read_text() == "inner\n"
    assert not (project / "new").exists()
    with pytest.raises(WorktreeError, match="was not merged here"):
        repository.merge("inner", undo=True)
    repository.merge("outer")
    assert (project / "new").read_text() == "inner\n"


def test_what_is_trusted_in_the_project_is_trusted_in_its_worktree(repository: World) -> None:
    store = repository.home / "trust.json"
    store.write_text(json.dumps({str(repository.project.resolve()): {"decision": "declined", "since": "today"}}))
    store.chmod(0o600)

    directory = repository.enter()

    assert json.loads(store.read_text())[str(directory)]["decision"] == "declined"


@pytest.mark.parametrize("name", ["a/b", "..", "-x", "a b", "x.lock", "", "a\nb"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(WorktreeError, match="invalid name"):
        checked(name)


def test_files_that_programs_obey_are_in_it_and_no_change(repository: World) -> None:
    (repository.project / ".claude/skills/a").mkdir(parents=True)
    (repository.project / ".claude/settings.json").write_text("{}")
    (repository.project / ".claude/skills/a/SKILL.md").write_text("A skill.")
    (repository.project / ".claude/run.sh").write_text("true")
    (repository.project / ".claude/run.sh").chmod(0o755)
    repository.git("add", ".claude")
    repository.git("commit", "-q", "-m", "second")
    (repository.project / ".kaa").mkdir()
    (repository.project / ".kaa/settings.json").write_text("{}")

    directory = repository.enter()

    assert contents(directory / ".claude") == contents(repository.project / ".claude")
    assert (directory / ".claude/run.sh").stat().st_mode & 0o111
    assert (directory / ".kaa/settings.json").read_text() == "{}"
    assert not list(directory.rglob("*.kaa-blocked*"))
    assert repository.diff().strip() == ""
    assert repository.drop() == ""


def test_a_directory_that_is_moved_away_while_git_writes_it_is_written_again(repository: World) -> None:
    """A filter does once, between two files of the directory, what the guard of the sandbox does at any time."""
    project = repository.project
    (project / "filter.sh").write_text(
        'if ! test -e "$TMPDIR/moved"; then mkdir "$TMPDIR/moved"; mv folder "$TMPDIR/moved"; fi; cat\n'
    )
    repository.git("config", "filter.moving.smudge", "sh filter.sh")
    (project / ".gitattributes").write_text("folder/b filter=moving\n")
    (project / "folder").mkdir()
    for name in "abc":
        (project / "folder" / name).write_text(name)

    directory = repository.enter()

    assert contents(directory / "folder") == {"a": "a", "b": "b", "c": "c"}


def test_an_index_that_a_command_wrote_puts_nothing_into_it(repository: World) -> None:
    """The entries say of files that are not there, or are other ones, that git need not look at them."""
    project, planted = repository.project, repository.project.parent / "planted"
    planted.write_text("planted\n")
    blob = repository.git("hash-object", "-w", str(planted)).strip()
    names = {
        ".envrc": "--skip-worktree",
        ".vscode/tasks.json": "--skip-worktree",
        ".claude/settings.json": "--assume-unchanged",
        "src/.husky/pre-commit": "--skip-worktree",
        "new": "--skip-worktree",
    }
    (project / "src").mkdir()
    (project / "changed").write_text("changed\n")
    for name, flag in names.items():
        repository.git("update-index", "--add", "--cacheinfo", f"100755,{blob},{name}")
        repository.git("update-index", flag, name)
    repository.git("add", "-N", "changed")
    _point_to(bytes.fromhex(blob), "same", repository)

    directory = repository.enter()

    assert contents(directory) == {"same": "same\n", "changed": "changed\n"}
    assert repository.left_out == ()
    assert repository.diff() == ""


def _point_to(blob: bytes, name: str, repository: World) -> None:
    """Have the index say that a file has another content, with its size and times as they are."""
    index = repository.project / ".git" / "index"
    was = bytes.fromhex(repository.git("rev-parse", f":{name}").strip())
    data = index.read_bytes()[:-20].replace(was, blob)
    index.write_bytes(data + hashlib.sha1(data).digest())
    assert repository.git("status", "--short", name)[0] == "M"


def test_objects_that_a_command_replaced_put_nothing_into_it(repository: World) -> None:
    repository.enter("first")
    tree = repository.git("rev-parse", f"{repository.find('first').base}^{{tree}}").strip()
    (repository.project / ".envrc").write_text("planted\n")
    repository.git("add", ".envrc")
    repository.git("replace", tree, repository.git("write-tree").strip())
    repository.git("reset", "-q")
    (repository.project / ".envrc").unlink()

    directory = repository.enter()

    assert contents(directory) == {"same": "same\n"}


def test_no_program_that_a_filter_names_is_run(repository: World) -> None:
    project = repository.project
    (project / "clean.sh").write_text("echo run >> canary; echo replaced\n")
    (project / ".gitattributes").write_text("*.txt filter=mine merge=mine\n")
    for name in ("clean", "smudge"):
        repository.git("config", f"filter.mine.{name}", "sh clean.sh")
    repository.git("config", "filter.mine.required", "true")
    repository.git("config", "merge.mine.driver", "sh clean.sh")
    (project / "a.txt").write_text("one\ntwo\nthree\n")

    directory = repository.enter()
    (directory / "a.txt").write_text("one\ntwo\nTHREE\n")
    (project / "a.txt").write_text("ONE\ntwo\nthree\n")
    repository.merge()

    assert (project / "a.txt").read_text() == "ONE\ntwo\nTHREE\n"
    assert not (project / "canary").exists()
    assert not (directory / "canary").exists()


def test_files_of_a_sparse_checkout_that_are_not_there_are_no_change(repository: World) -> None:
    for name in ("inside", "outside"):
        (repository.project / name).mkdir()
        (repository.project / name / "file").write_text(name)
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "second")
    repository.git("sparse-checkout", "set", "inside")

    directory = repository.enter()

    assert contents(directory) == {"same": "same\n", "inside/file": "inside"}
    assert repository.git("status", "--short", at=directory) == ""


def test_a_file_that_git_ignores_but_has_is_in_it_as_it_is_now(repository: World) -> None:
    (repository.project / ".gitignore").write_text("*.log\n")
    (repository.project / "kept.log").write_text("staged\n")
    repository.git("add", "-f", ".gitignore", "kept.log")
    (repository.project / "kept.log").write_text("now\n")
    (repository.project / "other.log").write_text("ignored\n")

    directory = repository.enter()
    append("more\n", directory / "kept.log")
    repository.merge()

    assert contents(directory).keys() == {"same", ".gitignore", "kept.log"}
    assert (repository.project / "kept.log").read_text() == "now\nmore\n"


@pytest.mark.parametrize("is_repository", [True, False])
def test_links_under_protected_names_are_in_it_or_named_and_a_merge_leaves_them(
    world: World, *, is_repository: bool
) -> None:
    project = world.project
    for name in ("ai/skills", "scripts", ".claude", ".husky"):
        (project / name).mkdir(parents=True)
    (project / "same").write_text("same\n")
    (project / "ai" / "skills" / "one.md").write_text("one")
    (project / "scripts" / "check").write_text("true")
    links = {".claude/skills": "../ai/skills", ".husky/pre-commit": "../scripts/check", ".clinerules": "ai/rules"}
    outside = {".claude/agents": str(project / "ai"), ".envrc": "../envrc"}
    for name, target in {**links, **outside}.items():
        (project / name).symlink_to(target)
    if is_repository:
        world.git("init", "-q", "-b", "main")
        world.git("add", ".")
        world.git("commit", "-q", "-m", "links")

    directory = world.enter()
    append("more\n", directory / "same")
    if is_repository:
        world.git("commit", "-q", "-am", "more", at=directory)
        assert world.git("diff", "--name-only", "HEAD~", "HEAD", at=directory) == "same\n"
    world.merge()

    assert {name: os.readlink(directory / name) for name in links} == links
    assert not any(map(os.path.lexists, (directory / name for name in outside)))
    assert {name: os.readlink(project / name) for name in {**links, **outside}} == {**links, **outside}
    assert (project / "same").read_text() == "same\nmore\n"
    assert {one.partition(" ")[0] for one in world.left_out} == {*outside}
    assert not [*directory.rglob("*.kaa-blocked"), *project.rglob("*.kaa-blocked")]
    world.merge(undo=True)
    assert (project / "same").read_text() == "same\n"
    assert {name: os.readlink(project / name) for name in outside} == outside


def test_files_that_worktreeinclude_names_arrive_or_are_named(repository: World) -> None:
    project = repository.project
    (project / ".gitignore").write_text(".env*\n.vscode\nhidden\nlink\n")
    (project / ".worktreeinclude").write_text(".env*\n.vscode/\nhidden\nlink\n")
    (project / ".vscode").mkdir()
    for name in (".env.local", ".envrc", ".vscode/tasks.json", "hidden"):
        (project / name).write_text(f"{name}\n")
    (project / "link").symlink_to("same")
    settings = {"sandbox": {"hidden": [str(project / "hidden")]}}
    (repository.home / "settings.json").write_text(json.dumps(settings))

    directory = repository.enter()

    expected = contents(project)
    del expected["hidden"]
    assert contents(directory) == expected
    assert repository.left_out == ("hidden (the sandbox hides it)",)


def test_deep_folders_can_be_removed(entered: World) -> None:
    directory = entered.directory
    place = os.open(directory, os.O_RDONLY)
    for _ in range(1050):
        os.mkdir("deep", dir_fd=place)
        below = os.open("deep", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)

    entered.drop(force=True)

    assert not directory.exists()


def test_what_was_shown_is_merged_whatever_a_command_changes_meanwhile(entered: World) -> None:
    directory = entered.directory
    append("shown\n", directory / "same")
    worktrees, worktree = entered.worktrees(), entered.find()
    shown = asyncio.run(worktrees.foresee(worktree))
    append("planted\n", directory / "same")
    (directory / "new").write_text("planted\n")

    asyncio.run(worktrees.merge(worktree, shown))

    assert contents(entered.project) == {"same": "same\nshown\n"}
    entered.merge()
    assert contents(entered.project) == {"same": "same\nshown\nplanted\n", "new": "planted\n"}


def test_what_was_shown_is_not_merged_into_a_project_that_changed_meanwhile(entered: World) -> None:
    append("theirs\n", entered.directory / "same")
    worktrees, worktree = entered.worktrees(), entered.find()
    shown = asyncio.run(worktrees.foresee(worktree))
    (entered.project / "new").write_text("mine\n")

    with pytest.raises(WorktreeError, match="changed meanwhile"):
        asyncio.run(worktrees.merge(worktree, shown))

    assert contents(entered.project) == {"same": "same\n", "new": "mine\n"}


def test_what_git_ignores_in_the_project_is_named_and_not_replaced(repository: World) -> None:
    project = repository.project
    (project / ".gitignore").write_text("data*\n")
    directory = repository.enter()
    (project / "data.dir").mkdir()
    for name in ("data.db", "data.file", "data.dir/one"):
        (project / name).write_text("the user's\n")
    (directory / "data.file").mkdir()
    for name in ("data.db", "data.dir", "data.file/two", "new"):
        (directory / name).write_text("generated\n")
    repository.git("add", "-f", ".", at=directory)
    before = contents(project)

    shown = asyncio.run(repository.worktrees().foresee(repository.find()))
    with pytest.raises(WorktreeError, match=r"data\.db, data\.dir/, data\.file would be replaced"):
        repository.merge()

    assert shown.obstacles == ("data.db", "data.dir/", "data.file")
    assert contents(project) == before


def test_what_git_ignores_and_a_merge_added_can_be_merged_again_and_taken_back(repository: World) -> None:
    (repository.project / ".gitignore").write_text("*.log\n")
    directory = repository.enter()
    (directory / "run.log").write_text("one\n")
    repository.git("add", "-f", "run.log", at=directory)
    repository.merge()
    before = contents(repository.project)
    append("two\n", directory / "run.log")

    repository.merge()

    assert contents(repository.project) == before | {"run.log": "one\ntwo\n"}
    repository.merge(undo=True)
    assert contents(repository.project) == before


def test_a_merge_that_fails_leaves_the_project_as_it_was(repository: World) -> None:
    """The sandbox keeps git from writing one of the files."""
    project = repository.project
    for name in (".claude/settings.json", ".vscode/tasks.json", "removed/file"):
        (project / name).parent.mkdir()
        (project / name).write_text("{}")
    directory = repository.enter()
    (directory / ".claude" / "settings.json").write_text("[]")
    append("theirs\n", directory / "same")
    (directory / "removed" / "file").unlink()
    (directory / ".vscode" / "tasks.json").unlink()
    (directory / "new").write_text("new\n")
    before = contents(project)

    with pytest.raises(WorktreeError, match=r"\.claude/settings\.json, \.vscode/tasks\.json cannot be"):
        repository.merge()

    assert contents(project) == before


def test_a_merge_that_the_guard_of_the_sandbox_stops_leaves_the_project_as_it_was(entered: World) -> None:
    directory = entered.directory
    append("theirs\n", directory / "same")
    for name in ("-first", "x/last", *(f".claude/{number}" for number in range(9))):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text("{}")

    with pytest.raises(WorktreeError, match=r"\.claude"):
        entered.merge()

    assert contents(entered.project) == {"same": "same\n"}


def test_a_merge_that_would_lead_what_git_executes_elsewhere_leaves_nothing(repository: World) -> None:
    project = repository.project
    repository.git("config", "core.hooksPath", "t/hooks")
    directory = repository.enter()
    (directory / "tools").mkdir()
    (directory / "t").symlink_to("tools")
    append("theirs\n", directory / "same")

    with pytest.raises(WorktreeError, match="cannot be written: nothing was merged"):
        repository.merge()

    assert sorted(path.name for path in project.iterdir()) == [".git", "same"]
    assert contents(project) == {"same": "same\n"}


def test_what_attributes_cannot_convert_is_a_file_like_others(repository: World) -> None:
    project = repository.project
    (project / "odd.txt").write_text("old\n", encoding="utf-16")
    (project / ".gitattributes").write_text("odd.txt working-tree-encoding=UTF-16\n")
    directory = repository.enter()
    (project / "odd.txt").write_bytes(b"the user's")
    append("theirs\n", directory / "same")
    (directory / "odd.txt").write_text("theirs\n", encoding="utf-16")

    with pytest.raises(WorktreeError, match=r"odd\.txt changed here and in the worktree"):
        repository.merge()

    assert (project / "odd.txt").read_bytes() == b"the user's"


def test_what_no_merge_takes_over_is_named_and_keeps_the_worktree(repository: World) -> None:
    (repository.project / ".gitignore").write_text("data/\n*.log\n.venv/\ncache/\n")
    (repository.project / "old.log").write_text("old\n")
    (repository.project / ".worktreeinclude").write_text("old.log\n")
    directory = repository.enter()
    for name in ("empty", "committed"):
        (directory / name).mkdir()
        repository.git("init", "-q", at=directory / name)
        (directory / name / "work").write_text("work\n")
    repository.git("add", ".", at=directory / "committed")
    repository.git("commit", "-q", "-m", "inner", at=directory / "committed")
    for name in ("git~1", "new", "data/deep/result", ".venv/generated", "cache/CACHEDIR.TAG", "cache/generated"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("work\n")
    left_out = ("committed/", "empty/", "git~1", "data/")

    shown = asyncio.run(repository.worktrees().foresee(repository.find()))
    repository.merge()
    standing = asyncio.run(repository.worktrees().standing(repository.find()))

    assert (shown.left_out, standing.left_out, standing.is_changed) == (left_out, left_out, False)
    assert contents(repository.project).keys() == {"same", ".gitignore", "old.log", ".worktreeinclude", "new"}
    with pytest.raises(WorktreeError, match=r"cannot add: committed/, empty/, git~1, data/\. No merge"):
        repository.drop()
    assert (directory / "empty" / "work").exists()
    repository.drop(force=True)


def test_files_in_place_of_a_repository_of_the_project_do_not_replace_its_own(repository: World) -> None:
    library = repository.project / "library"
    library.mkdir()
    repository.git("init", "-q", at=library)
    (library / "same").write_text("the user's\n")
    repository.git("add", ".", at=library)
    repository.git("commit", "-q", "-m", "inner", at=library)
    repository.git("-c", "advice.addEmbeddedRepo=false", "add", "library")
    repository.git("commit", "-q", "-m", "second")
    directory = repository.enter()
    assert repository.git("status", "--short", at=directory) == ""
    (directory / "library" / "same").write_text("generated\n")

    with pytest.raises(WorktreeError, match="library/same would be replaced"):
        repository.merge()

    assert contents(library) == {"same": "the user's\n"}


def test_line_endings_stay_as_they_are(repository: World) -> None:
    for name, value in (("autocrlf", "input"), ("safecrlf", "true")):
        repository.git("config", f"core.{name}", value)
    mixed = b"one\r\ntwo\n"
    (repository.project / "mixed").write_bytes(mixed)
    directory = repository.enter()
    assert (directory / "mixed").read_bytes() == mixed
    (directory / "new").write_bytes(mixed)

    repository.merge()

    assert (repository.project / "new").read_bytes() == mixed
    assert repository.drop() == ""


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.iterdir() if path.is_file())
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize("place", [".gitattributes", ".git/info/attributes"])
def test_a_merge_writes_what_it_showed_whatever_attributes_have_git_convert(repository: World, place: str) -> None:
    project = repository.project
    attributes = "conftest.py working-tree-encoding=UTF-16LE\n*.c ident\n*.bat text eol=crlf\n*.txt text=auto\n"
    (project / place).write_text(attributes)
    (project / "old.bat").write_bytes(b"old\n")
    directory = repository.enter()
    new = {
        "conftest.py": b"open('CANARY', 'w')# ",
        "a.c": b"/* $Id$ */\n",
        "b.c": b"/* $Id: mine $ */\n",
        "new.bat": b"a\nb\n",
        "old.bat": b"old\nnew\n",
        "new.txt": b"a\r\nb\r\n",
    }
    assert files(directory)["old.bat"] == b"old\n"
    for name, content in new.items():
        (directory / name).write_bytes(content)
    before = files(project)

    async def shown() -> str:
        worktrees = repository.worktrees()
        return await worktrees.merge_diff(repository.find(), await worktrees.foresee(repository.find()))

    diffs = (repository.diff(), asyncio.run(shown()))
    repository.merge()

    assert all("+open('CANARY', 'w')#" in diff and "+/* $Id: mine $ */" in diff for diff in diffs)
    assert files(project) == before | new
    repository.merge(undo=True)
    assert files(project) == before


def test_line_ends_of_the_user_stay_where_attributes_would_change_them(repository: World) -> None:
    project = repository.project
    (project / ".gitattributes").write_text("* text=auto\n")
    (project / "dos.txt").write_bytes(b"a\r\nb\r\n")
    (project / "same.txt").write_bytes(b"a\r\nb\n")
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "second")
    (project / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    directory = repository.enter()
    assert (directory / "dos.txt").read_bytes() == b"a\r\nb\r\nc\r\n"
    (directory / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\nd\r\n")
    before = files(project)

    repository.merge()
    merged = files(project)
    repository.merge(undo=True)

    assert merged == before | {"dos.txt": b"a\r\nb\r\nc\r\nd\r\n"}
    assert files(project) == before


def test_a_file_that_a_filter_would_clean_is_taken_over_as_it_is_on_disk(repository: World) -> None:
    """As with Git LFS: git has a pointer, and the disk has the content."""
    project = repository.project
    for name in ("clean", "smudge"):
        repository.git("config", f"filter.pointer.{name}", "tr a-z A-Z")
    (project / ".gitattributes").write_text("*.bin filter=pointer\n")
    for name in ("same.bin", "changed.bin"):
        (project / name).write_bytes(b"content\n")
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "second")
    assert repository.git("show", "HEAD:same.bin") == "CONTENT\n"
    directory = repository.enter()
    assert repository.diff() == ""
    (directory / "changed.bin").write_bytes(b"more content\n")
    before = files(project)

    repository.merge()

    assert files(project) == before | {"changed.bin": b"more content\n"}
    assert repository.git("status", "--short").split() == ["M", "changed.bin"]


def test_what_git_ignores_outside_of_gitignore_is_no_part_of_it(repository: World) -> None:
    (repository.project / ".git" / "info" / "exclude").write_text("excluded\n")
    (repository.project.parent / "my ignored names").write_text("mine\n")
    repository.git("config", "core.excludesFile", str(repository.project.parent / "my ignored names"))
    for name in ("excluded", "mine"):
        (repository.project / name).touch()

    directory = repository.enter()
    for name in ("excluded", "mine", "new"):
        (directory / name).write_text(name)
    repository.merge()

    assert contents(repository.project) == {"same": "same\n", "excluded": "", "mine": "", "new": "new"}


def test_the_mode_of_a_file_stays_where_the_file_system_has_none(repository: World) -> None:
    (repository.project / "run").write_text("run\n")
    (repository.project / "run").chmod(0o755)
    repository.git("add", "run")
    repository.git("commit", "-q", "-m", "second")
    repository.git("config", "core.fileMode", "false")
    (repository.project / "run").chmod(0o644)

    directory = repository.enter()

    assert (directory / "run").stat().st_mode & 0o100
    assert repository.git("status", "--short", at=directory) == ""


def test_objects_that_a_command_replaced_are_neither_shown_nor_merged(entered: World) -> None:
    directory = entered.directory
    (directory / "new").write_text("shown\n")
    worktrees, worktree = entered.worktrees(), entered.find()
    shown = asyncio.run(worktrees.foresee(worktree))
    digest = hashlib.sha1(b"blob 6\0shown\n").hexdigest()
    stored = entered.project / ".git" / "objects" / digest[:2] / digest[2:]
    stored.unlink()
    stored.write_bytes(zlib.compress(b"blob 8\0planted\n"))
    assert entered.git("cat-file", "-p", digest) == "planted\n"

    for attempt in (
        worktrees.merge(worktree, shown),
        worktrees.merge_diff(worktree, shown),
        worktrees.foresee(worktree),
    ):
        with pytest.raises(WorktreeError, match="objects of the repository are not what their names say"):
            asyncio.run(attempt)

    assert contents(entered.project) == {"same": "same\n"}
