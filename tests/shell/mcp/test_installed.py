"""Installed packages are known by what the system says of their files."""

from pathlib import Path

import pytest

from kaa.shell.mcp.installed import TooManyPackageFilesError, fingerprint


def test_a_folder_with_endless_files_is_named_and_not_read_to_its_end(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "file").touch()

    before = fingerprint(str(tmp_path), max_entries=17)
    assert before == fingerprint(str(tmp_path), max_entries=17)

    (tmp_path / "0" / "more").touch()
    with pytest.raises(TooManyPackageFilesError, match=f"{tmp_path} has more than 17 files"):
        fingerprint(str(tmp_path), max_entries=17)
