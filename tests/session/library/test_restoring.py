"""Sessions come back from the trash whole, wherever kaa was killed on the way there or back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.session.errors import RestoreError
from kaa.session.file.file_store import draft_path, journal_path
from kaa.session.library.restoring import restore, trashed_sessions
from kaa.session.library.trash import trash_session
from tests.support.sessions import user_entry, write_session

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the trash of freedesktop.org is not macOS's")

# Ends the process, as a kill does, when it is about to change a folder for the n-th time.
_ENDS = """
import os, sys
from pathlib import Path
from kaa.session.library.restoring import restore, trashed_sessions
from kaa.session.library.trash import trash_session

what, path, data, left = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
environ = {"XDG_DATA_HOME": data}

def end(event, arguments):
    global left
    if event in ("os.rename", "os.link", "os.remove"):
        left -= 1
        if left < 0:
            os._exit(9)

sys.addaudithook(end)
if what == "trash":
    trash_session(path, environ)
else:
    (trashed,) = trashed_sessions([path.parent], environ)
    restore(trashed)
"""


class Bin:
    """A session with all that belongs to it, and a trash."""

    def __init__(self, folder: Path) -> None:
        self.environ = {"XDG_DATA_HOME": str(folder / "data")}
        self.path = folder / "sessions" / "s.jsonl"
        self.path.parent.mkdir()
        write_session(self.path, user_entry("a", None, "hi"))
        journal_path(self.path).write_text("owed")
        draft_path(self.path).write_text("typed")
        self._whole = self.files()

    def files(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in self.path.parent.iterdir()}

    def is_whole(self) -> bool:
        return self.files() == self._whole

    def trash(self) -> Path:
        return trash_session(self.path, self.environ)

    def restore(self) -> None:
        (trashed,) = trashed_sessions([self.path.parent], self.environ)
        restore(trashed)

    def trashed(self) -> list[str]:
        return os.listdir(Path(self.environ["XDG_DATA_HOME"], "Trash", "files"))

    def killed(self, what: str) -> Iterator[bool]:
        """Kill kaa at the first change, then at the second, until it comes to its end."""
        for changes in range(20):
            command = [sys.executable, "-c", _ENDS, what, str(self.path), self.environ["XDG_DATA_HOME"], str(changes)]
            ended = subprocess.run(command, check=False).returncode
            assert ended in (0, 9)
            yield ended == 9
            if ended == 0:
                return


@pytest.fixture
def world(tmp_path: Path) -> Bin:
    return Bin(tmp_path)


def test_a_kill_while_it_is_trashed_leaves_it_whole_or_restorable(world: Bin) -> None:
    for _ in world.killed("trash"):
        if not world.path.exists():
            world.restore()

        assert world.is_whole()


def test_a_kill_while_it_is_restored_leaves_it_whole_or_restorable(world: Bin) -> None:
    world.trash()
    for was_killed in world.killed("restore"):
        if was_killed:
            assert not world.path.exists() or world.is_whole()
            if world.trashed():
                world.restore()

        assert world.is_whole()
        assert world.trashed() == []
        world.trash()


def test_what_was_left_in_the_trash_alone_comes_along(world: Bin) -> None:
    trashed = world.trash()
    trashed.rename(world.path)
    (trashed.parents[1] / "info" / "s.jsonl.trashinfo").unlink()
    world.trash()

    world.restore()

    assert world.is_whole()


def test_a_second_that_passes_between_the_moves_separates_nothing(world: Bin) -> None:
    info = world.trash().parents[1] / "info"
    for second, note in enumerate(info.iterdir()):
        text = note.read_text().splitlines()
        note.write_text("\n".join([*text[:2], f"DeletionDate=2026-01-01T00:00:0{second}"]))

    world.restore()

    assert world.is_whole()
    assert world.trashed() == []


def test_what_was_trashed_with_it_comes_back_and_not_what_was_trashed_before(world: Bin) -> None:
    world.trash()
    write_session(world.path, user_entry("b", None, "another"))
    journal_path(world.path).write_text("other")
    trashed = world.trash()
    note = trashed.parents[1] / "info" / f"{trashed.name}.trashinfo"
    journal_note = note.with_name("s.jsonl.2.partial.trashinfo")
    for each in (note, journal_note):
        each.write_text("\n".join([*each.read_text().splitlines()[:2], "DeletionDate=2025-01-01T00:00:00"]))

    restore(next(one for one in trashed_sessions([world.path.parent], world.environ) if one.path == trashed))

    assert journal_path(world.path).read_text() == "other"


def test_nothing_comes_back_beside_another_session(world: Bin) -> None:
    world.trash()
    write_session(world.path, user_entry("b", None, "another"))

    with pytest.raises(RestoreError, match="another file in its place"):
        world.restore()

    assert os.listdir(world.path.parent) == ["s.jsonl"]
