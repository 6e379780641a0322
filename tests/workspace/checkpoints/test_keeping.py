"""What is kept survives what goes wrong, stays private and within its limits, and says what it leaves out."""

import contextlib
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest

from kaa.workspace.checkpoints.contract import (
    ChangeSet,
    CheckpointLimits,
    FileChange,
    FileState,
    MissingCheckpointError,
)
from kaa.workspace.checkpoints.store import CheckpointStore, new_change_set_id
from kaa.workspace.checkpoints.upkeep import tidy
from kaa.workspace.protocol import CommandRequest
from kaa.workspace.sandbox.options import SandboxOptions
from tests.support.processes import Processes
from tests.workspace.checkpoints.conftest import LIMITS, Play, Turns

FILES = {"a.txt": "one\n", "b.txt": "b\n"}


def _watchers() -> Iterator[int]:
    """Processes below this one that watch directories: without a sandbox, the slots for checkpoints."""
    for hands in Processes.children(os.getpid()):
        for pid in Processes.children(hands):
            with contextlib.suppress(OSError):
                links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
                if "anon_inode:inotify" in links:
                    yield pid


def test_the_turn_goes_on_when_the_slot_dies(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.checkpoints.ready()
        await turns.workspace.run(CommandRequest(("bash", "-c", "echo two > a.txt")))
        [slot] = _watchers()
        os.kill(slot, signal.SIGKILL)
        await turns.workspace.run(CommandRequest(("bash", "-c", "echo two > b.txt")))
        change_set = await turns.checkpoints.collect()

        assert change_set is not None
        assert [change.path for change in change_set.files] == ["a.txt", "b.txt"]
        await turns.undo(change_set)
        assert turns.contents() == FILES

    play(scene, FILES)


def test_a_turn_that_was_killed_is_found_when_its_session_goes_on(play: Play) -> None:
    async def killed(turns: Turns) -> None:
        await turns.checkpoints.ready()
        await turns.workspace.run(CommandRequest(("bash", "-c", "echo killed > a.txt; echo new > new; rm b.txt")))

    async def another(turns: Turns) -> None:
        assert await turns.session("two").interrupted() is None

    async def again(turns: Turns) -> None:
        found = await turns.checkpoints.interrupted()

        assert found is not None
        assert found.interrupted
        assert [change.path for change in found.files] == ["a.txt", "b.txt", "new"]
        await turns.undo(found)
        assert turns.contents() == FILES
        assert await turns.checkpoints.interrupted() is None
        assert await turns.session("one").interrupted() is None

    play(killed, FILES)
    play(another)
    time.sleep(0.06)  # the time of a change is known after 50 ms (`kaa.hands.checkpoints.states`)
    play(again)


def test_a_call_before_which_nothing_can_be_noted_begins_no_turn(play: Play) -> None:
    async def refused(turns: Turns) -> None:
        await turns.turn("true")
        with pytest.raises(OSError, match="null character"):
            await turns.checkpoints.ready("a\0b", call="1")
        (turns.root / "a.txt").write_text("the user's")  # and kaa is killed

    async def again(turns: Turns) -> None:
        assert await turns.checkpoints.interrupted() is None

    play(refused, FILES)
    time.sleep(0.06)  # as above
    play(again)


def test_a_turn_that_was_killed_before_everything_was_looked_at_is_blamed_for_nothing(
    play: Play, tmp_path: Path
) -> None:
    store = CheckpointStore(str(tmp_path / "private" / "checkpoints"), LIMITS)
    store.begin_turn("one", time.time_ns())
    store.close()

    async def scene(turns: Turns) -> None:
        (turns.root / "a.txt").write_text("written by it, or by me")
        assert await turns.checkpoints.interrupted() is None
        await turns.checkpoints.ready()
        assert await turns.checkpoints.interrupted() is None

    play(scene, FILES)


def test_two_sessions_at_a_time_share_what_is_kept(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        first = turns.checkpoints
        one = await turns.changed("echo two > a.txt")
        turns.session("two")
        two = await turns.changed("echo three > a.txt")

        plan = await first.preview([two.id, one.id], [])
        await first.restore(plan)

        assert turns.contents() == FILES

    play(scene, FILES)


def test_a_torn_pack_keeps_everything_before(play: Play, tmp_path: Path) -> None:
    kept: list[ChangeSet] = []

    async def scene(turns: Turns) -> None:
        kept.append(await turns.changed("echo two > a.txt"))

    async def again(turns: Turns) -> None:
        await turns.undo(kept[0])
        assert turns.contents() == FILES

    play(scene, FILES)
    for pack in (tmp_path / "private" / "checkpoints" / "packs").iterdir():
        with pack.open("ab") as file:
            file.write(b"kaaP\0\0\1\0half a rec")
    play(again)


def test_a_damaged_content_is_told_and_not_restored(play: Play, tmp_path: Path) -> None:
    async def scene(turns: Turns) -> None:
        change_set = await turns.changed("echo two > a.txt")
        for pack in (tmp_path / "private" / "checkpoints" / "packs").iterdir():
            pack.write_bytes(pack.read_bytes().replace(b"one\n", b"oNe\n"))

        with pytest.raises(MissingCheckpointError, match="damaged"):
            await turns.undo(change_set)

        assert (turns.root / "a.txt").read_text() == "two\n"

    play(scene, FILES)


def test_what_was_removed_is_said_to_be(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        with pytest.raises(MissingCheckpointError, match="no longer kept"):
            await turns.checkpoints.preview(["0123456789ab"], [])

    play(scene, FILES)


def test_everything_is_the_users_alone_and_hidden_from_commands(
    play: Play, tmp_path: Path, tiers: SandboxOptions
) -> None:
    private = tmp_path / "private"

    async def scene(turns: Turns) -> None:
        await turns.skip_unless_held()
        await turns.changed("echo two > a.txt")
        modes = {path.stat().st_mode & 0o777 for path in (private / "checkpoints").rglob("*")}
        assert modes == {0o700, 0o600}

        result = await turns.workspace.run(
            CommandRequest(("bash", "-c", f"cat {private}/*/packs/*; echo x > {private}/x"))
        )

        assert (b"kaaP" in result.tail) is (tiers.mode == "full-access")
        assert (private / "x").exists() is (tiers.mode == "full-access")

    private.mkdir()
    play(scene, FILES, sandbox=msgspec.structs.replace(tiers, private=(str(private),)))


def test_what_is_not_covered_is_said_rule_by_rule_and_never_touched(play: Play) -> None:
    script = """
        head -c 11000000 /dev/zero > large; echo x > ignored/file; echo x >> node_modules/m; mkfifo pipe
        head -c 1100000 /dev/zero > big.log; echo x >> small.log; mkdir venv2; touch venv2/pyvenv.cfg venv2/f
        rm -f shrinks; echo small > shrinks; git init -q repo; echo x > .git/x
    """
    files = {
        ".gitignore": "ignored/\n*.log\n",
        "shrinks": "x" * 11_000_000,
        **dict.fromkeys(("ignored/file", "node_modules/m", "small.log", ".git/x"), "1\n"),
    }

    async def scene(turns: Turns) -> None:
        change_set = await turns.changed(script)

        plan = await turns.checkpoints.preview([change_set.id], [])

        assert [step.path for step in plan.steps if not step.path.startswith("repo")] == ["small.log", "venv2/f"][:1]
        assert {conflict.path for conflict in plan.conflicts} == {"large", "shrinks", "big.log", "pipe"}
        assert [sentence.partition(" (")[0] for sentence in plan.uncovered] == [
            "what is in .git",
            "2 folders that programs generate",
            "2 files or folders that .gitignore leaves out",
            "2 files larger than 10 MiB",
            "1 name with nothing behind it that can be read, such as a pipe or a foreign file",
        ]
        await turns.checkpoints.restore(plan)
        left = turns.root
        assert (left / "ignored" / "file").exists()
        assert (left / "large").exists()
        assert (left / "shrinks").read_text() == "small\n"
        assert (left / "venv2" / "f").exists()
        assert (left / "repo" / ".git" / "HEAD").exists()

    play(scene, files)


def test_ten_thousand_files_are_looked_at_once(play: Play, tmp_path: Path) -> None:
    files = {f"d{n % 100}/f{n}": f"{n}\n" for n in range(10_000)}

    async def first(turns: Turns) -> None:
        change_set = await turns.changed("echo x > d7/f7; rm -r d8; mv d9 d10/")
        assert len(change_set.files) == 1 + 100 + 200
        await turns.undo(change_set)

    async def again(turns: Turns) -> None:
        packs = tmp_path / "private" / "checkpoints" / "packs"
        before = sum(path.stat().st_size for path in packs.iterdir())
        await turns.checkpoints.ready()
        # What stat says is the same is not read again; what was just put back may be.
        assert sum(path.stat().st_size for path in packs.iterdir()) - before < 64 * 1024

    limits = CheckpointLimits(first_files=0)
    play(first, files, limits=limits)
    play(again, limits=limits)


def _set_of(store: CheckpointStore, content: bytes) -> ChangeSet:
    from kaa.hands.checkpoints.states import digest_of

    store.packs.add([content])
    state = FileState("file", digest_of(content), 0o644, len(content))
    change_set = ChangeSet(new_change_set_id(), (FileChange("a", None, state),))
    store.save(change_set)
    return change_set


def test_the_oldest_goes_first_when_it_is_too_much(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "store"), CheckpointLimits(max_megabytes=1))
    sets = []
    for number in range(6):
        sets.append(_set_of(store, bytes([number]) * 300_000))
        os.utime(tmp_path / "store" / "sets" / f"{sets[-1].id}.json", (number + 1e9, number + 1e9))
    os.utime(tmp_path / "store" / "sets" / f"{sets[-1].id}.json")
    os.utime(tmp_path / "store" / "sets" / f"{sets[-2].id}.json")

    store.prune()

    assert store.use().megabytes < 1
    for change_set in sets[:-2]:
        with pytest.raises(MissingCheckpointError):
            store.load(change_set.id)
    for number, change_set in enumerate(sets[-2:], 4):
        after = store.load(change_set.id).changes[0].after
        assert after is not None
        assert store.content(after) == bytes([number]) * 300_000
    store.close()


def test_what_is_too_old_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "store"), LIMITS)
    change_set = _set_of(store, b"old")
    old = time.time() - 91 * 86_400
    os.utime(tmp_path / "store" / "sets" / f"{change_set.id}.json", (old, old))
    other = CheckpointStore(str(tmp_path / "store"), LIMITS)

    assert store.prune() == 0
    other.close()
    assert store.prune() == 1

    assert store.use().checkpoints == 0
    store.close()


