"""What a server may do in its sandbox: what its entry says, or what its command line shows that it needs."""

import os
from collections.abc import Sequence

from kaa.ext.permissions import Permissions
from kaa.host.paths import is_below
from kaa.shell.mcp.config.entry import ServerEntry
from kaa.workspace.network.registries import GROUPS

# Programs that fetch what they run.
_RUNNERS = {
    "npx": "node",
    "npm": "node",
    "pnpm": "node",
    "pnpx": "node",
    "yarn": "node",
    "bunx": "node",
    "bun": "node",
    "deno": "node",
    "uvx": "python",
    "uv": "python",
    "pipx": "python",
}
_PROJECT_WORDS = (".", "./", "${workspaceFolder}")


def permissions_of(entry: ServerEntry, project: str) -> Permissions:
    """What a server may do. An entry that does not say gets what its command line needs.

    Reading the project is always among that; writing, if the project is an argument; and the hosts of the registry, if
    it is fetched by a package runner.

    Args:
        entry: the server.
        project: the directory of the project.
    """
    if entry.permissions is not None:
        return entry.permissions
    named = any(word in _PROJECT_WORDS or os.path.realpath(word) == project for word in entry.args)
    group = _RUNNERS.get(os.path.basename(entry.command))
    return Permissions(project="write" if named else "read", hosts=GROUPS[group] if group else ())


def readable_places(words: Sequence[str], project: str) -> tuple[str, ...]:
    """The files and folders that a command line names, and that exist, outside of the project."""
    paths = (os.path.realpath(os.path.expanduser(word)) for word in words if word.startswith(("/", "~/")))
    return tuple(dict.fromkeys(path for path in paths if os.path.exists(path) and not is_below(path, (project,))))


def fetched_unpinned(entry: ServerEntry) -> str:
    """The package that a runner fetches in whatever version is the newest; empty if there is none."""
    if os.path.basename(entry.command) not in ("npx", "bunx", "uvx", "pnpx"):
        return ""
    package = next((word for word in entry.args if not word.startswith("-")), "")
    return "" if "@" in package[1:] or "==" in package else package
