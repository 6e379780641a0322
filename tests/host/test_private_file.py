"""What cannot be written says what to do."""

import errno
import os
from pathlib import Path

import pytest

from kaa.host.private_file import PrivateFile, PrivateFileError


@pytest.mark.parametrize(("number", "remedy"), [(errno.EROFS, True), (errno.EACCES, True), (errno.ENOSPC, False)])
def test_a_folder_that_cannot_be_written_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: bool
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PrivateFileError) as caught, PrivateFile(tmp_path / "keys.json").rewriting():
        pass

    assert f"cannot be written ({os.strerror(number)})" in str(caught.value)
    assert (f"Make {tmp_path} writable, or set KAA_DIR to a folder that is" in str(caught.value)) == remedy
