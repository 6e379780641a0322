"""Which folders outside of projects are searched for code, and how far."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kaa.shell.mcp.code_files import entries, is_code, is_program
from kaa.shell.mcp.outside_folders import OutsideFolders, is_of_system, may_be_package
from tests.support.tables import each


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a/1.py", "a/2.py", "a/3.py", "b/4.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("folders", "found"),
    [
        (OutsideFolders(), (3, 1, "")),
        (OutsideFolders(max_entries=3), (3, 0, "b")),
        (OutsideFolders(max_entries=2), (2, 0, "a")),
        (OutsideFolders(max_seconds=0), (0, 0, "a")),
    ],
)
def test_what_is_too_much_or_takes_too_long_is_left_out_and_named(
    tree: Path, folders: OutsideFolders, found: tuple[int, int, str]
) -> None:
    first, second = folders.names(str(tree / "a")), folders.entries(str(tree / "b"))

    assert (len(first), len(second), folders.left_out) == (*found[:2], found[2] and str(tree / found[2]))


def test_what_cannot_be_read_is_empty(tree: Path) -> None:
    folders = OutsideFolders()

    assert (folders.names(str(tree / "gone")), folders.names(str(tree / "a/1.py")), folders.left_out) == ([], [], "")


@each(
    "folder", ["/", "/tmp", "/var/tmp", "/proc", "/proc/1", "/sys/kernel", "/etc", "/etc/cron.d", "/home", "/var/lib/x"]
)
def test_folders_of_many_programs_are_no_package(folder: str) -> None:
    assert not may_be_package(folder, "/home/me")


@pytest.mark.parametrize("home", ["/var/lib/jenkins", "/etc/skel"])
def test_a_home_below_one_of_the_system_is_one(home: str) -> None:
    assert may_be_package(f"{home}/tools", home)
    assert not is_of_system(f"{home}/tools", home)
    assert not may_be_package(f"{home}/tools", "/home/me")


def test_what_others_put_into_tmp_is_no_package_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        is_own = may_be_package(folder, "/home/me")
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

        assert (is_own, may_be_package(folder, "/home/me")) == (True, False)


@pytest.mark.parametrize(("name", "judge"), [("server", is_program), ("server.log", is_code)])
def test_a_file_that_is_gone_meanwhile_is_no_code(
    tmp_path: Path, name: str, judge: Callable[[os.DirEntry[str]], bool]
) -> None:
    (tmp_path / name).write_text("#!/bin/sh")
    [entry] = entries(str(tmp_path))
    (tmp_path / name).unlink()

    assert not judge(entry)
