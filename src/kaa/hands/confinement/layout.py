"""What a policy means on this machine: patterns expanded, symlinks followed, repositories found.

The same for every tier. Paths in a layout exist and are real: no part of them is a symlink.
"""

import contextlib
import functools
import glob
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kaa.hands.below import reach
from kaa.hands.confinement import repositories
from kaa.hands.confinement.contract import ConfinementError, ViewChangedError
from kaa.hands.confinement.expansion import Expansion
from kaa.hands.confinement.linked_programs import linked_programs
from kaa.hands.confinement.listing import HomeList, is_below_any
from kaa.hands.confinement.named import named_paths, needed_paths
from kaa.hands.policy import PROTECTED_NAMES, TEMPORARY, Policy
from kaa.hands.protected import JUDGED_PATHS, is_protected_name, leads_to_text

# Each is a mount: 14 us at the start and 1 us in each slot (measured). A home of 2026 with its `.config` has some 200.
_MAX_CARVED_ENTRIES = 512


# What git in another worktree does not write: of the checkout that the user has elsewhere.
_OF_MAIN_WORKTREE = ("HEAD", "ORIG_HEAD", "index", "rebase-apply", "rebase-merge", "sequencer")


class Layout(NamedTuple):
    """Who may do what where. The longer path wins over the shorter one.

    Attributes:
        writable: directories that may be written.
        protected: what may not be written although it lies in them.
        hidden: what may not be read.
        readable: what may be read although something hidden or replaced (like /tmp) lies above it.
        carved: directories of the user's home of which slots see no more than what was in them at the start, with the
            paths of that. Something hidden lies in each, or would if it existed.
        whole: the same, but shown as they are since they have too many entries.
        awaited: what may not be written once it exists: paths that do not yet.
        shared: directories of the cache, relative to it, and those of the user to be seen through them.
        repositories: git directories that may be written.
        worktrees: the `.git` files of their worktrees: that these exist is to be seen, wherever they are.
    """

    writable: tuple[str, ...]
    protected: tuple[str, ...]
    hidden: tuple[str, ...]
    readable: tuple[str, ...]
    carved: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    whole: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    repositories: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Sentences for the user about secrets that may show."""
        if not self.whole:
            return []
        names = ", ".join(self.whole)
        return [f"There are too many files in {names}: commands can read secrets that you put there from now on."]


def resolve(policy: Policy, home: str = "") -> Layout:
    """Find out what the policy means here and now.

    Args:
        home: the user's home directory; empty where it has been carved already.

    Raises:
        ConfinementError: it would leave nothing to confine.
        ViewChangedError: a link is now where a writable directory was.
    """
    for path in policy.writable:
        if os.path.isdir(path) and os.path.realpath(path) != path:
            raise ViewChangedError(f"{path} was replaced by a symlink, or a directory above it was")
    writable = _worked_in(policy)
    if "/" in writable:
        raise ConfinementError("the whole file system cannot be made writable; start in the directory of a project")
    projects = list(filter(os.path.isdir, policy.writable))
    gits = [repository for root in projects for repository in repositories.find(root)]
    if policy.git_writable and policy.mode == "workspace-write":
        writable += _opened(gits, (*writable, *real_directories([policy.temporary])))
    expansion = Expansion()
    hidden, shown = concealment(policy, expansion)
    code = tuple(own_code())
    names, awaited = _top_names(projects, policy.git_writable)
    protected = [*names, *_protected_in_repositories(gits, projects, policy.git_writable), *code]
    # A link is only guarded: what it leads to is named, too, and may be a folder in which everything else is for work.
    named = (path for path in named_paths(gits, projects, home) if not os.path.islink(path))
    protected += filter(os.path.exists, (*policy.executed, *named))
    protected += _protected_by_kind(projects)
    if policy.own:  # also when the whole home is the project
        protected.append(policy.own)
    # What a `.git` names is the project's word: it must not uncover what is hidden, or what of /tmp is the host's.
    proven = (path for git in gits if git.proof for path in git.directories if not is_below_any(path, hidden))
    worked_in = (*projects, *writable)
    needed = _needed(policy, home, worked_in, hidden) if home else ()
    listing = HomeList(policy, worked_in, needed, expansion)
    carved, whole = _carve(policy, home, hidden, worked_in, listing, expansion) if home else ({}, ())
    entries = (entry for path in listing.directories for entry in carved.get(path, ()))
    links = (path for path in entries if os.path.islink(path) and not is_below_any(os.path.realpath(path), hidden))
    replaced = [*map(os.path.realpath, (*TEMPORARY, "/run"))]  # slots have their own
    listed = [
        path
        for path in expansion.existing((*listing.elsewhere, *map(glob.escape, links)), _linked_by_commands(policy))
        if (listing.hides(path) or is_below_any(path, replaced)) and not is_below_any(path, hidden)
    ]
    inside = (path for git in gits for path in git.directories if is_below_any(path, writable))
    own = _unique(inside) if policy.git_writable else ()
    lent = tuple(_shared(policy, hidden, worked_in, listing, expansion))
    seen = (*listed, *shown, *writable)
    hidden = (*(path for path in hidden if not listing.hides(os.path.dirname(path)) or is_below_any(path, seen)),)
    hidden += tuple(path for directory in whole for path in _entries(directory) if listing.leaves_out(path))
    return Layout(
        writable=_unique(writable),
        protected=_unique(path for path in map(os.path.realpath, protected) if _is_inside_any(path, writable)),
        hidden=hidden,
        readable=_unique([*projects, *listed, *shown, _modules(), *code, *proven]),
        carved=carved,
        whole=whole,
        awaited=_unique(awaited),
        shared=lent,
        repositories=own,
        worktrees=_unique(one.entry for path in own for one in repositories.worktrees(path) if one.leads_back),
    )


def _shared(
    policy: Policy, hidden: tuple[str, ...], worked_in: tuple[str, ...], listing: HomeList, expansion: Expansion
) -> Iterator[tuple[str, str]]:
    """Caches of the user that commands may read as a whole: nothing in them is or can become hidden."""
    if not policy.cache or not policy.shared:
        return
    replaced = map(os.path.realpath, ("/tmp", "/var/tmp", "/run", "/dev", "/proc"))  # noqa: S108 - slots have their own
    closed = (*hidden, *worked_in, *replaced)
    above = dict.fromkeys(map(os.path.dirname, policy.hidden))
    parents = (parent for pattern in above for parent in expansion.directories(pattern))
    kept_out = (*hidden, *policy.hidden, *parents, os.path.realpath(policy.cache))
    for folder, path in policy.shared:
        if not os.path.isdir(path):  # most of them
            continue
        real = os.path.realpath(path)
        if not os.path.isdir(real) or is_below_any(real, closed) or listing.hides(real):
            continue
        if not any(is_below_any(secret, [path, real]) for secret in kept_out):
            yield folder, real


def concealment(policy: Policy, expansion: Expansion | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is hidden, and what is shown all the same.

    A directory in which nobody knows what a pattern means is hidden as a whole: a command may have closed it for that.

    Args:
        expansion: finds what they mean; one of its own unless given.

    Raises:
        ConfinementError: such a directory is to be worked in.
    """
    expansion = expansion or Expansion()
    found = tuple(expansion.existing(policy.hidden))  # first: an exception that comes meanwhile must not be hidden
    closed = tuple(expansion.closed)
    shown, private = (
        _unique(expansion.existing(policy.shown, _linked_by_commands(policy))),
        real_directories(policy.private),
    )
    excepted = {"/", *_worked_in(policy)}  # a directory to work in cannot be hidden
    if unknown := next((path for path in closed if path in excepted), ""):
        raise ConfinementError(
            f"cannot find out what is hidden in {unknown}: permit yourself to enter it (chmod u+rwx)"
        )
    found += tuple(path for path in closed if not any(is_below_any(one, [path]) for one in excepted))
    hidden = (path for path in found if path not in excepted and (path in private or not is_below_any(path, shown)))
    return _unique(hidden), tuple(path for path in shown if path not in private)


