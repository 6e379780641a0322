"""The public package registries that `registries` means, by group: hosts that installers download from.

A question about one of them is about all: an installer brings the next one, and a yes to each says nothing new.

Only hosts of the registries themselves: what an installer gets from elsewhere (GitHub releases, CDNs of a project) is
asked about. Sources: the default settings of each installer, 2026.
"""

from collections.abc import Mapping
from typing import Final

ALL: Final = "registries"
_PREFIX = f"{ALL}/"

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("pypi.org", "files.pythonhosted.org"),
    "node": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "rust": ("crates.io", "index.crates.io", "static.crates.io"),
    "go": ("proxy.golang.org", "sum.golang.org"),
    "ruby": ("rubygems.org", "index.rubygems.org"),
    "php": ("packagist.org", "repo.packagist.org"),
    "dotnet": ("api.nuget.org",),
    "java": (
        "repo.maven.apache.org",
        "repo1.maven.org",
        "plugins.gradle.org",
        "plugins-artifacts.gradle.org",
        "services.gradle.org",
        "downloads.gradle.org",
    ),
    "debian": (
        "deb.debian.org",
        "security.debian.org",
        "archive.ubuntu.com",
        "security.ubuntu.com",
        "ports.ubuntu.com",
    ),
}


def hosts_of(word: str) -> tuple[str, ...] | None:
    """The hosts that `registries` or `registries/python` stands for; None if a word is neither."""
    if word == ALL:
        return tuple(host for hosts in GROUPS.values() for host in hosts)
    return GROUPS.get(word.removeprefix(_PREFIX)) if word.startswith(_PREFIX) else None


def words() -> tuple[str, ...]:
    """All words that `hosts_of` takes, without the one for all groups."""
    return tuple(_PREFIX + group for group in GROUPS)


def meaning() -> str:
    """What `registries` permits, in sentences for the question about it."""
    *others, last = GROUPS
    return (
        f"{ALL} means the public package registries of {', '.join(others)} and {last}, also at private addresses to"
        " which this network may lead their names. /net lists the hosts."
    )


def is_registry(host: str) -> bool:
    """Whether a host belongs to a group."""
    return any(host in hosts for hosts in GROUPS.values())


def companions(host: str) -> tuple[str, ...]:
    """The hosts that an installer connects to together with this one, which comes first."""
    group = next((hosts for hosts in GROUPS.values() if host in hosts), ())
    return (host, *(other for other in group if other != host))


def word_of(rule: str) -> str:
    """Return what permits a host and all that an installer uses with it: the word for its group, or the rule itself."""
    return next((_PREFIX + name for name, hosts in GROUPS.items() if rule in hosts), rule)


def as_asked(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts as a question names them: in full, but for `registries` where all of these are among them."""
    named = folded(hosts)
    return named if ALL in named else hosts


def folded(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Rules as a user writes them, with the words for groups that are among them as a whole."""
    whole = {name: hosts for name, hosts in GROUPS.items() if set(hosts) <= set(rules)}
    named = (ALL,) if len(whole) == len(GROUPS) else tuple(_PREFIX + name for name in whole)
    held = {host for hosts in whole.values() for host in hosts}
    return (*named, *(rule for rule in rules if rule not in held))
