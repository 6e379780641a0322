"""kaa's own process leaves nothing of its memory behind, and refuses an environment that loads foreign code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kaa.host.process import unsafe_variables

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


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"])
def test_a_relative_entry_is_refused(name: str) -> None:
    assert f"{name} is 'lib'" in unsafe_variables({name: "lib"})
    assert unsafe_variables({name: "/lib"}) == unsafe_variables({name: ""}) == unsafe_variables({}) == ""


@pytest.mark.parametrize("value", [":", ":/lib", "/lib:", "/lib::/other", "/lib:.", "./lib"])
def test_an_empty_entry_of_the_path_is_relative(value: str) -> None:
    assert f"PYTHONPATH is '{value}'" in unsafe_variables({"PYTHONPATH": value})
    assert "env -u PYTHONPATH kaa" in unsafe_variables({"PYTHONPATH": value})