def _linked_by_commands(policy: Policy) -> tuple[str, ...]:
    return (*policy.writable, *policy.untrusted)


def _worked_in(policy: Policy) -> list[str]:
    """The directories to work in that exist.

    Those of the user are taken as they were resolved when the user named them: by now, a command that can write above
    may have put a link there that leads to what is hidden.
    """
    roots = policy.writable if policy.mode == "workspace-write" else ()
    return [*filter(os.path.isdir, roots), *real_directories([policy.cache])]


def needed_in_home(policy: Policy, home: str) -> tuple[str, ...]:
    """Real paths of what slots see although it is not listed: git's configuration or `~/.local/bin` leads there."""
    untrusted = tuple(real_directories((*policy.writable, *policy.writes)))
    return _needed(policy, home, untrusted, concealment(policy)[0])


def _needed(policy: Policy, home: str, untrusted: tuple[str, ...], hidden: tuple[str, ...]) -> tuple[str, ...]:
    return _unique(
        (*needed_paths(home, untrusted, hidden), *linked_programs(home, untrusted, hidden, frozenset(policy.listed)))
    )


def real_directories(paths: Iterable[str]) -> list[str]:
    """Those that exist, without symlinks."""
    return [os.path.realpath(path) for path in paths if os.path.isdir(path)]


