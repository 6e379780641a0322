"""What is at a guarded name: the files that other programs execute or obey, and what of them is dangerous.

Everything is opened by way of the directory it is in and without following symlinks, so that a name that is
exchanged meanwhile leads nowhere else.
"""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kaa.hands.git_config import executing_entries

_MAX_CONTENT_BYTES = 128 * 1024  # of a file that can be put back, and of a configuration that is judged
_MAX_CONTENTS_BYTES = 2 * 1024 * 1024  # that are kept of one guarded directory
MAX_FILES = 512  # of one guarded directory
MAX_DEPTH = 4  # of one guarded directory, and of submodules' names
_KEPT = re.compile(r".*\.kaa-blocked(-[0-9a-f]+)?")
UNWANTED_REPOSITORY = frozenset({"a repository"})  # what is wrong with one that would be all right elsewhere
_CONFIGURATIONS = ("config", "config.worktree")
# In a .git only these are of interest; its other names change with every git command.
_GIT_NAMES = frozenset((*_CONFIGURATIONS, "commondir", "hooks", "modules", "worktrees"))

# Called with an open file or directory, before it is read; for a directory, with the names that matter in it.
Watch: TypeAlias = Callable[[int, frozenset[str] | None], None]


class Item(NamedTuple):
    """One file, link or directory.

    Attributes:
        dangers: what it makes other programs do; empty if nothing. A change is harmful if there is a new one.
        reason: what is dangerous about it, as a sentence without its dot.
        content: of a file that is small enough to be put back.
        mode: its permission bits.
    """

    dangers: frozenset[str]
    reason: str
    content: bytes | None = None
    mode: int = 0o644


Items: TypeAlias = dict[str, Item]  # by path below the guarded name, which itself is ""


def is_kept(name: str) -> bool:
    """Whether this is the name of something that was moved away."""
    return _KEPT.fullmatch(name) is not None


def kept_names(name: str) -> Iterator[str]:
    """Names under which something may be kept, without end."""
    yield f"{name}.kaa-blocked"
    for number in range(2, 10):
        yield f"{name}.kaa-blocked-{number}"
    while True:
        yield f"{name}.kaa-blocked-{os.urandom(6).hex()}"


