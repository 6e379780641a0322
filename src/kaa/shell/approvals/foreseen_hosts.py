"""The hosts that the words of a command say it will connect to: registries of installers, and hosts in URLs.

Only where a connection is likely: what mostly works from a cache (`cargo build`, `go test`, `npx eslint`, Java's tools)
is not asked about before it runs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from kaa.shell.approvals.credentials import FETCHING
from kaa.shell.approvals.grammar import Words
from kaa.workspace.network.allow_list import NetworkRule, askable
from kaa.workspace.network.destinations import Destination, canonical_host
from kaa.workspace.network.registries import GROUPS


class InstallerProgram(NamedTuple):
    """A program that downloads packages.

    Attributes:
        group: of registries.
        commands: words behind the program that download; one that is empty: any words.
    """

    group: str
    commands: str


# From the documentation of the programs, 2026.
_INSTALLERS: Final = {
    "pip": InstallerProgram("python", "install download wheel"),
    "pip3": InstallerProgram("python", "install download wheel"),
    "uv": InstallerProgram("python", "add sync lock tool_install pip_install pip_sync pip_compile"),
    "uvx": InstallerProgram("python", ""),
    "pipx": InstallerProgram("python", "install upgrade run inject"),
    "poetry": InstallerProgram("python", "install add update lock"),
    "pdm": InstallerProgram("python", "install add update lock sync"),
    "pipenv": InstallerProgram("python", "install update lock sync"),
    "npm": InstallerProgram("node", "install i ci add update up create outdated audit view"),
    "pnpm": InstallerProgram("node", "install i add update up dlx create"),
    "yarn": InstallerProgram("node", "install add up upgrade dlx create"),
    "bun": InstallerProgram("node", "install i add update create"),
    "bunx": InstallerProgram("node", ""),
    "cargo": InstallerProgram("rust", "install fetch update add search"),
    "go": InstallerProgram("go", "get mod_download mod_tidy"),
    "gem": InstallerProgram("ruby", "install update fetch"),
    "bundle": InstallerProgram("ruby", "install update add"),
    "composer": InstallerProgram("php", "install update require create-project"),
    "dotnet": InstallerProgram("dotnet", "restore add tool_install"),
}
_OFFLINE = frozenset({"--no-index", "--offline", "--frozen", "--local", "--no-network", "--help", "-h", "--version"})
_INDEXES = ("-i", "--index-url", "--extra-index-url", "--index", "--default-index", "--registry")
_REQUIREMENTS = ("-r", "--requirement", "-c", "--constraint")
_WEB_PORTS = {"http": 80, "https": 443}


def foreseen_hosts(program: str, rest: Words) -> tuple[str, ...]:
    """The hosts of a program, as rules; those with addresses that are never asked about are left out.

    Args:
        program: its name.
        rest: its further words; None for one that bash computes.
    """
    words = [word for word in rest if word is not None]
    if program in ("curl", "wget"):
        return hosts_in(words)
    if program == "git":
        return hosts_in(words[1:]) if words[:1] and words[0] in FETCHING else ()
    installer = _INSTALLERS.get(program)
    if installer is None or _OFFLINE.intersection(words) or not _downloads(installer, words):
        return ()
    if _is_local(program, words):
        return ()
    return hosts_in(_indexes(words)) or GROUPS[installer.group]


def _downloads(installer: InstallerProgram, words: Sequence[str]) -> bool:
    plain = [word for word in words if not word.startswith("-")]
    commands = installer.commands.split()
    return not commands or "_".join(plain[:2]) in commands or (bool(plain) and plain[0] in commands)


def _is_local(program: str, words: Sequence[str]) -> bool:
    """Whether pip installs only what is here; what that depends on is asked about when it is downloaded."""
    if program not in ("pip", "pip3", "uv") or any(word.startswith(_REQUIREMENTS) for word in words):
        return False
    named = [word for word in words if not word.startswith("-")]
    packages = named[named.index("install") + 1 :] if "install" in named else []
    return bool(packages) and all(word.startswith((".", "/", "~")) for word in packages)


def _indexes(words: Sequence[str]) -> Iterator[str]:
    for word, following in zip(words, (*words[1:], ""), strict=True):
        option, equals, value = word.partition("=")
        if option in _INDEXES:
            yield value if equals else following


def hosts_in(words: Iterable[str]) -> tuple[str, ...]:
    """The hosts of the URLs among words, as rules."""
    return tuple(dict.fromkeys(host for word in words for host in _host_of(word)))


def _host_of(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        if parts.scheme not in _WEB_PORTS:
            return
        destination = Destination(canonical_host(parts.hostname or ""), parts.port or _WEB_PORTS[parts.scheme])
    except ValueError:
        return
    if askable(destination):
        yield str(NetworkRule.exactly(destination))