def test_turns_share_one_file_that_tells_only_of_those_under_way(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store, other = CheckpointStore(str(folder), LIMITS), CheckpointStore(str(folder), LIMITS)
    store.begin_manifest("/project", b"")
    store.begin_turn("one", 1)
    store.end_turn("one")
    [note] = folder.glob("turns/*")
    inode = note.stat().st_ino

    assert other.killed_turn("one") is None

    store.begin_turn("one", 2)
    turn = other.killed_turn("one")
    assert turn is not None
    assert (turn.began, note.stat().st_ino) == (2, inode)

    store.end_turn("one")
    assert other.killed_turn("one") is None
    for one in (store, other):
        one.close()
    assert not note.exists()


def test_a_turn_is_noted_again_after_its_file_was_removed(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = CheckpointStore(str(folder), LIMITS)
    store.begin_manifest("/project", b"")
    store.begin_turn("one", 1)
    store.end_turn("one")
    for note in folder.glob("turns/*"):
        note.unlink()

    store.begin_turn("one", 2)
    store.close()

    later = CheckpointStore(str(folder), LIMITS)
    assert later.killed_turn("one") is not None
    later.close()


def test_what_nobody_goes_on_with_goes_too(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = CheckpointStore(str(folder), LIMITS)
    store.begin_manifest("/project", b'[["a",["file","00","1",1,""]]]\n')
    store.begin_turn("killed long ago", 1)
    (folder / "sets" / "half.json.0123.tmp").write_bytes(b"{")
    store.packs.add([b"nobody refers to this"])
    store.close()
    old = time.time() - 91 * 86_400
    for path in folder.glob("*/*"):
        os.utime(path, (old, old))

    [use] = tidy(str(tmp_path), LIMITS)

    assert use.checkpoints == 0
    assert use.megabytes == 0
    assert [*folder.glob("*/*")] == []


@contextlib.contextmanager
def _no_file_beyond(size: int) -> Iterator[None]:
    """Let no file of this process grow larger, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_did_not_fit_on_the_disk_spoils_nothing_that_comes_later(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "store"), LIMITS)
    store.begin_manifest("/p", b"")
    store.manifests.add([("a", None, ("file", "00" * 20, 0o644, 1, ""))])
    before = store.last_manifest("/p", None)

    with _no_file_beyond(len(before) + 10), pytest.raises(OSError, match="large"):
        store.manifests.add([("b", None, None)] * 10)
    with _no_file_beyond(10), pytest.raises(OSError, match="large"):
        store.save(ChangeSet("x", (FileChange("a", None, FileState("file", "00" * 20)),)))
    store.manifests.add([("c", None, None)])

    assert store.last_manifest("/p", None) == before + b'[["c",null]]\n'
    assert os.listdir(tmp_path / "store" / "sets") == []
    with _no_file_beyond(10), pytest.raises(OSError, match="large"):
        store.begin_manifest("/p", before)
    assert store.last_manifest("/p", None) == before + b'[["c",null]]\n'
    with _no_file_beyond(10), pytest.raises(OSError, match="large") as caught:
        store.begin_restore("s", "0123", ["a"])
    assert caught.value.filename == str(tmp_path / "store" / "restores" / "0123")
    assert os.listdir(tmp_path / "store" / "restores") == []
    store.close()


@pytest.mark.parametrize(
    "damage",
    ['[["a.txt",["file","a[["b.txt",null]]', "null", "[[5,null]]", '[["a.txt",["file","zz",1,1,""]]]', "[" * 9_999],
)
def test_a_damaged_manifest_is_not_believed_and_costs_no_checkpoint(play: Play, tmp_path: Path, damage: str) -> None:
    async def first(turns: Turns) -> None:
        await turns.changed("echo two > a.txt")

    async def later(turns: Turns) -> None:
        assert turns.store == tmp_path / "private" / "checkpoints"
        for manifest in (turns.store / "manifests").iterdir():
            manifest.write_text(f"{manifest.read_text()}{damage}\n")
        await turns.undo(await turns.changed("echo three > a.txt; echo new > new"))

        assert turns.contents() == {**FILES, "a.txt": "two\n"}

    play(first, FILES)
    play(later)


def test_what_changes_behind_a_turn_that_could_not_be_kept_is_the_users(play: Play) -> None:
    async def scene(turns: Turns) -> None:
        await turns.changed("echo two > a.txt")
        sets = turns.store / "sets"
        sets.rename(turns.store / "elsewhere")
        with pytest.raises(OSError, match="No such file"):
            await turns.turn("echo lost > a.txt")
        (turns.store / "elsewhere").rename(sets)
        (turns.root / "b.txt").write_text("the user's")
        await turns.undo(await turns.changed("echo three > a.txt"))

        assert turns.contents() == {"a.txt": "lost\n", "b.txt": "the user's"}

    play(scene, FILES)


def _kept(store: CheckpointStore, *contents: bytes) -> ChangeSet:
    """A change set that made files of these contents."""
    store.packs.add(contents)
    states = [FileState("file", blake2b(each, digest_size=20).hexdigest(), 0o644, len(each)) for each in contents]
    change_set = ChangeSet(
        new_change_set_id(), tuple(FileChange(f"{number}", None, state) for number, state in enumerate(states))
    )
    store.save(change_set)
    return change_set


def test_what_was_kept_just_before_somebody_prunes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = (CheckpointStore(str(tmp_path / "checkpoints"), CheckpointLimits(max_megabytes=4)) for _ in range(2))
    for number in range(5):
        _kept(store, bytes([number]) * 1024 * 1024)
    late: list[ChangeSet] = []

    def flock(descriptor: int, operation: int) -> None:
        if operation & fcntl.LOCK_EX and not late:
            late.append(_kept(other, b"late"))
            other.close()
        locked(descriptor, operation)

    locked = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)

    assert store.prune() > 0

    [change] = store.load(late[0].id).changes
    assert change.after is not None
    assert store.content(change.after) == b"late"
    store.close()


def test_pruning_that_fails_leaves_no_copies_and_loses_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "checkpoints"), CheckpointLimits(max_megabytes=20))
    kept = [_kept(store, os.urandom(3 * 1024 * 1024)) for _ in range(8)]
    packs = tmp_path / "checkpoints" / "packs"
    before = list(packs.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * 1024 * 1024, hard))  # as on a disk without so much room
    try:
        with pytest.raises(OSError, match="File too large"):
            store.prune()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)

    assert list(packs.iterdir()) == before
    [change] = kept[-1].changes
    assert change.after is not None
    assert len(store.content(change.after)) == 3 * 1024 * 1024
    store.close()


_KILLED = """
import os, signal, sys, time
from kaa.workspace.checkpoints.contract import CheckpointLimits
from kaa.workspace.checkpoints.store import CheckpointStore

store = CheckpointStore(sys.argv[1], CheckpointLimits())
note = store.begin_restore("s", "0123456789abcdef", ["sub"])
reading, writing = os.pipe()
if os.fork():
    os.close(writing)
    os.read(reading, 1)
    os.kill(os.getpid(), signal.SIGKILL)
os.closerange(3, note)
os.write(writing, b"x")
time.sleep(0.3)  # what is left to do
open(sys.argv[2], "w").close()
"""


def test_a_slot_that_outlives_its_kaa_is_waited_for(tmp_path: Path) -> None:
    done = tmp_path / "done"
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, tmp_path / "store", done], check=False, stdout=subprocess.DEVNULL
    )
    assert killed.returncode == -signal.SIGKILL
    store = CheckpointStore(str(tmp_path / "store"), LIMITS)

    assert store.killed_restores() == {"0123456789abcdef": ["sub"]}

    assert done.exists()
    store.close()
