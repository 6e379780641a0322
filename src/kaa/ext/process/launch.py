"""The process of an extension as kaa sees it, and the program that executes it."""

import os
from typing import Protocol

from kaa.ext.errors import ExtensionError
from kaa.ext.process.manifest import Manifest
from kaa.host.paths import is_below
from kaa.host.programs import host_programs


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
        """Wait for its end; nothing of it is left then. Returns its exit code; negative: the signal that ended it.

        Cancelling this stops nothing.

        Raises:
            OSError: it could not be executed, or its sandbox died.
        """
        ...

    def end(self) -> None:
        """Send TERM to it and to what it started, and two seconds later KILL; a second call sends KILL at once."""
        ...


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
