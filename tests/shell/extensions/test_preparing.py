"""Folders of installations that were killed go with the next installation; those in use stay."""

import os
import time
from pathlib import Path

import pytest

from kaa.shell.extensions.staging import preparation_folder


def aged(folder: Path, seconds: float) -> Path:
    """A folder with files of an installation, made so long ago."""
    folder.mkdir(exist_ok=True)
    (folder / "files").mkdir(exist_ok=True)
    os.utime(folder, (time.time() - seconds,) * 2)
    return folder


def test_what_a_killed_installation_left_is_removed(tmp_path: Path) -> None:
    left = aged(tmp_path / ".preparing-a", 120)
    others = [aged(tmp_path / ".preparing-fresh", 0), aged(tmp_path / "plugin-1", 120)]

    with preparation_folder(tmp_path, ".preparing-") as folder:
        assert not left.exists()
        assert folder.is_dir()

    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_what_another_installation_uses_stays(tmp_path: Path) -> None:
    with preparation_folder(tmp_path, ".preparing-") as used:
        aged(used, 7 * 24 * 3600)

        with preparation_folder(tmp_path, ".preparing-"):
            assert (used / "files").is_dir()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "plugins").mkdir()
    link = tmp_path / "plugins" / ".preparing-a"
    link.symlink_to(tmp_path / "mine")
    os.utime(link, (0, 0), follow_symlinks=False)

    with preparation_folder(tmp_path / "plugins", ".preparing-"):
        pass

    assert (tmp_path / "mine").is_dir()


def test_a_preparation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), preparation_folder(tmp_path, ".preparing-"):
        raise KeyError

    assert list(tmp_path.iterdir()) == []
