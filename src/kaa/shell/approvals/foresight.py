"""What a command will foreseeably need from outside the sandbox, so that kaa asks before it runs, and it runs once.

A guess from the words of the command: a need that is missed here is reported when the sandbox blocks it, and a need
that was wrongly foreseen costs a question. Nothing is permitted because of what is found here. Hosts are those of
installers' registries and in URLs, where a connection is likely: what mostly works from a cache (`cargo build`,
`go test`, `npx eslint`, Java's tools) is not asked about before it runs. The sandbox hides credentials, so commands
that use some can only work outside.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from kaa.ext.escalations import OUTSIDE, Escalation
from kaa.shell.approvals.grammar import Words
from kaa.shell.approvals.programs import program_name
from kaa.shell.approvals.reach import CommandReach
from kaa.workspace.network.allow_list import NetworkRule, askable
from kaa.workspace.network.destinations import Destination, canonical_host
from kaa.workspace.network.registries import GROUPS

# Commands do not see all worktrees, and some of what git keeps of each is mounted: git would remove what it can.
_OF_WORKTREES = frozenset({"move", "prune", "remove"})
# Git does the rest, cannot write the configuration, and ends as if nothing was missing. (`update --init` fails, and can
# be repeated outside.)
_REGISTERING = frozenset({"add", "deinit"})
_VALUED_OF_ADD = frozenset({"-b", "-B", "--reason"})  # of `git worktree add`
# Of these, every subcommand that does not only show help or a version.
_CLIENTS = frozenset(
    """
    aws az doctl eb firebase fly flyctl gcloud gh glab gsutil heroku hub kubectl mosh netlify op oc railway s3cmd scp
    sftp ssh tea twine vault vercel wrangler
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)
_SUBCOMMANDS = {
    "cargo": ("login", "owner", "publish", "yank"),
    "gem": ("push", "signin", "yank"),
    "git": ("push", "send-email"),
    "helm": ("install", "list", "ls", "push", "rollback", "status", "uninstall", "upgrade"),
    "mvn": ("deploy",),
    "npm": ("access", "adduser", "dist-tag", "login", "owner", "publish", "token", "unpublish", "whoami"),
    "pnpm": ("login", "publish", "whoami"),
    "poetry": ("publish",),
    "pulumi": ("destroy", "preview", "refresh", "up"),
    "terraform": ("apply", "destroy", "import", "plan", "refresh"),
    "tofu": ("apply", "destroy", "import", "plan", "refresh"),
    "uv": ("publish",),
    "yarn": ("publish",),
}
FETCHING = ("clone", "fetch", "ls-remote", "pull", "submodule")
_ONLY_SHOWING = frozenset(("--help", "--version", "-h", "completion", "help", "version"))


class Need(msgspec.Struct, frozen=True):
    """A permission without which a command would be blocked.

    Attributes:
        reason: why the command needs it, a sentence without a full stop.
    """

    escalation: Escalation
    reason: str


def foreseen(reach: CommandReach, is_beyond: Callable[[str], bool] = lambda _: False) -> tuple[Need, ...]:
    """The needs of a command, as far as its words show them.

    Args:
        is_beyond: whether a path that it names is certainly where commands cannot write.
    """
    needs = {need.escalation: need for words in reach.commands for need in _needs(words, is_beyond)}
    outside = needs.get(OUTSIDE)
    return tuple(needs.values()) if outside is None else (outside,)  # outside, nothing else needs a permission


def foreseen_host(url: object) -> tuple[Need, ...]:
    """The need of a tool that gets an address. None for what is never asked about: the network refuses it."""
    hosts = hosts_in([url] if isinstance(url, str) else [])
    return tuple(Need(Escalation("network", host), "it needs the network") for host in hosts)


def removed_worktree(reach: CommandReach) -> str | None:
    """Return the path of the only worktree that a command removes, if that is its only need to leave the sandbox."""
    leaving = [words for words in reach.commands if any(need.escalation == OUTSIDE for need in _needs(words))]
    if len(leaving) != 1 or leaving[0][:3] != ("git", "worktree", "remove"):
        return None
    paths = [word for word in leaving[0][3:] if word is None or not word.startswith("-")]
    return paths[0] if len(paths) == 1 else None


