"""A program under `ConfinedProgram` that carries out what a test tells it: one attempt for each line of JSON."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kaa.workspace.commands import OwnStreams
from kaa.workspace.sandbox.program import ConfinedProgram, ProgramRights

PUPPET = """
import ctypes, json, os, socket, subprocess, sys

def read(path):
    with open(path, "rb") as file:
        return len(file.read(1))

def write(path):
    with open(path, "w") as file:
        file.write("planted")

def connect(family, address):
    with socket.socket(getattr(socket, family)) as one:
        one.settimeout(5)
        one.connect(tuple(address) if isinstance(address, list) else address)

def trace(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(16, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")

def fetch(url):
    import urllib.request
    return urllib.request.urlopen(url, timeout=5).status

does = {
    "read": read, "write": write, "list": lambda path: sorted(os.listdir(path)), "connect": connect, "trace": trace,
    "fetch": fetch, "kill": lambda pid: os.kill(pid, 0), "environment": lambda: dict(os.environ), "cwd": os.getcwd,
    "run": lambda *argv: subprocess.run(argv, capture_output=True, text=True, check=True).stdout,
    "hard link": os.link, "rename": os.rename,
    "descriptors": lambda: [number for number in range(64) if os.path.exists(f"/proc/self/fd/{number}")],
}
with open(3) as orders, open(4, "w", buffering=1) as answers:
    for line in orders:
        name, *arguments = json.loads(line)
        try:
            answer = {"done": does[name](*arguments)}
        except Exception as error:
            answer = {"refused": repr(error)}
        answers.write(json.dumps(answer) + "\\n")
"""


class Puppet:
    """The program that runs.

    Args:
        program: the same.
        orders: what it reads from.
        answers: what it writes to.
    """

    def __init__(self, program: ConfinedProgram, orders: int, answers: int) -> None:
        self.program = program
        self._orders = os.fdopen(orders, "w", buffering=1)
        self._answers = os.fdopen(answers)

    async def ask(self, name: str, *arguments: object) -> Any:
        """Have it do something. Returns what came of it: `{"done": …}` or `{"refused": …}`."""
        self._orders.write(json.dumps([name, *arguments]) + "\n")
        return json.loads(await asyncio.to_thread(self._answers.readline))

    async def can(self, name: str, *arguments: object) -> bool:
        """Whether it can do something."""
        return "done" in await self.ask(name, *arguments)

    def hang_up(self) -> None:
        """Close its descriptor for reading, which ends it."""
        self._orders.close()

    def close(self) -> None:
        """Close both ends."""
        for one in (self._orders, self._answers):
            one.close()


class Ground:
    """Directories for one program, and what must not be read there.

    Args:
        base: an empty directory.
        project: below `base`.
        agent: kaa's own folder, below `base`.
    """

    def __init__(self, base: Path, project: str = "project", agent: str = "home/.kaa/agent") -> None:
        self.home, self.project, self.agent = base / "home", base / project, base / agent
        self.code, self.data = self.agent / "extensions" / "probe", self.agent / "extension-data" / "probe"
        for folder in (self.home / ".ssh", self.home / "Documents", self.project, self.code, self.data):
            folder.mkdir(parents=True)
        self.secrets = (self.home / ".ssh" / "id_rsa", self.agent / "auth.json", self.home / "Documents" / "letter")
        for secret in self.secrets:
            secret.write_text("secret")
        (self.project / "file").write_text("of the project")
        (self.code / "main.py").write_text(PUPPET)

    @asynccontextmanager
    async def running(self, environment: Mapping[str, str] = {}, **rights: Any) -> AsyncIterator[Puppet]:
        """Run the program with these rights."""
        reported: list[str] = []
        orders, answers = os.pipe(), os.pipe()
        own = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), **environment}
        given = ProgramRights(
            name="probe",
            code=str(self.code),
            data=str(self.data),
            project=str(self.project),
            private=(str(self.agent),),
            **rights,
        )
        with open(os.devnull, "r+b") as null:
            streams = OwnStreams(null.fileno(), null.fileno(), null.fileno(), (orders[0], answers[1]))
            argv = [sys.executable, "-I", str(self.code / "main.py")]
            program = await ConfinedProgram.start(argv, given, streams, environment=own, report=reported.append)
        os.close(orders[0])
        os.close(answers[1])
        puppet = Puppet(program, orders[1], answers[0])
        try:
            yield puppet
        finally:
            program.end()
            await program.wait()
            puppet.close()
