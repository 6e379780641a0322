"""Files are put back only in place of what is expected, and never through a symlink."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.below import RootDirectory
from kaa.hands.checkpoints.putting import NotAsExpectedError, Putter, remove_leftovers
from kaa.hands.checkpoints.roots import Roots
from kaa.hands.checkpoints.states import State, digest_of
from tests.hands.checkpoints import put_as_ordinary_user
from tests.support.ordinary import ORDINARY_UID, as_ordinary_user, open_directory
from tests.support.warm_start import HandsProgram

_NEW = b"new\n"


def file_of(content: bytes, mode: int = 0o644) -> State:
    return State("file", digest_of(content), mode, len(content))


NEW = file_of(_NEW)
DIRECTORY = State("directory", mode=0o755)


def put(root: RootDirectory, path: str, expected: State | None, target: State | None, content: bytes) -> None:
    """Put one thing back."""
    putter = Putter(Roots([root.path]), "test")
    try:
        putter.put(path, expected, target, content)
    finally:
        putter.close()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[RootDirectory]:
    (tmp_path / "root").mkdir()
    descriptor = os.open(tmp_path / "root", os.O_RDONLY | os.O_DIRECTORY)
    yield RootDirectory(str(tmp_path / "root"), descriptor)
    os.close(descriptor)


@pytest.fixture
def outside(tmp_path: Path, root: RootDirectory) -> Path:
    """A directory outside; `link` in the root leads there."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"old\n")
    (Path(root.path) / "link").symlink_to(folder)
    return folder


@pytest.mark.parametrize("expected", [None, file_of(b"old\n")])
@pytest.mark.parametrize("path", ["link/file", "link/new", "link/deeper/new"])
def test_nothing_is_put_through_a_symlink(
    root: RootDirectory, outside: Path, path: str, expected: State | None
) -> None:
    with pytest.raises((NotAsExpectedError, OSError)):
        put(root, path, expected, NEW, _NEW)

    assert {entry.name: entry.read_bytes() for entry in outside.iterdir()} == {"file": b"old\n"}


def test_nothing_is_removed_through_a_symlink(root: RootDirectory, outside: Path) -> None:
    with pytest.raises(NotAsExpectedError):
        put(root, "link/file", file_of(b"old\n"), None, b"")

    assert (outside / "file").exists()


def test_a_symlink_in_place_of_a_file_is_not_followed(root: RootDirectory, outside: Path) -> None:
    (Path(root.path) / "file").symlink_to(outside / "file")

    with pytest.raises(NotAsExpectedError):
        put(root, "file", file_of(b"old\n"), NEW, _NEW)

    assert (outside / "file").read_bytes() == b"old\n"
    assert (Path(root.path) / "file").is_symlink()


@pytest.mark.parametrize("path", ["..", "../outside/file", "a/../../outside/file", "", "/etc/passwd", ".git/config"])
def test_no_path_leads_out(root: RootDirectory, path: str) -> None:
    with pytest.raises(PermissionError):
        Roots([root.path]).find(path)


@pytest.mark.parametrize("there", [b"other\n", None])
def test_what_is_not_as_expected_stays(root: RootDirectory, there: bytes | None) -> None:
    file = Path(root.path) / "file"
    if there is not None:
        file.write_bytes(there)

    with pytest.raises(NotAsExpectedError):
        put(root, "file", file_of(b"old\n"), NEW, _NEW)

    assert (file.read_bytes() if file.exists() else None) == there
    assert [entry.name for entry in Path(root.path).iterdir()] == (["file"] if there is not None else [])


def test_a_file_is_not_read_where_stat_says_that_it_is_the_same(root: RootDirectory) -> None:
    file = Path(root.path) / "file"
    file.write_bytes(b"whatever\n")
    status = file.stat()
    seen = file_of(b"what was read before\n")._replace(
        stamp=f"{status.st_mtime_ns:x}-{status.st_ctime_ns:x}-{status.st_ino:x}"
    )

    put(root, "file", seen, NEW, _NEW)
    assert file.read_bytes() == _NEW

    with pytest.raises(NotAsExpectedError):  # it is another file now
        put(root, "file", seen, NEW, _NEW)


