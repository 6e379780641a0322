import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.hands.processes import Descendants, ProcessGroup, children_of_this, kill_all

_needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def shell() -> Iterator["subprocess.Popen[bytes]"]:
    """A shell in a session of its own with a child that is in yet another one."""
    script = "setsid sleep 1000 & echo $!; wait"
    process = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    try:
        yield process
    finally:
        kill_all({process.pid})
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@_needs_proc
def test_descendants_are_found_whatever_session_they_are_in(shell: "subprocess.Popen[bytes]") -> None:
    assert shell.stdout is not None
    child = int(shell.stdout.readline())

    assert child in Descendants({shell.pid}).states()
    assert shell.pid in Descendants({os.getpid()}).states()
    assert shell.pid in children_of_this()


@_needs_proc
def test_killing_a_process_kills_its_descendants(shell: "subprocess.Popen[bytes]") -> None:
    assert shell.stdout is not None
    shell.stdout.readline()

    kill_all({shell.pid})

    assert shell.wait() == -signal.SIGKILL
    assert shell.stdout.read() == b""  # the end of file: the child has let go of the pipe too


@_needs_proc
def test_whoever_starts_a_child_anew_whenever_it_ends_is_killed_with_all_of_them(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    script = f"while :; do echo x >> {lives}; sleep 20; done"
    for _ in range(20):
        with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
            while not Descendants({process.pid}).states():
                pass
            begun = lives.read_text()

            kill_all({process.pid})

            assert process.wait() == -signal.SIGKILL
            assert lives.read_text() == begun
            assert process.stdout is not None
            assert process.stdout.read() == b""  # the end of file: nobody is left who holds the pipe


@_needs_proc
def test_a_name_that_looks_like_the_rest_of_the_line_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)
    process = subprocess.Popen([program], stdin=subprocess.PIPE)

    try:
        assert process.pid in Descendants({os.getpid()}).states()
    finally:
        process.communicate()


def test_where_there_is_no_proc_a_group_stands_for_the_tree() -> None:
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    group = ProcessGroup(process.pid)

    before = group.states()
    group.send(signal.SIGKILL)
    process.wait()

    assert (before, group.states()) == ({process.pid: ""}, {})
