"""Ordinary work in the sandbox: a project, and commands that a person runs in it."""

import os
import subprocess
import sys
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


class Work:
    """Runs commands for a person, each in a sandbox of its own."""

    def __init__(self, place: Arena) -> None:
        self._arena = place
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

    def run(self, *command: str, stdin: bytes = b"", flags: Sequence[str] = ()) -> Done:
        """Run a command in the sandbox."""
        process = self.person.start(
            [*sandbox_command(flags), *command],
            directory=self.project,
            environment=base_environment(self.home),
            pid_file=self._arena.top / "brain.pid",
            stdin=subprocess.PIPE,
        )
        try:
            out, err = process.communicate(stdin, timeout=HANG_SECONDS)
        finally:
            process.kill()
            process.wait()
        return Done(process.returncode, out.decode(), err.decode())

    def shell(self, script: str) -> str:
        """Run lines of bash, each of which must succeed. Returns what they print."""
        return _succeeded(self.run("bash", "-euc", script))

    def python(self, script: str, *arguments: str) -> str:
        """Run a script of Python, which must succeed. Returns what it prints."""
        path = self.write(f"script-{len(list(self.project.iterdir()))}.py", script)
        return _succeeded(self.run(sys.executable, str(path), *arguments))


@contextmanager
def working(person: Person) -> Iterator[Work]:
    """A fresh project of a person's."""
    with arena(person) as place:
        place.hand_over()
        yield Work(place)


def interpreter() -> str:
    """The interpreter below any virtual environment."""
    return os.path.realpath(sys.executable)


def _succeeded(done: Done) -> str:
    assert done.code == 0, f"exit code {done.code}\n{done.out}\n{done.err}"
    return done.out
