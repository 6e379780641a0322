"""Where git connects to: outside the sandbox a host, since a repository on this machine has hooks of its own.

Commands can make a repository, or a file that git takes for one, at any name in the project, also while the user reads
a question. So a name counts only if the project's configuration, which they cannot write, has it as a remote.
"""

import os
import re
from collections.abc import Iterator, Sequence

from kaa.hands.git_config import ConfigEntry, ConfigSyntaxError, entries

# gitremote-helpers(7): for every other scheme, and for `x::y`, git runs the program git-remote-x.
_SCHEME = re.compile(r"(?P<scheme>[^/:]*)(?:::|://)")
_SCHEMES_OF_GIT = frozenset({"git", "http", "https", "ssh"})
_BY_NAME = frozenset({"fetch", "ls-remote", "pull", "push"})
_MOST_CONFIGURATION = 256 * 1024

IS_HERE = " is no remote at a host, and may be a folder whose hooks would run"
"""How a name is described that may be a repository on this machine."""


def objection_to_repositories(subcommand: str, repositories: Sequence[str], root: str) -> str | None:
    """Return what of the repositories that git connects to may run programs here; None if all are at hosts.

    Args:
        repositories: words that may be names or addresses of them.
    """
    for repository in repositories:
        if (scheme := _SCHEME.match(repository)) and scheme["scheme"] not in _SCHEMES_OF_GIT:
            return f"{repository}, for which it runs git-remote-{scheme['scheme']}"
        if subcommand not in _BY_NAME and not _is_at_host(repository, root):
            return f"{repository}{IS_HERE}"
    if subcommand not in _BY_NAME:
        return None
    configuration = tuple(configuration_of(root))
    if rewritten := next((one for one in configuration if one.section == "url"), None):
        return f"its setting {rewritten.key}, which changes addresses"
    addresses = _addresses(configuration)
    names = repositories or _defaults(configuration)
    for name in names:
        if not all(_is_at_host(address, root) for address in addresses.get(name, [name])):
            return f"{name}{IS_HERE}"
    return None


def _is_at_host(address: str, root: str) -> bool:
    """Whether git connects to a host for an address, whatever may be made at this name."""
    if (scheme := _SCHEME.match(address)) is not None:
        return scheme[0] in {f"{one}://" for one in _SCHEMES_OF_GIT}
    host, colon, _ = address.partition(":")
    is_host = bool(colon and host) and "/" not in host and not host.startswith(("-", ".", "~"))
    return is_host and not os.path.lexists(os.path.join(root, address))


def _addresses(configuration: Sequence[ConfigEntry]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in configuration:
        if entry.section == "remote" and entry.name in ("url", "pushurl"):
            found.setdefault(entry.subsection, []).append(entry.value)
    return found


def _defaults(configuration: Sequence[ConfigEntry]) -> list[str]:
    """Remotes that git may take where none is named (git-push(1), git-fetch(1))."""
    found = ["origin"]
    for entry in configuration:
        is_of_branch = entry.section == "branch" and entry.name in ("remote", "pushremote")
        if is_of_branch or (entry.section == "remote" and entry.name == "pushdefault"):
            found.append(entry.value)
    remotes = _addresses(configuration)
    # Git takes the only remote if there is none of the name `origin`.
    return [*remotes, *found[1:]] if remotes and "origin" not in remotes else found


def configuration_of(root: str) -> Iterator[ConfigEntry]:
    """The configuration of the repository that the project is in; nothing if it cannot be read."""
    for name in ("config", "config.worktree"):
        try:
            with open(os.path.join(_common_directory(root), name), "rb") as file:
                yield from entries(file.read(_MOST_CONFIGURATION))
        except (OSError, ConfigSyntaxError, UnicodeDecodeError):
            continue


def _common_directory(root: str) -> str:
    """The directory with the configuration of a project's repository (gitrepository-layout(5)).

    Raises:
        OSError: there is none, or it cannot be read.
    """
    folder = root
    while not os.path.lexists(place := os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    if os.path.isdir(place):
        return place
    with open(place, encoding="utf-8", errors="surrogateescape") as file:
        place = os.path.join(folder, file.read(4096).removeprefix("gitdir:").strip())
    with open(os.path.join(place, "commondir"), encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(place, file.read(4096).strip())
