"""Runs attempts one after the other: `python -I -S ATTEMPTS JOB`, inside the sandbox or, to prove them, outside.

Each runs in a process of its own. What it found is told only as far as it is a canary's secret.
"""

import importlib
import json
import os
import re
import signal
import sys
import time
from typing import TypedDict

# With -I nothing of ours is found; this is the copy that the arena has, four levels down.
sys.path.insert(0, os.path.abspath(__file__ + "/../../../.."))
from tests.escapes.attempts.kit import ATTEMPTS, Given

_SECRET = re.compile(rb"canary-[0-9a-f]{24}")
_TIMEOUT_SECONDS = 6.0
_GO_SECONDS = 20.0


class Task(TypedDict):
    """An attempt and what it is told."""

    name: str
    facts: dict[str, str | int]


class Job(TypedDict):
    """What the harness writes."""

    tasks: list[Task]
    go: str
    brain: str


class Report(TypedDict):
    """What is known inside. It explains a verdict and never makes one, but for the secrets."""

    name: str
    outcome: str
    secrets: list[str]


def main() -> None:
    """Run a job; report in lines of JSON."""
    with open(sys.argv[1], encoding="utf-8") as file:
        job: Job = json.load(file)
    _say({"name": "", "outcome": "ready", "secrets": []})
    deadline = time.monotonic() + _GO_SECONDS
    while not os.path.exists(job["go"]) and time.monotonic() < deadline:
        time.sleep(0.002)
    with open(job["brain"], encoding="utf-8") as file:
        brain = int(file.read())
    for task in job["tasks"]:
        importlib.import_module("tests.escapes.attempts." + task["name"].partition(".")[0])
        _say(_run(task["name"], Given(**{**task["facts"], "brain": brain})))  # type: ignore[arg-type]  # from JSON


def _say(report: Report) -> None:
    os.write(1, json.dumps(report).encode() + b"\n")


def _run(name: str, given: Given) -> Report:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        os.setpgid(0, 0)
        os.write(write_end, json.dumps(_attempt(name, given)).encode())
        os._exit(0)
    os.close(write_end)
    status = _wait(pid)
    os.set_blocking(read_end, False)
    try:
        told = os.read(read_end, 65536)
    except BlockingIOError:
        told = b""
    os.close(read_end)
    if told:
        report: Report = json.loads(told)
        return report
    code = os.waitstatus_to_exitcode(status)
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return {"name": name, "outcome": how, "secrets": []}


def _attempt(name: str, given: Given) -> Report:
    try:
        found = ATTEMPTS[name].act(given)
        outcome = "finished"
    except BaseException as error:  # noqa: BLE001 - an isolation boundary: attempts fail in every way
        found, outcome = None, f"{type(error).__name__}: {error}"
    data = found.encode() if isinstance(found, str) else found or b""
    return {"name": name, "outcome": outcome, "secrets": sorted({each.decode() for each in _SECRET.findall(data)})}


def _wait(pid: int) -> int:
    """Wait for an attempt, and kill it if it takes too long."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
        time.sleep(0.001)


if __name__ == "__main__":
    main()
