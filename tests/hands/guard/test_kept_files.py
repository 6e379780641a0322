"""What is written in files after the guard has moved them away."""

import binascii
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.below import RootDirectory, open_root
from kaa.hands.guard import kept_files
from kaa.hands.guard.kept_files import KeptFiles
from kaa.hands.guard.quarantine import QuarantineReport
from kaa.hands.guard.subjects import Directory, Subject


@pytest.fixture
def root(tmp_path: Path) -> Iterator[RootDirectory]:
    root = open_root(str(tmp_path))
    assert root is not None
    yield root
    os.close(root.descriptor)


def keep(files: KeptFiles, root: RootDirectory, name: str, content: bytes) -> Path:
    path = Path(root.path, f"{name}.kaa-blocked")
    path.write_bytes(content)
    status = path.stat()
    finding = QuarantineReport(f"{root.path}/{name}", str(path), "", "protected")
    identity = status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode)
    files.add(Subject(Directory(root, ""), name), finding, identity, content)
    return path


def versions(files: KeptFiles) -> list[bytes]:
    return [binascii.a2b_base64(finding.content) for finding in files.take()]


def test_the_newest_version_of_each_file_is_told_if_there_is_no_room_for_all(
    root: RootDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "_MAX_HELD_BYTES", 25)
    files = KeptFiles(lambda descriptor, subject: None)
    first, second = (keep(files, root, name, b"-") for name in ("a", "b"))
    files.look()

    for number in range(4):
        for path in (first, second):
            path.write_bytes(path.name[:1].encode() + b"%d-------" % number)
            files.look()

    assert versions(files) == [b"a3-------", b"b3-------"]


def test_many_long_files_are_let_go(root: RootDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "_MAX_HELD_BYTES", 25)
    files = KeptFiles(lambda descriptor, subject: None)
    kept = [keep(files, root, name, b"0123456789") for name in ("a", "b", "c")]
    files.look()

    for path in kept:
        path.write_bytes(path.name[:1].encode())
    files.look()

    assert versions(files) == [b"b", b"c"]
