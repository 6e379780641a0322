"""What a server may do in its sandbox: what its entry says, or what its command line shows that it needs."""

import os
import re
from collections.abc import Sequence

import msgspec

from kaa.ext.permissions import Permissions
from kaa.host.paths import is_below
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry
from kaa.workspace.blocked import Blocked
from kaa.workspace.network.allow_list import NetworkRule, NetworkState
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
# What Node, Python, the C library and SQLite say of a write that the sandbox refused.
_WRITE_REFUSED = re.compile(
    r"\bEROFS\b|read-only file ?system|unable to open database file|write a readonly database", re.IGNORECASE
)
# Node says of a directory that it cannot make in a place that is read-only, with its parents, that there is none.
_MKDIR_FAILED = re.compile(r"\bENOENT\b[^\n]*\bmkdir '(/[^'\n]+)'")
_UNRESOLVED = re.compile(r"\b(?:EAI_AGAIN|ENOTFOUND)\s+((?:[\w-]+\.)+[A-Za-z]{2,63})\b")  # of Node
_FETCH_FAILED = re.compile(r"\bfetch failed\b")
_FILE_REFUSED = re.compile(
    r"\b(?:EROFS|ENOENT|EACCES|EPERM)\b|read-only file ?system|no such file or directory|permission denied",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"\bENOENT\b|no such file|cannot find (?:module|package)|no module named|can't open file|not found", re.IGNORECASE
)
_ENVIRONMENT = re.compile(r"(/[^'\"`\s]+)/\.venv\b")
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
    return Permissions(project="write" if named else "read", hosts=registry_of(entry.command))


def own_rules(server: ConfiguredServer, permissions: Permissions, chosen: NetworkState) -> tuple[NetworkRule, ...]:
    """The rules about hosts that the user wrote: the user's own entry, or else what he chose for commands."""
    return tuple(map(NetworkRule.parse, permissions.hosts)) if server.source.is_own else chosen.rules


def registry_of(command: str) -> tuple[str, ...]:
    """Return the hosts that a program fetches packages from before it runs them; none for other programs."""
    group = _RUNNERS.get(os.path.basename(command))
    return tuple(GROUPS[group]) if group is not None else ()


def _is_path_of(word: str, project: str) -> bool:
    """Whether a word is written as the path of the project: relative ones, and `/proc`, depend on who looks."""
    return word.startswith("/") and not word.startswith("/proc/") and os.path.realpath(word) == project


def hindrance_of(
    server: ConfiguredServer, project: str, home: str, data: str, blocked: Sequence[Blocked], said: str, asked: str = ""
) -> str:
    """From what the sandbox kept a server, and the setting that permits it; empty if nothing is known.

    Args:
        server: the server.
        project: the directory of the project.
        home: the user's.
        data: the folder that the server keeps.
        blocked: connections that the sandbox prevented.
        said: how the server described its failure, from which writes that were refused are known.
        asked: what it was asked to do, as text: a file that is to be made is among it.
    """
    if not server.entry.sandbox:
        return ""
    now = wanted = permissions_of(server.entry, project)  # an entry that says one of them would take the rest away
    kept: list[str] = []
    unresolved, remedy_of_program = _unresolved(server, now.hosts, said)
    if hosts := tuple(dict.fromkeys((*(one.host_rule or one.what for one in blocked if one.what), *unresolved))):
        kept.append(f"The sandbox of MCP server {server.name} kept it from {', '.join(hosts)}.")
        rules = [*(one.host_rule for one in blocked if one.host_rule), *unresolved]
        wanted = msgspec.structs.replace(wanted, hosts=tuple(dict.fromkeys((*now.hosts, *rules))))
        if not server.source.is_own and any(one.kind == "private" for one in blocked):
            kept.append(
                "It reaches private addresses of hosts only that your own rules (sandbox.network, --net) name exactly."
            )
    other = _elsewhere(server, home, (project, data), said) or (
        f"The sandbox of MCP server {server.name} shows it little of your home, and lets it write nothing there. If it"
        f' keeps files there, set "env": {{"HOME": "{data}"}} for {server.name} in {server.source.file}'
        if _is_about_home(said, home, project, data)
        else _refused_where_it_starts(server, project, data, said)
    )
    if not other and now.project != "write" and (refused := _refused_write(server, project, said, asked, kept)):
        kept.append(refused)
        wanted = msgspec.structs.replace(wanted, project="write")
    remedies = [other, remedy_of_program]
    if wanted != now:
        setting = msgspec.json.format(msgspec.json.encode(wanted), indent=0).decode()
        remedies.insert(0, f'To permit that, set "permissions": {setting} for {server.name} in {server.source.file}')
    return " ".join((*kept, ". ".join(filter(None, remedies)))).strip()


