"""Files that get their name when they are whole."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.session.file import whole_file as module
from kaa.session.file.whole_file import whole_file
from tests.support.full_disk import files_limited_to


@pytest.fixture(params=["without a name", "beside"])
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A folder, also as on file systems without files that have no name."""
    if request.param == "beside":
        monkeypatch.setattr(module, "_UNNAMED", 0)
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("replace", [False, True])
def test_nothing_has_its_name_before_it_is_whole(tmp_path: Path, folder: int, replace: bool) -> None:
    with whole_file("a", folder, replace=replace) as file:
        file.write(b"some")
        file.flush()
        before = os.listdir(tmp_path)
        file.write(b"thing")

    assert not any(name == "a" for name in before)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"something"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_replaced_only_on_request(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_text("old")

    with pytest.raises(FileExistsError), whole_file("a", folder):
        pytest.fail("it is known at once")
    assert (tmp_path / "a").read_text() == "old"

    with whole_file("a", folder, replace=True) as file:
        file.write(b"new")
    assert (tmp_path / "a").read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("folder", ["without a name"], indirect=True)
def test_what_a_killed_kaa_left_before_it_replaced_a_file_is_removed(tmp_path: Path, folder: int) -> None:
    (tmp_path / ".a.part").write_text("left")

    with whole_file("a", folder, replace=True) as file:
        file.write(b"new")

    assert os.listdir(tmp_path) == ["a"]


def test_what_comes_meanwhile_is_not_replaced(tmp_path: Path, folder: int) -> None:
    with pytest.raises(FileExistsError), whole_file("a", folder):
        (tmp_path / "a").write_text("of somebody else")

    assert (tmp_path / "a").read_text() == "of somebody else"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, folder: int, replace: bool) -> None:
    if replace:
        (tmp_path / "a").write_text("old")

    with files_limited_to(10), pytest.raises(OSError, match="large"), whole_file("a", folder, replace=replace) as file:
        file.write(b"much more than that")

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == ({"a": "old"} if replace else {})
