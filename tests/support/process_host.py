"""What extension processes get from kaa, without a sandbox and with all permissions that they ask for."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

from kaa.ext.asking import Asker
from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.process.host import EventBus, program_of
from kaa.ext.process.manifest import Manifest
from kaa.ext.scope import Scope
from tests.support import process_sdk

_SDK = Path(process_sdk.__file__)


def write_extension(folder: Path, source: str, manifest: str = "") -> Path:
    """An extension process in Python, which can use `process_sdk`. Returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "process_sdk.py").write_text(_SDK.read_text())
    (folder / "main.py").write_text("from process_sdk import *\nimport os, sys, time\n" + dedent(source))
    program = folder / "run"
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -I -B -X utf8 -c 'import sys; sys.path.insert(0, \".\"); import main'\n"
    )
    program.chmod(0o755)
    (folder / "manifest.yaml").write_text(f"name: {folder.name}\nruntime: ./run\n" + dedent(manifest))
    return folder


class UnconfinedHost:
    """See `kaa.ext.process.host.ProcessHost`.

    Args:
        project: the directory that kaa was started in.

    Attributes:
        reports: what the user was told.
        started: the ids of the processes, in the order of their start.
        bus: their topics.
        is_granted: whether the user needs not be asked.
    """

    def __init__(self, project: Path) -> None:
        self.project = str(project)
        self.reports: list[str] = []
        self.started: list[int] = []
        self.is_granted = True
        self.bus = EventBus()
        self._lives: set[asyncio.Task[None]] = set()

    def report(self, text: str) -> None:
        """Remember it."""
        self.reports.append(text)

    def keep(self, life: asyncio.Task[None]) -> None:
        """Own it."""
        self._lives.add(life)

    async def close(self) -> None:
        """Wait for the processes' end."""
        await asyncio.wait(self._lives)
        for life in self._lives:
            life.result()

    def scopes(self) -> Sequence[Scope]:
        """None."""
        return ()

    def granted(self, extension: Applicant) -> Permissions | None:
        """What it asks for."""
        return extension.requested if self.is_granted else None

    async def permit(self, manifest: Manifest, asker: Asker) -> Permissions:
        """Permit it."""
        self.reports.append(f"permitted {manifest.name}")
        return manifest.requested

    def note_code(self, manifest: Manifest) -> None:
        """Nobody else can write it."""

    def data_folder(self, manifest: Manifest) -> str:
        """A folder beside the extension."""
        return f"{manifest.folder}-data"

    async def key(self, name: str) -> str | None:
        """None."""
        return None

    async def start(self, manifest: Manifest, permissions: Permissions) -> "UnconfinedProcess":
        """Start it."""
        pipes = [os.pipe() for _ in range(5)]
        (messages_in, messages_out, stdin, stdout, stderr) = pipes
        # The shell arranges the descriptors 3 and 4: in a process with threads, nothing of Python's may run after fork.
        ours = messages_in[0], messages_out[1]
        arrange = f'exec 3<&{ours[0]} 4>&{ours[1]} {ours[0]}<&- {ours[1]}>&-; exec "$0" "$@"'
        try:
            process = await asyncio.create_subprocess_exec(
                *("/bin/bash", "-c", arrange, program_of(manifest), *manifest.arguments),
                stdin=stdin[0],
                stdout=stdout[1],
                stderr=stderr[1],
                pass_fds=(messages_in[0], messages_out[1]),
                cwd=manifest.folder,
                env={"PATH": os.defpath, "PIGLET_FD": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise ExtensionError(str(error)) from error
        finally:
            for descriptor in (messages_in[0], messages_out[1], stdin[0], stdout[1], stderr[1]):
                os.close(descriptor)
        self.started.append(process.pid)
        return UnconfinedProcess(process, messages_in[1], messages_out[0], stdin[1], stdout[0], stderr[0])


class UnconfinedProcess:
    """See `kaa.ext.process.host.ExtensionProcess`."""

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
        """Wait for its end."""
        return await asyncio.shield(self._process.wait())

    def end(self) -> None:
        """Kill it."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