def _needs(words: Words, is_beyond: Callable[[str], bool] = lambda _: False) -> Iterator[Need]:
    """The needs of one program. `words`: the program and its arguments; None for a word that bash computes."""
    program, arguments = words[0] or "", words[1:]
    if "/" in program:  # a program of this name, but which one?
        return
    name = program_name(program)
    if name.startswith("python") and arguments[:1] == ("-m",) and arguments[1:2] not in ((), (None,)):
        name, arguments = arguments[1] or "", arguments[2:]
    if reason := use_of_credentials(name, arguments):
        yield Need(OUTSIDE, reason)
    if name == "git" and arguments[:1] == ("worktree",) and arguments[1:2] and arguments[1] in _OF_WORKTREES:
        yield Need(OUTSIDE, f"git worktree {arguments[1]} works on worktrees that the sandbox holds or hides")
    if name == "git" and arguments[:2] == ("worktree", "add") and (path := _added(arguments[2:])) and is_beyond(path):
        yield Need(OUTSIDE, f"git worktree add would make {path}, where the sandbox lets nothing be written")
    if name == "git" and (subcommand := _of_submodules(arguments)) in _REGISTERING:
        yield Need(OUTSIDE, f"git submodule {subcommand} writes the configuration of git, which the sandbox protects")
    if hosts := foreseen_hosts(name, arguments):
        what = " ".join([name, *(word for word in arguments[:1] if word and not word.startswith(("-", "http")))])
        for host in hosts:
            yield Need(Escalation("network", host), f"{what} needs the network")


def _of_submodules(arguments: Words) -> str | None:
    """The subcommand of `git submodule`; None for another command of git."""
    operands = [word for word in arguments if word is None or not word.startswith("-")]
    return operands[1] if arguments[:1] == ("submodule",) and len(operands) > 1 else None


def _added(words: Words) -> str | None:
    """The path of a new worktree; None if bash computes it."""
    is_value = False
    for word in words:
        if not is_value and (word is None or not word.startswith("-")):
            return word
        is_value = not is_value and word in _VALUED_OF_ADD
    return None


class InstallerProgram(NamedTuple):
    """A program that downloads packages.

    Attributes:
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


def use_of_credentials(name: str, arguments: Words) -> str | None:
    """Why a command works only outside the sandbox, a sentence without a full stop; None if it may work inside.

    Args:
        arguments: without git's options before the subcommand; None for a word that bash computes.
    """
    if not _ONLY_SHOWING.isdisjoint(arguments):
        return None
    first = next((word for word in arguments if word is not None and not word.startswith("-")), "")
    if name in _CLIENTS:
        return f"{name} uses your credentials, which the sandbox hides" if arguments else None
    if first and first in _SUBCOMMANDS.get(name, ()):
        return f"{name} {first} uses the network and your credentials, which the sandbox hides"
    if name == "rsync" and any(_names_host(word, anonymous=True) for word in arguments):
        return "rsync uses ssh and your keys, which the sandbox hides"
    if name == "git" and first in FETCHING and any(_names_host(word) for word in arguments):
        return f"git {first} uses ssh and your keys, which the sandbox hides"
    if name == "git" and first in ("commit", "tag") and any(_signs(word, first) for word in arguments):
        return f"git {first} signs with your key, which the sandbox hides"
    return None


def _names_host(word: str | None, *, anonymous: bool = False) -> bool:
    """Whether a word is an address of ssh: `ssh://host/x`, `user@host:x` or, if `anonymous`, `host:x`."""
    if word is None or word.startswith(("-", "/", ".")):
        return False
    if "://" in word:
        return word.startswith(("ssh://", "git+ssh://"))
    host, colon, _ = word.partition(":")
    return bool(colon) and "/" not in host and ("@" in host or anonymous)


def _signs(word: str | None, subcommand: str) -> bool:
    if word is None:
        return False
    short = "-S" if subcommand == "commit" else "-s"
    return word in ("--gpg-sign", "--sign") or word.startswith(("--gpg-sign=", short))
