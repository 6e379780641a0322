"""Ordinary work in the sandbox: a project, and commands that a person runs in it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.escapes.world.arena import Arena, arena
from tests.escapes.world.people import Person
from tests.escapes.world.trial import base_environment, sandbox_command
from tests.support.patience import HANG_SECONDS


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


# Runs in the sandbox: one command for each line of JSON, which it answers with a line.
_RUNNER = """
import json, subprocess, sys
for line in sys.stdin:
    try:
        done = subprocess.run(json.loads(line), stdin=subprocess.DEVNULL, capture_output=True)
        answer = done.returncode, done.stdout.decode(), done.stderr.decode()
    except OSError as error:
        answer = 127, "", str(error)
    print(json.dumps(answer), flush=True)
"""


class Work:
    """Runs commands for a person: all in one sandbox, or one in a sandbox of its own."""

    def __init__(self, place: Arena) -> None:
        self._arena = place
        self._runner: subprocess.Popen[bytes] | None = None
        self.person = place.person
        self.project = place.project
        self.home = place.home

    def write(self, name: str, content: str) -> Path:
        """Write a file of the project, from outside."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        self._arena.person.own(path if path.parent == self.project else self.project / Path(name).parts[0])
        return path

    def run_alone(self, *command: str, stdin: bytes = b"") -> Done:
        """Run a command in a sandbox that starts and ends with it."""
        process = self._start(command)
        try:
            out, err = process.communicate(stdin, timeout=HANG_SECONDS)
        finally:
            process.kill()
            process.wait()
        return Done(process.returncode, out.decode(), err.decode())

    def shell(self, script: str) -> str:
        """Run lines of bash, each of which must succeed. Returns what they print."""
        return _succeeded(self._run("bash", "-euc", script))

    def shell_alone(self, script: str) -> str:
        """Run lines of bash in a sandbox that starts and ends with them."""
        return _succeeded(self.run_alone("bash", "-euc", script))

    def python(self, script: str, *arguments: str) -> str:
        """Run a script of Python, which must succeed. Returns what it prints."""
        path = self.write(f"script-{len(list(self.project.iterdir()))}.py", script)
        return _succeeded(self._run(sys.executable, str(path), *arguments))

    def close(self) -> None:
        """End the sandbox that commands share."""
        if self._runner is None:
            return
        try:
            self._runner.communicate(timeout=HANG_SECONDS)
        finally:
            self._runner.kill()
            self._runner.wait()

    def _run(self, *command: str) -> Done:
        if self._runner is None:
            self._runner = self._start((sys.executable, "-I", "-S", "-c", _RUNNER))
        runner = self._runner
        assert runner.stdin is not None
        assert runner.stdout is not None
        hang = threading.Timer(HANG_SECONDS, runner.kill)
        hang.start()
        try:
            runner.stdin.write(json.dumps(command).encode() + b"\n")
            runner.stdin.flush()
            answer = runner.stdout.readline()
        finally:
            hang.cancel()
            hang.join()
        assert answer, f"the sandbox ended: {runner.communicate()[1].decode()}"
        return Done(*json.loads(answer))

    def _start(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        return self.person.start(
            [*sandbox_command(), *command],
            directory=self.project,
            environment=base_environment(self.home),
            pid_file=self._arena.top / "brain.pid",
            stdin=subprocess.PIPE,
        )


@contextmanager
def working(person: Person) -> Iterator[Work]:
    """A fresh project of a person's."""
    with arena(person) as place:
        place.hand_over()
        work = Work(place)
        try:
            yield work
        finally:
            work.close()


def interpreter() -> str:
    """The interpreter below any virtual environment."""
    return os.path.realpath(sys.executable)


def _succeeded(done: Done) -> str:
    assert done.code == 0, f"exit code {done.code}\n{done.out}\n{done.err}"
    return done.out
