"""Files are taken out of new protected directories, and nothing else changes in the project."""

import errno
import os
from pathlib import Path

import pytest

from kaa.hands.below import RootDirectory
from kaa.hands.guard import emptying
from kaa.hands.guard.quarantine import MountedError
from kaa.hands.guard.subjects import Directory, Subject


@pytest.mark.parametrize("error", [MountedError(), OSError(errno.ENOENT, "it is gone")])
def test_a_file_that_stays_leaves_no_directory_beside_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(emptying, "rename", refuse)
    file = tmp_path / ".vscode" / "sub" / "tasks.json"
    file.parent.mkdir(parents=True)
    file.touch()
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        subject = Subject(Directory(RootDirectory(str(tmp_path), descriptor), ""), ".vscode")
        with pytest.raises(type(error)):
            emptying.EmptiedDirectories().take_out(subject, descriptor, "sub/tasks.json")
    finally:
        os.close(descriptor)

    assert os.listdir(tmp_path) == [".vscode"]
