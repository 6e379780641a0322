"""Sessions in the trash of the system."""

import configparser
import contextlib
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest

from kaa.session.errors import NotASessionError, SessionBusyError, SessionReadError, TrashError
from kaa.session.file.file_store import agents_folder, journal_path
from kaa.session.library.trash import trash_session
from tests.support.sessions import opened, user_entry, write_session

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the trash of freedesktop.org is not macOS's")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


def session(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_session(path, user_entry("a", None, "hi"))


def note(trashed: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(trashed.parents[1] / "info" / f"{trashed.name}.trashinfo")
    return parser["Trash Info"]


def test_a_session_is_moved_whole_with_a_note_of_where_it_came_from(tmp_path: Path, environ: dict[str, str]) -> None:
    path = session(tmp_path / "ein Ördner%" / "s.jsonl")
    content = path.read_bytes()

    trashed = trash_session(path, environ)

    assert not path.exists()
    assert trashed.parent == tmp_path / "data" / "Trash" / "files"
    assert trashed.read_bytes() == content
    assert urllib.parse.unquote(note(trashed)["Path"]) == str(path)
    assert note(trashed)["Path"].isascii()
    assert time.strptime(note(trashed)["DeletionDate"], "%Y-%m-%dT%H:%M:%S")


def test_two_of_the_same_name_both_stay(tmp_path: Path, environ: dict[str, str]) -> None:
    first, second = session(tmp_path / "a" / "s.jsonl"), session(tmp_path / "b" / "s.jsonl")

    trashed = [trash_session(first, environ), trash_session(second, environ)]

    assert [path.name for path in trashed] == ["s.jsonl", "s.2.jsonl"]
    assert [note(path)["Path"] for path in trashed] == [str(first), str(second)]


def test_the_journal_goes_along(tmp_path: Path, environ: dict[str, str]) -> None:
    path = session(tmp_path / "s.jsonl")
    journal_path(path).write_text("{}")

    trashed = trash_session(path, environ)

    assert not journal_path(path).exists()
    assert journal_path(trashed).read_text() == "{}"


def test_a_session_in_use_stays(tmp_path: Path, environ: dict[str, str]) -> None:
    path = session(tmp_path / "s.jsonl")

    with opened(path), pytest.raises(SessionBusyError):
        trash_session(path, environ)

    assert path.exists()


def test_what_is_no_session_is_not_thrown_away(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "notes.jsonl").write_text("precious")

    with pytest.raises(NotASessionError):
        trash_session(tmp_path / "notes.jsonl", environ)
    with pytest.raises(NotASessionError):
        trash_session(tmp_path, environ)
    with pytest.raises(SessionReadError):
        trash_session(tmp_path / "gone.jsonl", environ)

    assert (tmp_path / "notes.jsonl").read_text() == "precious"


def test_where_there_can_be_no_trash_the_session_stays_and_it_is_told(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl")
    journal_path(path).write_text("{}")
    (tmp_path / "data").write_text("a file where a folder should be")

    with pytest.raises(TrashError, match="left where it is"):
        trash_session(path, {"XDG_DATA_HOME": str(tmp_path / "data")})

    assert path.exists()
    assert journal_path(path).exists()


def test_a_session_on_another_disk_goes_to_the_trash_of_that_disk(tmp_path: Path, environ: dict[str, str]) -> None:
    shared_memory = Path("/dev/shm")
    if not shared_memory.is_dir() or shared_memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system to write on")
    path = session(shared_memory / f"kaa-test-{time.time_ns()}" / "s.jsonl")

    trashed = trash_session(path, environ)

    try:
        assert trashed.read_bytes()
        assert trashed.parts[1:3] == ("dev", "shm")
        assert note(trashed)["Path"] == str(path.relative_to(shared_memory))
    finally:
        trashed.unlink()
        (trashed.parents[1] / "info" / f"{trashed.name}.trashinfo").unlink()
        path.parent.rmdir()
        with contextlib.suppress(OSError):  # unless somebody's files are in it
            for folder in (trashed.parent, trashed.parents[1] / "info", trashed.parents[1]):
                folder.rmdir()


_IN_AN_OVERLAY = """
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged || exit 77
exec "$0" -c '
import os
from pathlib import Path
from kaa.session.library.restoring import restore, trashed_sessions
from kaa.session.library.trash import trash_session

environ = {"XDG_DATA_HOME": os.path.abspath("merged/data")}
path = Path("merged/sessions/s.jsonl").absolute()
trashed = trash_session(path, environ)
agent = "s.jsonl.agents/a.jsonl"
print(trashed.parent.relative_to(Path("merged").absolute()), (trashed.parent / agent).exists(), path.parent.exists())
print([one.name for one in path.parent.iterdir()])
[one] = trashed_sessions([path.parent], environ)
restore(one)
print(path.exists(), (path.parent / agent).read_text())
'
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs mounts")
def test_a_session_of_a_lower_layer_is_moved_with_its_agents_and_comes_back(tmp_path: Path) -> None:
    for folder in ("upper", "work", "merged"):
        (tmp_path / folder).mkdir()
    path = session(tmp_path / "lower" / "sessions" / "s.jsonl")
    agents_folder(path).mkdir()
    (agents_folder(path) / "a.jsonl").write_text("the agent")

    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _IN_AN_OVERLAY, sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    if done.returncode == 77:
        pytest.skip(f"there are no overlays here: {done.stderr}")
    assert done.stdout.splitlines() == ["data/Trash/files True True", "[]", "True the agent"], done.stderr
