"""What a policy means on this machine: patterns expanded, symlinks followed, repositories found.

The same for every tier. Paths in a layout exist and are real: no part of them is a symlink.
"""

import glob
import os
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kaa.hands.confinement import repositories
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.policy import PROTECTED_NAMES, Policy


class Layout(NamedTuple):
    """Who may do what where. The longer path wins over the shorter one.

    Attributes:
        writable: directories that may be written.
        protected: what may not be written although it lies in them.
        hidden: what may not be read.
        readable: what may be read although something hidden or replaced (like /tmp) lies above it.
    """

    writable: tuple[str, ...]
    protected: tuple[str, ...]
    hidden: tuple[str, ...]
    readable: tuple[str, ...]


def resolve(policy: Policy) -> Layout:
    """Find out what the policy means here and now.

    Raises:
        ConfinementError: it would leave nothing to confine.
    """
    writable = real_directories(policy.writes)
    if "/" in writable:
        raise ConfinementError("the whole file system cannot be made writable; start in the directory of a project")
    projects = real_directories(policy.writable)
    gits = [repository for root in projects for repository in repositories.find(root)]
    if policy.git_writable and policy.mode == "workspace-write":
        writable += _opened(gits, (*writable, *real_directories([policy.temporary])))
    hidden, shown = concealment(policy)
    protected = [*_protected_names(projects), *_protected_in_repositories(gits, policy.git_writable)]
    return Layout(
        writable=_unique(writable),
        protected=_unique(path for path in map(os.path.realpath, protected) if _is_inside_any(path, writable)),
        hidden=hidden,
        readable=_unique([*projects, *shown, *_own_code(), *(path for git in gits for path in git.directories)]),
    )


def concealment(policy: Policy) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is hidden, and what is shown all the same."""
    shown = _unique(_expand(policy.shown))
    excepted = {"/", *real_directories(policy.writes)}  # a directory to work in cannot be hidden
    hidden = (path for path in _expand(policy.hidden) if path not in excepted and not is_below_any(path, shown))
    return _unique(hidden), shown


def real_directories(paths: Iterable[str]) -> list[str]:
    """Those that exist, without symlinks."""
    return [os.path.realpath(path) for path in paths if os.path.isdir(path)]


def is_below_any(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of these or below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def ancestors_within(path: str, roots: Iterable[str]) -> Iterator[str]:
    """The directories strictly between a path and each root that it lies in."""
    for root in roots:
        parent = os.path.dirname(path)
        while parent.startswith(root + "/"):
            yield parent
            parent = os.path.dirname(parent)


def _is_inside_any(path: str, roots: Iterable[str]) -> bool:
    return path not in roots and is_below_any(path, roots)


def _expand(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        found = glob.glob(pattern, include_hidden=True) if glob.has_magic(pattern) else [pattern]
        yield from (os.path.realpath(path) for path in found if os.path.exists(path))


def _opened(gits: Iterable[repositories.Repository], untrusted: tuple[str, ...]) -> list[str]:
    """Git directories elsewhere that belong to repositories in here."""
    proven = [git for git in gits if git.proof and not is_below_any(git.proof, untrusted)]
    return [path for git in proven for path in git.directories if not is_below_any(path, untrusted)]


def _protected_names(projects: Iterable[str]) -> Iterator[str]:
    for project in projects:
        for name in PROTECTED_NAMES:
            path = os.path.join(project, name)
            if os.path.exists(path):
                yield path


def _protected_in_repositories(gits: Iterable[repositories.Repository], writable: bool) -> Iterator[str]:
    for git in gits:
        yield from repositories.named_by_configuration(git)
        if git.is_file or not writable:
            yield git.entry
        for directory in git.directories:
            if writable:
                yield from repositories.obeyed(directory)
            else:
                yield directory


def _own_code() -> Iterator[str]:
    """Where we and the interpreter are loaded from: needed also when it lies below /tmp."""
    package = os.path.abspath(__file__)
    for _ in range(4):  # layout.py, confinement, hands, kaa
        package = os.path.dirname(package)
    for path in (package, sys.prefix, sys.base_prefix, os.path.dirname(sys.executable)):
        if path and os.path.isdir(path):
            yield os.path.realpath(path)


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
