"""What a server may do in its sandbox: what its entry says, or what its command line shows that it needs."""

import os
from collections.abc import Sequence

import msgspec

from kaa.ext.permissions import Permissions
from kaa.hands.confinement.layout import concealment
from kaa.hands.policy import Policy
from kaa.host.paths import is_below, trail
from kaa.shell.mcp.config.entry import ConfiguredServer, ServerEntry
from kaa.shell.mcp.place import Place
from kaa.workspace.blocked import Blocked
from kaa.workspace.network.registries import GROUPS
from kaa.workspace.sandbox.secrets import conceal

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
# They mark the folder of a package, or of a virtual environment.
_PACKAGE_FILES = ("package.json", "pyproject.toml", "pyvenv.cfg", "setup.py", "go.mod", "Cargo.toml", "deno.json")
_SYSTEM = ("/", "/bin", "/usr/bin", "/usr/local/bin", "/opt", "/home")
_PROJECT_WORDS = (".", "./", "${workspaceFolder}")


class RightsError(ValueError):
    """A command line names what its server may not read; the message says why and what to do."""


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


def readable_places(server: ConfiguredServer, words: Sequence[str], place: Place) -> tuple[str, ...]:
    """What a command line needs to read outside of the project: folders it names, and the packages of files it names.

    Real paths, and the paths by which the words name them. Secrets in them stay hidden.

    Args:
        server: whose command line it is.
        words: the program and its arguments.
        place: where it runs.

    Raises:
        RightsError: a word names something hidden, or commands can change what it leads to.
    """
    home = os.path.realpath(place.environ.get("HOME") or os.path.expanduser("~"))
    file, hidden = server.source.file, _hidden(place)
    own = tuple(map(os.path.realpath, filter(None, (server.source.root, server.source.data))))
    found: dict[str, None] = {}
    for number, word in enumerate(words):
        path = os.path.expanduser(word) if word.startswith(("/", "~/")) else ""
        if not path or not os.path.exists(path):
            continue
        *links, real = trail(path)
        if is_below(real, (place.project, *own)):
            continue
        if exchangeable := next(filter(place.commands_can_write, links), ""):
            if number == 0:  # a link to an interpreter, as in virtual environments, uncovers nothing
                continue
            raise RightsError(
                f"its argument {word} passes through the link {exchangeable}, which commands can change. Name what is"
                f" meant, such as {real}, in {file}"
            )
        if is_below(real, hidden):
            raise RightsError(
                f"its argument {word} is hidden from servers, because it may hold secrets. Remove it from {file}; an"
                f" exception in `sandbox.hidden` of {place.home.settings} shows files to commands and servers, except"
                " kaa's own"
            )
        if place.commands_can_write(real):  # what is in there can be exchanged until the server starts
            found[_writable_above(real, place)] = None
            continue
        for one in (real, *([] if ".." in path.split("/") else [os.path.normpath(path)])):
            found[one if os.path.isdir(one) else _package_of(one, home)] = None
    return tuple(found)


def _hidden(place: Place) -> tuple[str, ...]:
    """What nothing but the user's own exceptions uncovers: secrets, and kaa's folder."""
    home, private = place.environ.get("HOME") or os.path.expanduser("~"), (str(place.home.path),)
    concealed = conceal(home, private, place.sandbox().hidden, place.environ)
    policy = Policy("none", "read-only", hidden=concealed.hidden, shown=concealed.shown, private=private)
    return concealment(policy)[0]


def _writable_above(path: str, place: Place) -> str:
    """The directory as a whole that commands can write and a path is in: nobody can exchange that."""
    while place.commands_can_write(parent := os.path.dirname(path)):
        path = parent
    return path


def _package_of(file: str, home: str) -> str:
    """The folder that a program or script needs as a whole; the file itself where that would be too much."""
    before, is_module, _ = file.partition("/node_modules/")
    if is_module:
        return before + "/node_modules"
    folder = os.path.dirname(file)
    while not is_below(home, (folder,)):  # which also ends at the root
        if any(os.path.exists(os.path.join(folder, name)) for name in _PACKAGE_FILES):
            return folder
        folder = os.path.dirname(folder)
    folder = os.path.dirname(file)
    return file if is_below(home, (folder,)) or folder in _SYSTEM else folder


def fetched_unpinned(entry: ServerEntry) -> str:
    """The package that a runner fetches in whatever version is the newest; empty if there is none."""
    if os.path.basename(entry.command) not in ("npx", "bunx", "uvx", "pnpx"):
        return ""
    package = next((word for word in entry.args if not word.startswith("-")), "")
    return "" if "@" in package[1:] or "==" in package else package
