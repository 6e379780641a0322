"""What a project says to the agent: its settings, its instructions, its own system prompt.

All of it is read through the workspace, in one round trip.
"""

from pathlib import Path, PurePosixPath

import msgspec

from kaa.ext.api import ContextFile
from kaa.shell.home import PROJECT_FOLDER, Home
from kaa.workspace.protocol import Workspace

# The first of these that a folder has is used, as pi does.
_CONTEXT_NAMES = ("AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")

# The most that is read of one file, the user's own prompts excepted; codex caps the same way (32 KiB).
_MAX_BYTES = 32 * 1024

PROJECT_SETTINGS = f"{PROJECT_FOLDER}/settings.json"


class ProjectFiles(msgspec.Struct, frozen=True):
    """What was found. `truncated`: paths of files of which only the beginning is used."""

    settings: bytes | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    context_files: tuple[ContextFile, ...] = ()
    truncated: tuple[str, ...] = ()


async def read_project_files(workspace: Workspace, home: Home, *, context: bool) -> ProjectFiles:
    """Read the project's files, with the user's own where the project has none.

    Context files come from the user's folder first, then from the file system's root down to the project.

    Args:
        workspace: the project.
        home: the user's folder.
        context: whether to look for context files.
    """
    root = PurePosixPath(workspace.root)
    folders = [*reversed(root.parents), root] if context else []
    candidates = [[str(folder / name) for name in _CONTEXT_NAMES] for folder in folders]
    own = {name: str(root / PROJECT_FOLDER / name) for name in ("settings.json", "SYSTEM.md", "APPEND_SYSTEM.md")}
    wanted = [*own.values(), *(path for paths in candidates for path in paths)]
    found = await workspace.read_existing(wanted, _MAX_BYTES + 1)

    mine = {str(home.path / name): _read(home.path / name) for name in _CONTEXT_NAMES} if context else {}
    texts: dict[str, bytes] = {}
    for paths in [list(mine), *candidates]:
        hits = ((path, mine.get(path) or found.get(path)) for path in paths)
        texts |= dict([(path, data) for path, data in hits if data is not None][:1])
    own_texts = {path: found[path] for path in own.values() if path in found}
    return ProjectFiles(
        settings=found.get(own["settings.json"]),
        system_prompt=_prompt(found, own["SYSTEM.md"], home.path / "SYSTEM.md"),
        append_system_prompt=_prompt(found, own["APPEND_SYSTEM.md"], home.path / "APPEND_SYSTEM.md"),
        context_files=tuple(ContextFile(path, _decode(data[:_MAX_BYTES])) for path, data in texts.items()),
        truncated=tuple(path for path, data in (own_texts | texts).items() if len(data) > _MAX_BYTES),
    )


def _prompt(found: dict[str, bytes], project_path: str, user_file: Path) -> str | None:
    data = found.get(project_path, b"")[:_MAX_BYTES] or _read(user_file)
    return None if data is None else _decode(data)


def _read(file: Path) -> bytes | None:
    """A file of the user's own folder, which is kaa's to read, or None."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace")
