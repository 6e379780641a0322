"""`kaa sandbox` with a file of the user's as standard input: the command reads it, and changes nothing about it.

The canaries are the file's permissions, times and attributes.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere

pytestmark = pytest.mark.usefixtures("confined")

_CHANGE = """
import os, sys
print(len(sys.stdin.buffer.read()))
for change in (lambda: os.fchmod(0, 0o777), lambda: os.utime(0, (1, 1)), lambda: os.setxattr(0, "user.kaa", b"x")):
    try:
        change()
    except OSError:
        pass
"""


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.mark.parametrize("size", [5, 1_000_000])
def test_a_file_is_read_and_stays_as_it_is(kaa: Kaa, size: int) -> None:
    file = Path(kaa.environ["HOME"]) / "input"
    file.write_bytes(b"x" * size)
    file.chmod(0o600)
    before = file.stat()
    (kaa.project / "change.py").write_text(_CHANGE)

    done = kaa.run_in_shell("$KAA sandbox -- python3 change.py <../input")

    after = file.stat()
    assert (done.code, done.out) == (0, f"{size}\n"), done.err
    assert stat.S_IMODE(after.st_mode) == 0o600
    assert after.st_mtime_ns == before.st_mtime_ns
    assert os.listxattr(file) == []


def test_a_command_that_does_not_read_its_input_ends(kaa: Kaa) -> None:
    (kaa.project.parent / "input").write_bytes(b"x" * 10_000_000)

    done = kaa.run_in_shell("$KAA sandbox -- true <../input")

    assert done.code == 0
