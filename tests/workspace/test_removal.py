"""Removing what commands left, however they left it."""

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.workspace.removal import remove_tree

_DEEP = 3000


@contextlib.contextmanager
def _inside(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with _inside(path.parent) as parent:
        remove_tree(path.name, parent)


def _make_deep(top: Path, levels: int = _DEEP) -> None:
    top.mkdir()
    descriptor = os.open(top, os.O_RDONLY)
    for level in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        if level % 100 == 0:
            os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(descriptor)


def test_any_depth_is_removed_with_few_descriptors(tmp_path: Path) -> None:
    _make_deep(tmp_path / "top")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 8, hard))
    try:
        _remove(tmp_path / "top")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert not os.path.lexists(tmp_path / "top")


def test_wide_trees_and_odd_names_are_removed(tmp_path: Path) -> None:
    for number in range(200):
        os.makedirs(os.fsencode(tmp_path / "top" / str(number % 20)) + b"/\xff\n/" + str(number).encode())
    (tmp_path / "top" / "0" / "file").write_text("")
    os.mkfifo(tmp_path / "top" / "fifo")

    _remove(tmp_path / "top")

    assert not os.path.lexists(tmp_path / "top")


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "elsewhere" / "directory" / "precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("")
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    for place in ("", "a", "a/b"):
        (tmp_path / "top" / place / "link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "top" / place / "direct").symlink_to(precious.parent)

    _remove(tmp_path / "top")

    assert not os.path.lexists(tmp_path / "top")
    assert precious.exists()


def test_a_link_in_the_place_of_the_directory_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "precious").mkdir(parents=True)
    (tmp_path / "top").symlink_to(tmp_path / "elsewhere")

    _remove(tmp_path / "top")

    assert (tmp_path / "elsewhere" / "precious").exists()


@pytest.mark.parametrize("mode", [0, 0o100, 0o400, 0o500, 0o600])
def test_directories_without_their_owners_rights_are_removed(tmp_path: Path, mode: int) -> None:
    for place in ("top/a/b/c", "top/a/b", "top/a", "top"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    for place in ("top/a/b/c", "top/a/b", "top/a", "top"):
        (tmp_path / place).chmod(mode)

    _remove(tmp_path / "top")

    assert not os.path.lexists(tmp_path / "top")
