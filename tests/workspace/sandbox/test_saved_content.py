"""What the guard moves away is kept where commands cannot change it."""

import os
from pathlib import Path

from kaa.workspace.sandbox.saved_content import save_content


def test_the_copy_is_the_owners_and_there_are_some_dozen_for_some_days(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "moved-files"
    old = Path(save_content(str(folder), "/p/.envrc", b"old", 0o644))
    os.utime(old, (0, 0))

    copies = [Path(save_content(str(folder), "/p/hooks/pre-commit", b"%d" % one, 0o777)) for one in range(80)]

    assert not old.exists()
    assert copies[-1].read_bytes() == b"79"
    assert copies[-1].stat().st_mode & 0o777 == 0o700
    assert copies[-1].name.endswith("-pre-commit")
    assert len(os.listdir(folder)) == 64


def test_where_nothing_can_be_written_there_is_no_copy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert save_content(str(tmp_path / "file" / "moved-files"), "/p/.envrc", b"x", 0o644) == ""
