import os
from pathlib import Path

import pytest

from kaa.host.log_file import LogFileError, check_log_path, open_log_file
from kaa.host.programs import note_writable


def test_a_log_is_private_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "kaa.log"
    path.write_text("before\n")
    path.chmod(0o644)

    with open(open_log_file(str(path)), "w") as file:
        file.write("after\n")

    assert path.read_text() == "before\nafter\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_log_is_private_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        os.close(open_log_file(str(tmp_path / "kaa.log")))
    finally:
        os.umask(before)

    assert (tmp_path / "kaa.log").stat().st_mode & 0o777 == 0o600


def test_a_log_is_a_regular_file_with_one_name(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("")
    (tmp_path / "link").symlink_to(kept)
    os.mkfifo(tmp_path / "pipe")
    os.link(kept, tmp_path / "other-name")

    with pytest.raises(LogFileError, match="link is a symbolic link: use the path of the file itself"):
        open_log_file(str(tmp_path / "link"))
    with pytest.raises(LogFileError, match="pipe is not a regular file: use another file"):
        open_log_file(str(tmp_path / "pipe"))
    with pytest.raises(LogFileError, match="kept has 2 names"):
        open_log_file(str(kept))


def test_a_log_is_not_where_sandboxed_commands_can_write(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "alias").symlink_to(project)
    note_writable([str(project)])

    with pytest.raises(LogFileError, match="sandboxed commands can write to"):
        check_log_path(str(project / "kaa.log"))
    with pytest.raises(LogFileError, match="sandboxed commands can write to"):
        check_log_path(str(tmp_path / "alias" / "kaa.log"))
    with pytest.raises(LogFileError, match=r"'kaa.log' is not an absolute path"):
        check_log_path("kaa.log")
    assert check_log_path(str(tmp_path / "kaa.log")) == str(tmp_path / "kaa.log")
