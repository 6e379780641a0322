"""What the user chose for a project, as it is meant in a worktree of the project."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kaa.host.programs import note_writable
from kaa.shell.home import expanded
from kaa.shell.settings import SandboxSettings
from kaa.shell.worktrees.registry import copied_to, origin_of
from kaa.workspace.sandbox.relocation import relocated_hidden, relocated_writable


def choices_for_copy(
    settings: SandboxSettings, directory: str, environ: Mapping[str, str]
) -> tuple[SandboxSettings, tuple[str, ...]]:
    """Return settings with absolute paths, those in the project replaced, and what may be read besides: the worktree.

    Args:
        directory: absolute and real; outside of worktrees nothing is replaced.
    """
    worktree = copied_to(directory, environ)
    if worktree is None:
        return settings, ()
    # Commands write there, too, in sessions of the project, and what they write in a worktree may be merged into it.
    note_writable((worktree.project,))
    origin, copies = origin_of(directory, environ), (worktree.project, worktree.directory)
    hidden = [(path.startswith("!"), path.removeprefix("!")) for path in settings.hidden]
    chosen = msgspec.structs.replace(
        settings,
        writable=relocated_writable((_absolute(path, origin) for path in settings.writable), *copies),
        hidden=relocated_hidden(("!" * shown + _absolute(path, origin) for shown, path in hidden), *copies),
    )
    return chosen, (worktree.directory,)


def _absolute(path: str, below: str) -> str:
    return os.path.abspath(Path(below, expanded(path)))