@contextlib.contextmanager
def opened(name: str, directory: int | None = None) -> Iterator[tuple[int, os.stat_result] | None]:
    """An open regular file or directory; None if it is neither, not there or not for us."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise OSError  # opening a device or a FIFO may do something
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError:
        yield None
        return
    try:
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def protected_items(directory: int, name: str, watch: Watch) -> Items:
    """All of a protected name: every file of it matters."""
    reason = "other programs execute or obey it when the project is opened"
    items: Items = {}
    room = _MAX_CONTENTS_BYTES

    def collect(directory: int, name: str, path: str, depth: int) -> None:
        with opened(name, directory) as found:
            if found is None:
                items.update(_special(directory, name, path, reason))
                return
            descriptor, status = found
            if stat.S_ISREG(status.st_mode):
                nonlocal room
                watch(descriptor, None)
                item = _file(descriptor, status, reason)
                room -= len(item.content or b"")
                items[path] = item if room >= 0 else item._replace(content=None)
                return
            watch(descriptor, None)
            items[path] = Item(frozenset({"a directory"}) if not path else frozenset(), reason)
            for entry in _names(descriptor) if depth < MAX_DEPTH else ():
                if len(items) < MAX_FILES and not is_kept(entry):
                    collect(descriptor, entry, f"{path}/{entry}" if path else entry, depth + 1)

    collect(directory, name, "", 0)
    return items


def repository_items(
    directory: int, name: str, watch: Watch, *, allowed: bool, is_known: Callable[[str], bool]
) -> Items:
    """What git executes or obeys of a `.git`.

    Args:
        directory: where it is.
        name: `.git`.
        watch: see `Watch`.
        allowed: a repository may be here.
        is_known: says of what a `.git` file points to whether that is watched over anyway.
    """
    reason = "git obeys the repository it makes"
    items: Items = {}
    with opened(name, directory) as found:
        if found is None:
            return _special(directory, name, "", reason)
        descriptor, status = found
        if stat.S_ISREG(status.st_mode):
            watch(descriptor, None)
            item = _file(descriptor, status, reason)
            target = (item.content or b"").decode("utf-8", "surrogateescape").strip().removeprefix("gitdir: ")
            items[""] = item._replace(dangers=frozenset()) if allowed and is_known(target) else item
        else:
            items[""] = Item(frozenset() if allowed else UNWANTED_REPOSITORY, reason)
            _collect_git_directory(descriptor, "", items, watch, depth=0)
    return items


def bare_repository_items(directory: int, watch: Watch) -> Items:
    """What git executes or obeys of an open directory, if that has the layout of a bare repository."""
    items: Items = {}
    if looks_bare(set(_names(directory))):
        _collect_git_directory(directory, "", items, watch, depth=0)
    return items


def looks_bare(names: set[str]) -> bool:
    """Whether git would take a directory with these names for a repository (is_git_directory in setup.c)."""
    names = {name.casefold() for name in names}
    return "head" in names and ("commondir" in names or {"objects", "refs"} <= names)


def _collect_git_directory(
    directory: int, path: str, items: Items, watch: Watch, *, depth: int, worktree: bool = False
) -> None:
    """Add the files of a git directory, and of the submodules' and worktrees' in it, to `items`."""
    watch(directory, _GIT_NAMES)
    prefix = f"{path}/" if path else ""
    for name in _CONFIGURATIONS:
        _collect_file(directory, name, prefix + name, items, watch, _executing, "git would execute what it says")
    foreign = _foreign_to_worktree if worktree else _whatever
    _collect_file(directory, "commondir", f"{prefix}commondir", items, watch, foreign, "git would obey it")
    with _subdirectory(directory, "hooks", f"{prefix}hooks", items, watch) as hooks:
        for name in _up_to_limit(_names(hooks), f"{prefix}hooks", items):
            if not name.endswith(".sample") and not is_kept(name):
                _collect_file(hooks, name, f"{prefix}hooks/{name}", items, watch, _whatever, "git would execute it")
    with _subdirectory(directory, "worktrees", f"{prefix}worktrees", items, watch) as worktrees:
        for name in _up_to_limit(_names(worktrees), f"{prefix}worktrees", items):
            with _subdirectory(worktrees, name, f"{prefix}worktrees/{name}", items, watch) as tree:
                if tree is not None and depth < MAX_DEPTH:
                    _collect_git_directory(
                        tree, f"{prefix}worktrees/{name}", items, watch, depth=depth + 1, worktree=True
                    )
    with _subdirectory(directory, "modules", f"{prefix}modules", items, watch) as modules:
        _collect_submodules(modules, f"{prefix}modules", items, watch, depth=depth + 1)


def _collect_submodules(directory: int | None, path: str, items: Items, watch: Watch, *, depth: int) -> None:
    """Add git directories that may be some levels below, because names of submodules may have slashes."""
    for name in _up_to_limit(_names(directory) if depth <= MAX_DEPTH else [], path, items):
        with _subdirectory(directory, name, f"{path}/{name}", items, watch) as below:
            if below is not None and "HEAD" in _names(below):
                _collect_git_directory(below, f"{path}/{name}", items, watch, depth=depth)
            else:
                _collect_submodules(below, f"{path}/{name}", items, watch, depth=depth + 1)


def _up_to_limit(names: list[str], path: str, items: Items) -> Iterator[str]:
    """Names as long as there are not too many items; that there are is dangerous, for nobody looks at the rest."""
    for name in names:
        if len(items) >= MAX_FILES:
            items[path] = Item(frozenset({"too much"}), "it has more of what git executes or obeys than can be checked")
            return
        yield name


@contextlib.contextmanager
def _subdirectory(directory: int | None, name: str, path: str, items: Items, watch: Watch) -> Iterator[int | None]:
    """A directory inside a git directory; a link in its place is an item."""
    with opened(name, directory) as found:
        if found is None or not stat.S_ISDIR(found[1].st_mode):
            if found is None and directory is not None:
                items.update(_special(directory, name, path, "git would follow it"))
            yield None
            return
        watch(found[0], None)
        yield found[0]


def _collect_file(
    directory: int | None,
    name: str,
    path: str,
    items: Items,
    watch: Watch,
    judge: Callable[[bytes], frozenset[str]],
    reason: str,
) -> None:
    if directory is None:
        return
    with opened(name, directory) as found:
        if found is None:
            items.update(_special(directory, name, path, reason))
        elif stat.S_ISREG(found[1].st_mode):
            watch(found[0], None)
            item = _file(*found, reason)
            if item.content is not None:
                item = item._replace(dangers=judge(item.content) | _other_names(found[1]))
            items[path] = item


def _executing(content: bytes) -> frozenset[str]:
    return executing_entries(content)


def _foreign_to_worktree(content: bytes) -> frozenset[str]:
    """The repository of a worktree is two directories up; any other is foreign.

    One of which git has not written the content yet is none: git refuses it, and it is looked at again.
    """
    return frozenset() if content.rstrip(b"\r\n") in (b"../..", b"") else _whatever(content)


def _whatever(content: bytes) -> frozenset[str]:
    return frozenset({hashlib.sha256(content).hexdigest()})


def _file(descriptor: int, status: os.stat_result, reason: str) -> Item:
    content = os.pread(descriptor, _MAX_CONTENT_BYTES + 1, 0)
    dangers = _whatever(content) | _other_names(status)
    mode = stat.S_IMODE(status.st_mode)
    if len(content) <= _MAX_CONTENT_BYTES:
        return Item(dangers, reason, content, mode)
    return Item(dangers | {f"{status.st_size} bytes"}, reason, None, mode)


def _other_names(status: os.stat_result) -> frozenset[str]:
    """A hard link: what is harmless now can be written by its other name."""
    return frozenset({"another name"}) if status.st_nlink > 1 else frozenset()


def _special(directory: int, name: str, path: str, reason: str) -> Items:
    """What is neither file nor directory, if there is anything: where a link leads is what matters of it."""
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        target = os.readlink(name, dir_fd=directory) if stat.S_ISLNK(kind) else "nothing that can be read"
    except OSError:
        return {}
    return {path: Item(frozenset({f"-> {target}"}), reason)}


def _names(directory: int | None) -> list[str]:
    if directory is None:
        return []
    with contextlib.suppress(OSError):
        return sorted(os.listdir(directory))
    return []
