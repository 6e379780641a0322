"""A run that does not end is ended, with all that it started, and counts as unsolved."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from kaa.frontends.lab import attempt
from kaa.frontends.lab.attempt import Course, run_attempt
from kaa.frontends.lab.results import RunKey
from kaa.shell.home import Home
from tests.frontends.lab.files import make_task

# Never satisfied, whether or not the program came to its file before it was killed.
NEVER = 'echo 0 >"$LAB_VERIFIER_DIR/reward.txt"\n'


@pytest.mark.usefixtures("confined")
def test_a_run_that_ignores_everything_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = f"1000.{id(monkeypatch)}"
    program = tmp_path / "kaa"
    program.write_text(f"#!/bin/sh\ntrap '' TERM\nsleep {marker} & touch done; while :; do wait; done\n")
    program.chmod(0o755)
    monkeypatch.setattr(attempt, "_KAA", (str(program),))
    for limit in ("_GRACE_SECONDS", "_LAST_SECONDS"):
        monkeypatch.setattr(attempt, limit, 0.2)
    task = make_task(tmp_path / "tasks", config="agent.timeout_sec = 0.2\n", check=NEVER)
    trace = tmp_path / "trace"
    trace.mkdir()
    course = Course("", 5, "workspace-write", (), Home(tmp_path / "user"))

    found = asyncio.run(run_attempt(RunKey("default", "one", 1), task, {}, course, trace))

    assert (found.outcome, found.reason, found.turns) == ("unsolved", "killed", 0)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, encoding="utf-8", check=True).stdout
    assert f"sleep {marker}" not in running
