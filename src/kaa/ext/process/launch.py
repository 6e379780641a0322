"""Starts the process of an extension, and ends it with all that it started. Nothing confines it here."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Protocol, TypeAlias

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.process.manifest import Manifest
from kaa.host.paths import is_below
from kaa.host.programs import host_programs
from kaa.workspace.environment import command_environment

_SCRIPT = os.path.join(os.path.dirname(__file__), "child.py")


class Launch(msgspec.Struct, frozen=True):
    """What is started.

    Attributes:
        manifest: of the extension.
        directory: the directory that kaa was started in, which the extension works on.
        settings: the folder of the extension's own settings.
    """

    manifest: Manifest
    directory: str
    settings: str


class ExtensionProcess(Protocol):
    """A process that was started. The descriptors are kaa's ends, and belong to the caller.

    Attributes:
        messages_in: what is written here arrives at the process's descriptor 3.
        messages_out: what the process writes to its descriptor 4.
        stdin: the process's standard input.
        stdout: what it prints.
        stderr: likewise.
    """

    messages_in: int
    messages_out: int
    stdin: int
    stdout: int
    stderr: int

    async def wait(self) -> int:
        """Wait for its end. Returns its exit code; negative: the signal that ended it."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it started; nothing if it is gone."""
        ...


Start: TypeAlias = Callable[[Launch], Awaitable[ExtensionProcess]]
"""Starts a process; raises ExtensionError if it cannot."""


async def start(launch: Launch) -> ExtensionProcess:
    """Start the process with the user's rights, without the variables that hold keys.

    Raises:
        ExtensionError: its program is missing or cannot be executed.
    """
    command = (program_of(launch.manifest), *launch.manifest.arguments)
    with ExitStack() as theirs, ExitStack() as ours:
        ends: list[int] = []
        for ours_is_writer in (True, False, True, False, False):
            read, write = os.pipe()
            mine, other = (write, read) if ours_is_writer else (read, write)
            ours.callback(os.close, mine)
            theirs.callback(os.close, other)
            ends += [mine, other]
        mine_all, others = ends[::2], ends[1::2]
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _SCRIPT, str(os.getpid()), str(others[0]), str(others[1])),
                *command,
                stdin=others[2],
                stdout=others[3],
                stderr=others[4],
                pass_fds=others[:2],
                cwd=launch.manifest.folder,
                env=environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise ExtensionError(f"Extension {launch.manifest.folder}: cannot start it: {error.strerror}") from error
        ours.pop_all()
        return _Started(process, *mine_all)


def program_of(manifest: Manifest) -> str:
    """The absolute path of the program that executes an extension.

    Raises:
        ExtensionError: there is none, or commands in the sandbox can write it.
    """
    name, folder = manifest.program, manifest.folder
    if is_below(os.path.normpath(name), (folder,)):  # the folder was judged before anything in it was read
        if os.path.isfile(name) and os.access(name, os.X_OK):
            return name
        state = "is not executable: run chmod +x" if os.path.isfile(name) else "does not exist: build or install it"
        raise ExtensionError(f"Extension {folder}: the program {os.path.normpath(name)} {state}")
    programs = host_programs()
    if (found := programs.find(name)) is not None:
        return found
    reason = programs.refusal(name) or f"{name} is not installed, or not in a directory of PATH: install it"
    raise ExtensionError(f"Extension {folder} needs {manifest.runtime}: {reason}")


def environment() -> dict[str, str]:
    """The variables of an extension process. `PIGLET_FD` tells Piglet's SDKs to use the descriptors 3 and 4."""
    kept = command_environment(host_programs().environment(), confined=False)
    return {**kept, "PIGLET_FD": "1"}


class _Started:
    """A process of this machine, the first one of its own session and group."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        messages_in: int,
        messages_out: int,
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> None:
        self._process = process
        self.messages_in = messages_in
        self.messages_out = messages_out
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    async def wait(self) -> int:
        code = await self._process.wait()
        self.signal(signal.SIGKILL)  # what it started and left behind
        return code

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
