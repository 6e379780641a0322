"""What a server may do in its sandbox: what its entry says, or what its command line shows that it needs."""

import os
from collections.abc import Sequence

import msgspec

from kaa.ext.permissions import Permissions
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry
from kaa.workspace.blocked import Blocked
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
    named = any(word in _PROJECT_WORDS or _is_path_of(word, project) for word in entry.args)
    group = _RUNNERS.get(os.path.basename(entry.command))
    return Permissions(project="write" if named else "read", hosts=GROUPS[group] if group else ())


def _is_path_of(word: str, project: str) -> bool:
    """Whether a word is written as the path of the project: relative ones, and `/proc`, depend on who looks."""
    return word.startswith("/") and not word.startswith("/proc/") and os.path.realpath(word) == project


def hindrance_by_hosts(server: ConfiguredServer, project: str, blocked: Sequence[Blocked]) -> str:
    """From which hosts the sandbox kept a server, and what permits those that can be; empty if there are none.

    Args:
        server: the server.
        project: the directory of the project.
        blocked: connections that the sandbox prevented.
    """
    hosts = tuple(dict.fromkeys(one.host_rule or one.what for one in blocked if one.what))
    if not hosts:
        return ""
    kept = f"Its sandbox kept it from {', '.join(hosts)}."
    rules = [one.host_rule for one in blocked if one.host_rule]
    if not rules:
        return kept
    now = permissions_of(server.entry, project)  # an entry that says only the hosts would take the rest away
    wanted = msgspec.structs.replace(now, hosts=tuple(dict.fromkeys((*now.hosts, *rules))))
    setting = msgspec.json.format(msgspec.json.encode(wanted), indent=0).decode()
    return f'{kept} To permit that, set "permissions": {setting} for {server.name} in {server.source.file}'


def fetched_unpinned(entry: ServerEntry) -> str:
    """The package that a runner fetches in whatever version is the newest; empty if there is none."""
    if os.path.basename(entry.command) not in ("npx", "bunx", "uvx", "pnpx"):
        return ""
    package = next((word for word in entry.args if not word.startswith("-")), "")
    return "" if "@" in package[1:] or "==" in package else package