def test_modes_come_back_whatever_the_umask(root: RootDirectory) -> None:
    former = os.umask(0o077)
    try:
        put(root, "deep/er/run", None, file_of(_NEW, 0o755), _NEW)
    finally:
        os.umask(former)

    assert (Path(root.path) / "deep" / "er" / "run").stat().st_mode & 0o777 == 0o755


def test_a_symlink_comes_back_as_it_was_wherever_it_leads(root: RootDirectory) -> None:
    target = b"/nowhere/at/all"

    put(root, "link", None, State("symlink", digest_of(target), 0, len(target)), target)

    assert os.readlink(Path(root.path) / "link") == os.fsdecode(target)


def test_a_directory_goes_only_when_it_is_empty(root: RootDirectory) -> None:
    (Path(root.path) / "full").mkdir()
    (Path(root.path) / "full" / "mine").touch()
    (Path(root.path) / "empty").mkdir()

    put(root, "full", DIRECTORY, None, b"")
    put(root, "empty", DIRECTORY, None, b"")

    assert [entry.name for entry in Path(root.path).iterdir()] == ["full"]


def _put_as_ordinary_user(folder: str) -> object:
    with HandsProgram(Path(put_as_ordinary_user.__file__), folder, stdout=subprocess.PIPE) as process:
        return json.loads(process.communicate()[0])


def test_an_ordinary_user_changes_modes_of_what_he_cannot_read_and_is_told_of_bits_that_get_lost() -> None:
    if os.geteuid() != 0:
        pytest.skip("a directory of a foreign group takes root")
    with tempfile.TemporaryDirectory() as folder:  # the ones of pytest are closed to others
        Path(folder).chmod(0o755)
        for name, mode in (("0700", 0o000), ("2755", 0o755)):
            (Path(folder) / name).mkdir()
            (Path(folder) / name).chmod(mode)
            os.chown(Path(folder) / name, 65534, 0)

        assert _put_as_ordinary_user(folder) == {"0700": "", "2755": "the system set the mode 0755 instead of 2755"}
        assert (Path(folder) / "0700").stat().st_mode & 0o7777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("mode", [0o664, 0o640])
def test_a_file_keeps_a_group_that_a_new_one_cannot_have(mode: int) -> None:
    with open_directory() as folder:
        path = folder / "file"
        path.write_bytes(b"changed, and longer")
        path.chmod(0o664)
        os.chown(path, ORDINARY_UID, 54399)
        root = RootDirectory(str(folder), -1)

        with as_ordinary_user():
            put(root, "file", file_of(b"changed, and longer", 0o664), file_of(_NEW, mode), _NEW)

        status = path.stat()
        assert path.read_bytes() == _NEW
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (ORDINARY_UID, 54399, mode)
        assert os.listdir(folder) == ["file"]


@pytest.mark.parametrize(("expected", "target"), [(DIRECTORY, None), (None, DIRECTORY), (DIRECTORY, NEW)])
def test_a_root_keeps_its_name(root: RootDirectory, expected: State | None, target: State | None) -> None:
    with pytest.raises(PermissionError):
        put(root, ".", expected, target, _NEW)


def test_only_the_temporary_files_of_a_killed_restore_are_removed(root: RootDirectory) -> None:
    names = ["sub/.kaa-dead-1.tmp", "sub/.kaa-live-1.tmp", "sub/file", ".kaa-dead-2.tmp"]
    (Path(root.path) / "sub").mkdir()
    for name in names:
        (Path(root.path) / name).touch()

    remove_leftovers(Roots([root.path]), "dead", ["sub", "", "gone"])

    assert sorted(path.name for path in Path(root.path).rglob("*")) == [".kaa-live-1.tmp", "file", "sub"]


def test_a_file_of_an_ordinary_user_comes_back_without_the_bits_that_the_system_drops() -> None:
    if os.geteuid() != 0:
        pytest.skip("a directory of a foreign group takes root")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o2777)  # files in it get its group, which nobody is not in
        (Path(folder) / "6755").write_bytes(b"old\n")

        assert _put_as_ordinary_user(folder) == {"6755": "restored without its set-group-ID bit"}
        assert (Path(folder) / "6755").read_bytes() == b"new\n"
        assert (Path(folder) / "6755").stat().st_mode & 0o7777 == 0o4755
