import os
import socket
from pathlib import Path

import pytest

from kaa.host.regular_files import beginning_of, read_regular, regular, straight, unplanted
from tests.support.known_project import make_known


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")

    assert read_regular(tmp_path / "file") == read_regular(str(tmp_path / "link")) == b"content"
    with open(tmp_path / "file", encoding="utf-8", opener=regular) as file:
        assert file.read() == "content"
        assert not os.get_inheritable(file.fileno())


def test_a_file_that_is_longer_than_the_limit_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "long", "wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "fits").write_bytes(b"x" * 1024)

    with pytest.raises(OSError, match="it is larger than 64 MiB"):
        read_regular(tmp_path / "long")
    with pytest.raises(OSError, match="it is larger than 1 KiB"):
        read_regular(tmp_path / "long", 1024)
    assert read_regular(tmp_path / "fits", 1024) == b"x" * 1024
    assert beginning_of(tmp_path / "long", 10) == b"\0" * 10
    assert read_regular("/proc/self/cmdline")  # whose size is 0
    with pytest.raises(OSError, match="it is larger than 1 bytes"):
        read_regular("/proc/self/cmdline", 1)


def test_a_named_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="it is a named pipe and not a regular file"):
            read_regular(tmp_path / name)


def test_a_socket_a_device_and_a_directory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(OSError, match="it is a socket"):
            read_regular("socket")
    with pytest.raises(OSError, match="it is a device"):
        read_regular("/dev/zero")
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")


def test_a_link_that_has_come_into_a_real_path_is_not_followed(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(folder)

    assert read_regular(tmp_path / "here/file", opener=straight) == b"here"
    (tmp_path / "here").rename(tmp_path / "away")
    (tmp_path / "here").symlink_to("there")

    with pytest.raises(PermissionError, match="a link has come"):
        read_regular(tmp_path / "here/file", opener=straight)


def test_only_links_of_the_user_lead_to_texts_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("kaa", "project/own", "private"):
        (tmp_path / folder).mkdir(parents=True)
    make_known(tmp_path / "project", tmp_path / "kaa", monkeypatch)
    (tmp_path / "private/text").write_text("private")
    (tmp_path / "project/own/text").write_text("own")
    for link, target in (("mine", "private"), ("project/planted", "../private"), ("project/inside", "own")):
        (tmp_path / link).symlink_to(target)
    (tmp_path / "way").symlink_to("project/planted")

    def read(name: str) -> bytes:
        return read_regular(tmp_path / name / "text", opener=unplanted)

    assert [read(name) for name in ("mine", "project/own", "project/inside")] == [b"private", b"own", b"own"]
    for name in ("project/planted", "way"):
        with pytest.raises(PermissionError, match=r"a command could have made the link .*project/planted"):
            read(name)
