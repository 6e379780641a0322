"""kaa's own process leaves nothing of its memory behind, loads no code of the current directory, and ends at once."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from kaa.host.process import leave_out_current_directory, relative_variable
from tests.support.tables import each

_CRASH = """
import ctypes, os, resource, sys
_, hard = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
from kaa.host.process import forbid_dumps
if sys.argv[1:] == ["forbidding"]:
    forbid_dumps()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), *resource.getrlimit(resource.RLIMIT_CORE), hard, flush=True)
os.abort()
"""


def crash(folder: Path, *arguments: str) -> list[int]:
    """Crash a process. Returns whether it could be dumped, the limits of core files, and the hard one before."""
    done = subprocess.run(
        [sys.executable, "-c", _CRASH, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this attribute")
def test_a_crash_leaves_no_core_file(tmp_path: Path) -> None:
    can_be_dumped, soft, hard, hard_before = crash(tmp_path, "forbidding")

    assert (can_be_dumped, soft, hard) == (0, 0, hard_before)
    assert os.listdir(tmp_path) == []
    assert crash(tmp_path)[0] == 1


@pytest.mark.parametrize("name", ["PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"])
def test_a_relative_directory_of_pythons_is_refused(name: str) -> None:
    refusal = leave_out_current_directory({name: "lib"})

    assert f"{name} is 'lib'" in refusal
    assert f"env -u {name} kaa" in refusal
    assert not leave_out_current_directory({name: "/lib"})


@each("value", [":", ":/lib", "/lib:", "/lib::/other", "/lib:.", "./lib"])
def test_an_empty_or_relative_entry_of_the_path_is_found(value: str) -> None:
    assert relative_variable({"PYTHONPATH": value}) == "PYTHONPATH"


@pytest.mark.parametrize("value", ["", "/lib", "/lib:/other"])
def test_an_absolute_path_of_modules_is_in_order(value: str) -> None:
    environ = {"PYTHONPATH": value, "PYTHONHOME": "/usr"}

    assert not relative_variable(environ)
    assert not leave_out_current_directory(environ)
    assert environ["PYTHONPATH"] == value


def test_other_programs_inherit_the_absolute_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    environ = {"PYTHONPATH": ":/lib:"}

    assert not leave_out_current_directory(environ)
    assert environ == {"PYTHONPATH": "/lib"}
    assert str(tmp_path) not in sys.path


def ended(statements: str, stdout: int | IO[str] = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    """How a program ends that runs these statements and then `end(3)`, with something written that is not flushed."""
    source = f"import sys\nfrom kaa.host.process import end\n{statements}\nsys.stdout.write('said ')\nsys.exit(end(3))"
    command = [sys.executable, "-I", "-c", source]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_the_end_keeps_output_and_runs_what_waits_for_it() -> None:
    done = ended("import atexit\natexit.register(print, 'goodbye')")

    assert (done.returncode, done.stdout) == (3, "said goodbye\n")


def test_the_end_waits_for_threads() -> None:
    slow = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('worked'))).start()"

    assert ended(slow).stdout == "said worked\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_the_end_reports_lost_output() -> None:
    with open("/dev/full", "w") as full:
        done = ended("", full)

    assert done.returncode == 120
    assert "No space left" in done.stderr