def ancestors_within(path: str, roots: Iterable[str]) -> Iterator[str]:
    """The directories strictly between a path and each root that it lies in."""
    for root in roots:
        parent = os.path.dirname(path)
        while parent.startswith(root + "/"):
            yield parent
            parent = os.path.dirname(parent)


def _is_inside_any(path: str, roots: Iterable[str]) -> bool:
    return path not in roots and is_below_any(path, roots)


def _carve(
    policy: Policy,
    home: str,
    hidden: tuple[str, ...],
    worked_in: tuple[str, ...],
    listing: HomeList,
    expansion: Expansion,
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Find the directories of the home in which a secret may appear, with their entries; and those with too many.

    A mask hides what is there. A `.netrc` that is created later, or renamed over a masked one as editors and logins
    do, would show. Only the home is carved: in /etc the system replaces files all the time, and they have to be seen.
    What is not listed is left out, and is nothing to look into.
    """
    top = os.path.realpath(home)
    if top == "/":
        return {}, ()
    parents = _parents((*policy.hidden, *policy.unlisted), home)
    places = {place for parent in parents for place in expansion.directories(parent)}
    places |= {parent for path in hidden for parent in ancestors_within(path, [top])}
    if places:
        places.add(top)
    places = {path for path in places if is_below_any(path, [top]) and not listing.hides(path)}
    contents = {
        path: tuple(entry for entry in _entries(path) if not listing.leaves_out(entry))
        for path in places
        if not is_below_any(path, (*worked_in, *hidden))
    }
    carved: dict[str, tuple[str, ...]] = {}
    room = _MAX_CARVED_ENTRIES
    for path, entries in sorted(contents.items(), key=lambda item: len(item[1])):
        room -= len(entries)
        if room >= 0:
            carved[path] = entries
    return carved, tuple(contents.keys() - carved.keys())


def _parents(patterns: Iterable[str], home: str) -> set[str]:
    """Patterns for the directories of the home that lead to what patterns hide."""
    parents: set[str] = set()
    for path in patterns:
        while (parent := os.path.dirname(path)) not in parents and parent != path and is_below_any(parent, [home]):
            parents.add(parent)
            path = parent  # noqa: PLW2901 - upwards
    return parents


def _entries(directory: str) -> tuple[str, ...]:
    """Paths of files, directories and links: what else there may be, sockets and FIFOs, leads to other programs."""
    try:
        with os.scandir(directory) as entries:
            return tuple(entry.path for entry in entries if _is_seen(entry))
    except PermissionError:
        return _entries_of_closed(directory)
    except OSError:  # not there
        return ()


def _entries_of_closed(directory: str) -> tuple[str, ...]:
    """Those of a directory that a command may have closed; none of another user's, which slots do not read either."""
    with contextlib.suppress(OSError), reach(directory) as descriptor:
        if descriptor is not None:
            with os.scandir(descriptor) as entries:
                return tuple(os.path.join(directory, entry.name) for entry in entries if _is_seen(entry))
    return ()


def _is_seen(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)


def _opened(gits: Iterable[repositories.Repository], untrusted: tuple[str, ...]) -> list[str]:
    """Git directories elsewhere that belong to repositories in here."""
    proven = [git for git in gits if git.proof and not is_below_any(git.proof, untrusted)]
    return [path for git in proven for path in git.directories if not is_below_any(path, untrusted)]


def _top_names(projects: Iterable[str], git_writable: bool) -> tuple[list[str], list[str]]:
    """Paths of the names that are protected at the top of projects: those that exist, and those at which nothing is.

    A `.git` that may be written is not awaited.
    """
    there, awaited = [], []
    for project in projects:
        try:
            listed = frozenset(map(str.casefold, os.listdir(project)))  # on some file systems .VSCODE is .vscode
        except OSError:
            listed = None
        for name in PROTECTED_NAMES if git_writable else (*PROTECTED_NAMES, ".git"):
            path = f"{project}/{name}"
            if (listed is None or name.casefold() in listed) and os.path.lexists(path):
                if name != ".git" and os.path.exists(path) and not leads_to_text(path):
                    there.append(path)
            else:
                awaited.append(path)
    return there, awaited


def _protected_by_kind(projects: Iterable[str]) -> Iterator[str]:
    """What is protected for the end of its name, or since it may execute: the guard judges only what comes later."""
    for project in projects:
        yield from filter(os.path.exists, (os.path.join(project, path) for path in JUDGED_PATHS))
        named = (path for path in _entries(project) if is_protected_name(path[len(project) + 1 :], 0))
        yield from (path for path in named if not leads_to_text(path))


def _held_of_worktrees(directory: str, projects: Iterable[str]) -> Iterator[str]:
    """What git would take away first of a worktree that it cannot remove, but not what it writes from elsewhere."""
    for worktree in repositories.worktrees(directory):
        if not worktree.leads_back:
            continue
        yield os.path.join(worktree.directory, "gitdir")
        index = os.path.join(worktree.directory, "index")
        if not is_below_any(os.path.realpath(worktree.entry), projects) and os.path.exists(index):
            yield index


def _protected_in_repositories(
    gits: Iterable[repositories.Repository], projects: Iterable[str], writable: bool
) -> Iterator[str]:
    for git in gits:
        if git.is_file or not writable:
            yield git.entry
        for directory in git.directories:
            if writable:
                yield from repositories.obeyed(directory)
                yield from _held_of_worktrees(directory, projects)
                if git.proof and git.proof != directory and not is_below_any(directory, projects):  # of a worktree
                    yield from filter(os.path.exists, (os.path.join(directory, name) for name in _OF_MAIN_WORKTREE))
            else:
                yield directory


def own_code() -> Iterator[str]:
    """What we execute: needed also when it lies below /tmp, not to be changed when it is in the project."""
    package = os.path.join(_modules(), "kaa")
    for path in (package, sys.prefix, sys.base_prefix, os.path.dirname(sys.executable)):
        if path and os.path.isdir(path):
            yield os.path.realpath(path)


@functools.cache
def _modules() -> str:
    """Where we are loaded from: beside kaa there may be what it needs."""
    path = os.path.realpath(__file__)
    for _ in range(4):  # layout.py, confinement, hands, kaa
        path = os.path.dirname(path)
    return path


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
