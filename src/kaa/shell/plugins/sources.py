"""Where marketplaces and plugins come from: what the user writes, and what entries of marketplaces say."""

import re

from kaa.components.plugins.marketplace import PACKAGE, VERSION, Git, GitHub, GitSubdir, Npm
from kaa.shell.extensions.errors import UnknownNameError
from kaa.shell.extensions.sources import GitSource, PathSource, parse_source

_AT_GITHUB = re.compile(r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99})(?P<at>@.+)?")
_SCP = re.compile(r"(?P<host>[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+):(?P<path>[^/].*)")
NPM = "npm:"
_NPM = re.compile(rf"{NPM}(?P<package>{PACKAGE.pattern})(?:@(?P<version>{VERSION.pattern}))?")
_ADDRESS = re.compile(r"(?:git\+)?(?:https|ssh|file)://")


def source_in(text: str, directory: str) -> PathSource | GitSource:
    """The folder or repository that a text names.

    Args:
        text: a path that begins with `.`, `/` or `~`, the address of a repository, or OWNER/REPOSITORY at GitHub;
            `@REF` at the end selects a branch, tag or commit.
        directory: that a relative path starts from.

    Raises:
        UnknownNameError: it names none.
    """
    found: object
    if text.startswith((".", "/", "~")):
        found = parse_source(f"{text.rstrip('/')}/", directory)
    elif match := _AT_GITHUB.fullmatch(text):
        found = parse_source(f"git+https://github.com/{match['repository']}.git{match['at'] or ''}", directory)
    elif match := _SCP.fullmatch(text):
        found = parse_source(f"git+ssh://{match['host']}/{match['path']}", directory)
    elif _ADDRESS.match(text):
        found = parse_source(f"git+{text.removeprefix('git+')}", directory)
    else:
        found = None
    if not isinstance(found, PathSource | GitSource):
        raise UnknownNameError(
            f"unknown source {text!r}: use OWNER/REPOSITORY, https://HOST/REPOSITORY.git, or a path such as ./{text}"
        )
    return found


def npm_source(text: str) -> Npm:
    """The package of npm that a text names: `npm:NAME`, or `npm:NAME@VERSION`.

    Raises:
        UnknownNameError: it names none.
    """
    if (found := _NPM.fullmatch(text)) is None:
        raise UnknownNameError(f"invalid package {text!r}: use npm:NAME, npm:@SCOPE/NAME or npm:NAME@VERSION")
    return Npm(found["package"], found["version"] or "")


def repository_of(source: Git | GitSubdir | GitHub) -> GitSource:
    """The repository of an entry; a commit counts more than a branch or tag."""
    wanted = source.sha or source.ref
    if isinstance(source, GitHub):
        return GitSource(f"https://github.com/{source.repository}.git", wanted)
    match = _SCP.fullmatch(source.url)
    url = f"ssh://{match['host']}/{match['path']}" if match else source.url
    return GitSource(url, wanted, source.path if isinstance(source, GitSubdir) else "")
