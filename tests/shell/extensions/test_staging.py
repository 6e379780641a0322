"""Folders that commands can write while kaa copies them."""

from pathlib import Path
from typing import IO

import pytest

from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.staging import StagedTree, copy_file, copy_folder
from tests.support.known_project import make_known


class _Exchanging(StagedTree):
    """A command puts a link in the place of a folder as soon as the first file of it is copied."""

    def __init__(self, top: Path, folder: Path, target: Path) -> None:
        super().__init__(top)
        self._folder = folder
        self._target = target

    def write(self, name: str, content: IO[bytes], *, executable: bool = False) -> None:
        super().write(name, content, executable=executable)
        if not self._folder.is_symlink():
            self._folder.rename(self._folder.with_name("away"))
            self._folder.symlink_to(self._target)


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    source, private = tmp_path / "source", tmp_path / "private"
    for folder in (source / "sub", private):
        folder.mkdir(parents=True)
        (folder / "a").write_text("a")
        (folder / "key").write_text(folder.name)

    with pytest.raises(PermissionError, match="a link has come on the way"):
        copy_folder(source, _Exchanging(tmp_path / "staged", source / "sub", private))

    assert not (tmp_path / "staged/sub/key").exists()


def test_a_link_that_a_command_could_have_made_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("kaa", "project", "private"):
        (tmp_path / folder).mkdir()
    make_known(tmp_path / "project", tmp_path / "kaa", monkeypatch)
    (tmp_path / "private/key.py").write_text("key")
    (tmp_path / "project/plug").symlink_to(tmp_path / "private")
    (tmp_path / "mine").symlink_to(tmp_path / "private")

    copy_folder(tmp_path / "mine", StagedTree(tmp_path / "staged"))
    with pytest.raises(InstallationError, match=r"could have made the link .*project/plug. If you mean .*private,"):
        copy_folder(tmp_path / "project/plug", StagedTree(tmp_path / "other"))
    with pytest.raises(InstallationError, match="could have made the link"):
        copy_file(tmp_path / "project/plug/key.py", tmp_path / "copy.py")

    assert (tmp_path / "staged/key.py").read_text() == "key"