def _refused_where_it_starts(server: ConfiguredServer, project: str, data: str, said: str) -> str:
    """What a server could not write that starts outside the project and names no place; empty if it is not that."""
    cwd = server.entry.cwd
    if not cwd or "$" in cwd:  # it starts in the project, or where the place of the run says
        return ""
    base = os.path.normpath(os.path.join(project, os.path.expanduser(cwd)))
    if is_below(base, (project, data)) or not _WRITE_REFUSED.search(said) or re.search(r"['\"\s=:(]/\w", said):
        return ""
    return (
        f"The sandbox of MCP server {server.name} does not let it write {base}, where it starts. If it is to keep files"
        f' in the project, set "cwd": "." and "permissions": {{"project": "write"}} for {server.name} in'
        f" {server.source.file}"
    )


def _refused_write(server: ConfiguredServer, project: str, said: str, asked: str, kept: Sequence[str]) -> str:
    """What a server could not write in the project, or perhaps could not; empty if nothing looks like that."""
    made = _MKDIR_FAILED.search(said)
    if _WRITE_REFUSED.search(said) or (made is not None and is_below(made[1], (project,))):
        return f"The sandbox of MCP server {server.name} does not let it write the project."
    if kept or _MISSING.search(said) or not any(_is_new(path, project) for path in _paths_of(project, asked)):
        return ""
    return f"The sandbox of MCP server {server.name} lets it read the project, and write nothing there."


def _paths_of(project: str, text: str) -> list[str]:
    return re.findall(rf"{re.escape(project)}/[^'\"`\s:,;)]+", text)


def _is_new(path: str, project: str) -> bool:
    """Whether there is no file of this name in the project yet, so that a server was to make it."""
    normal = os.path.normpath(path)
    return is_below(normal, (project,)) and not os.path.lexists(normal) and os.path.isdir(os.path.dirname(normal))


def _unresolved(server: ConfiguredServer, permitted: Sequence[str], said: str) -> tuple[list[str], str]:
    """The hosts that a server looked for itself, past the sandbox's proxy, and are not permitted; and what it needs.

    Only the proxy resolves names, and Node obeys the variables that name it from 22.21 and 24.5 on.
    """
    found = dict.fromkeys(host.rstrip(".") for host in _UNRESOLVED.findall(said))
    if not found and not (_FETCH_FAILED.search(said) and not permitted):
        return [], ""
    rules = [NetworkRule.parse(one) for one in permitted]
    missing = [host for host in found if not any(one.covers(NetworkRule.parse(host)) for one in rules)]
    address = next((word for word in server.entry.args if word.startswith("https://")), "")
    if address and any("mcp-remote" in word for word in server.entry.args):
        return missing, f'kaa connects to such servers itself: "url": "{address}" in the place of its command'
    remedy = "It reaches permitted hosts through a proxy, which Node uses from 22.21 and 24.5 on: update an older one"
    if not found:
        remedy += f'. "permissions": {{"hosts": [HOST]}} for {server.name} in {server.source.file} permits one'
    return missing, remedy


def _elsewhere(server: ConfiguredServer, home: str, seen: tuple[str, ...], said: str) -> str:
    """What a server misses of the user's home that is there, and how it gets it; empty if nothing is known."""
    path = re.search(rf"{re.escape(home)}/[^'\"`\s:,)]+", said)
    if path is None or is_below(path[0], seen):
        return ""
    if _WRITE_REFUSED.search(said) and (found := _ENVIRONMENT.search(said)) and not os.path.exists(f"{found[1]}/.venv"):
        return f"Its environment is not there yet: run `uv sync` in {found[1]} once, outside of kaa"
    if not _MISSING.search(said) or "mkdir" in said or not os.path.exists(path[0]):
        return ""
    folder = path[0] if os.path.isdir(path[0]) else os.path.dirname(path[0])
    return (
        f"The sandbox of MCP server {server.name} does not show it {path[0]}. If it may read that, set"
        f' "readable": ["{folder}"] for {server.name} in {server.source.file}'
    )


def _is_about_home(said: str, home: str, project: str, data: str) -> bool:
    """Whether a server could not make a file in the user's home."""
    found = re.search(rf"{re.escape(home)}/[^'\"`\s:,;)]+", said) if _FILE_REFUSED.search(said) else None
    return found is not None and not is_below(found[0], (project, data))


def silence_of(server: ConfiguredServer) -> str:
    """What to do if a server ends without a word; empty if nothing is known."""
    if runner_of(server.entry) not in ("npx", "npm"):
        return ""
    setting = f'"env": {{"npm_config_foreground_scripts": "true"}} for {server.name} in {server.source.file}'
    how = f"set {setting} and run `kaa mcp test {server.name}`"
    return f"npm does not show what scripts of packages print: to see it, {how}"


def runner_of(entry: ServerEntry) -> str:
    """Return the name of the program that downloads the server before it runs it; empty if none does."""
    name = os.path.basename(entry.command)
    return name if name in _RUNNERS else ""


def fetched_unpinned(entry: ServerEntry) -> str:
    """The package that a runner fetches in whatever version is the newest; empty if there is none."""
    if os.path.basename(entry.command) not in ("npx", "bunx", "uvx", "pnpx"):
        return ""
    package = next((word for word in entry.args if not word.startswith("-")), "")
    return "" if "@" in package[1:] or "==" in package else package
