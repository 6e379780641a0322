"""`kaa sandbox` with a file of the user's as a standard stream: the command reads or writes it, and no more.

The canaries are the file's permissions, times and attributes.
"""

import os
import pty
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.elsewhere import folder_elsewhere
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

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


_CHANGE_OUTPUT = """
import os, sys
for number in (1, 2):
    for change in (
        lambda: os.fchmod(number, 0o777),
        lambda: os.utime(number, (1, 1)),
        lambda: os.ftruncate(number, 0),
        lambda: os.setxattr(number, "user.kaa", b"x"),
    ):
        try:
            change()
        except OSError:
            pass
for line in range(1000):
    os.write(1, b"out %d\\n" % line)
    os.write(2, b"err %d\\n" % line)
sys.exit(7)
"""


@pytest.mark.parametrize("redirection", [">>../out 2>>../err", ">>../out 2>&1", "2>>../out >&2"])
def test_files_that_take_the_output_get_nothing_but_that(kaa: Kaa, redirection: str) -> None:
    outside = Path(kaa.environ["HOME"])
    names = [name for name in ("out", "err") if f"../{name}" in redirection]
    for name in names:
        (outside / name).write_text("before\n")
        (outside / name).chmod(0o600)
    (kaa.project / "change.py").write_text(_CHANGE_OUTPUT)

    done = kaa.run_in_shell(f"$KAA sandbox -- python3 change.py {redirection}")

    assert done.code == 7, done.err
    both = [f"{stream} {line}" for line in range(1000) for stream in ("out", "err")]
    for name in names:
        wanted = both if len(names) == 1 else [line for line in both if line.startswith(name)]
        assert (outside / name).read_text().splitlines() == ["before", *wanted]
        status = (outside / name).stat()
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert os.listxattr(outside / name) == []


def test_a_full_disk_is_reported(kaa: Kaa) -> None:
    done = kaa.run_in_shell("ulimit -f 8; trap '' XFSZ; $KAA sandbox -- sh -c 'ulimit -f unlimited; yes' >../out")

    assert done.code != 0
    assert (kaa.project.parent / "out").stat().st_size <= 8 * 1024


def test_a_command_in_a_terminal_runs_and_does_not_become_its_owner(kaa: Kaa) -> None:
    script = "import os; print(os.isatty(0)); os.open('/dev/tty', os.O_RDWR)"
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            ["setsid", "--ctty", "--wait", COMMAND, "sandbox", "--", "python3", "-c", script],
            cwd=kaa.project,
            env=kaa.environ,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            out, error = process.communicate(timeout=HANG_SECONDS)
    finally:
        os.close(ours)
        os.close(theirs)

    assert out == "True\n", error
    assert "/dev/tty" in error
