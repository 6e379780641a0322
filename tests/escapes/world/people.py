"""As whom the sandbox is started: root and an ordinary user, who need not exist."""

import functools
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tests.support.launcher import Launch
from tests.support.warm_start import KaaProcess

# Owns nothing on any machine, and is not the "nobody" as whom namespaces show the files of everyone they do not know.
_ORDINARY_UID = 54321
_WORLD = Path(__file__).resolve().parent
_SOURCE = _WORLD.parents[2] / "src"


class Person(NamedTuple):
    """Somebody who runs kaa.

    Attributes:
        name: `root` or `ordinary`.
        uid: their user and group; -1 if that is who we are.
    """

    name: str
    uid: int

    @property
    def is_root(self) -> bool:
        """Whether the kernel asks them nothing."""
        return self.name == "root"

    @property
    def user(self) -> int | None:
        """What to tell `subprocess` about the user and the group."""
        return None if self.uid < 0 else self.uid

    @property
    def groups(self) -> list[int] | None:
        """What to tell `subprocess` about further groups."""
        return None if self.uid < 0 else []

    def own(self, path: Path) -> None:
        """Give them a tree."""
        if self.uid < 0:
            return
        os.lchown(path, self.uid, self.uid)
        for directory, directories, files in os.walk(path):
            for name in (*directories, *files):
                os.lchown(os.path.join(directory, name), self.uid, self.uid)

    def start(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        pid_file: Path,
        own_mounts: bool = False,
        key: Sequence[str] = (),
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        controlling_terminal: bool = False,
        pass_fds: Sequence[int] = (),
        is_read: bool = False,
    ) -> "subprocess.Popen[bytes]":
        """Start a command as them, with its outputs in pipes.

        If its arguments or environment are read in /proc (`is_read`), they are there as after every start.
        """
        changes = self.uid >= 0
        launch: Launch = {
            "uid": self.uid,
            "own_mounts": own_mounts or changes,
            "reach": _to_reach() if changes else [],
            "pid_file": str(pid_file),
            "controlling_terminal": controlling_terminal,
            "key": list(key),
            "environment": dict(environment),
            "directory": str(directory),
            "command": list(command),
        }
        process: KaaProcess[bytes] = KaaProcess(
            list(command),
            launch=launch,
            is_read=is_read,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=pass_fds,
            start_new_session=not controlling_terminal,
        )
        return process


def everyone() -> list[Person]:
    """Who can be had: root only if we are root."""
    return [ROOT, ORDINARY] if os.geteuid() == 0 else [ORDINARY]


ROOT = Person("root", -1)
ORDINARY = Person("ordinary", _ORDINARY_UID if os.geteuid() == 0 else -1)


@functools.cache
def _to_reach() -> list[str]:
    """What is needed: the interpreter by all its names, the packages, our own source, what runs in kaa's place."""
    found = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), str(_SOURCE), str(_WORLD)}
    link = sys.executable
    while True:
        found.add(str(Path(link).parent.parent))
        if not os.path.islink(link):
            break
        link = os.path.join(os.path.dirname(link), os.readlink(link))
    return sorted({*found, *(os.path.realpath(path) for path in found)})
