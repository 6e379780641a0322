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

MAX_CONTENT_BYTES = 128 * 1024  # of a file that can be put back, and of a configuration that is judged
_MAX_CONTENTS_BYTES = 2 * 1024 * 1024  # that are kept of one guarded directory
MAX_FILES = 512  # of one guarded directory
MAX_DEPTH = 4  # of one guarded directory
_KEPT = re.compile(r".*\.kaa-blocked(-[0-9a-f]+)?")

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


_DIRECTORY = "a directory"
Items: TypeAlias = dict[str, Item]  # by path below the guarded name, which itself is ""


def have_content(items: Items) -> bool:
    """Whether there is more than an empty directory: something that can be written without an event of inotify."""
    return bool(items) and (items.keys() != {""} or _DIRECTORY not in items[""].dangers)


def is_kept_name(name: str) -> bool:
    """Whether something may be kept under this name, by whoever."""
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
                items.update(special_items(directory, name, path, reason))
                return
            descriptor, status = found
            if stat.S_ISREG(status.st_mode):
                nonlocal room
                watch(descriptor, None)
                item = file_item(descriptor, status, reason)
                room -= len(item.content or b"")
                items[path] = item if room >= 0 else item._replace(content=None)
                return
            watch(descriptor, None)
            items[path] = Item(frozenset({_DIRECTORY}) if not path else frozenset(), reason)
            for entry in names_in(descriptor) if depth < MAX_DEPTH else ():
                if len(items) < MAX_FILES:
                    collect(descriptor, entry, f"{path}/{entry}" if path else entry, depth + 1)

    collect(directory, name, "", 0)
    return items


def whatever(content: bytes) -> frozenset[str]:
    """The danger of a file of which every change matters."""
    return frozenset({hashlib.sha256(content).hexdigest()})


def file_item(descriptor: int, status: os.stat_result, reason: str) -> Item:
    """An open file of which every change matters."""
    content = os.pread(descriptor, MAX_CONTENT_BYTES + 1, 0)
    dangers = whatever(content) | other_names(status)
    mode = stat.S_IMODE(status.st_mode)
    if len(content) <= MAX_CONTENT_BYTES:
        return Item(dangers, reason, content, mode)
    return Item(dangers | {f"{status.st_size} bytes"}, reason, None, mode)


def other_names(status: os.stat_result) -> frozenset[str]:
    """A hard link: what is harmless now can be written by its other name."""
    return frozenset({"another name"}) if status.st_nlink > 1 else frozenset()


def special_items(directory: int, name: str, path: str, reason: str) -> Items:
    """What is neither file nor directory, if there is anything: where a link leads is what matters of it."""
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        target = os.readlink(name, dir_fd=directory) if stat.S_ISLNK(kind) else "nothing that can be read"
    except OSError:
        return {}
    return {path: Item(frozenset({f"-> {target}"}), reason)}


def names_in(directory: int | None) -> list[str]:
    """What is in an open directory, if there is one."""
    if directory is None:
        return []
    with contextlib.suppress(OSError):
        return sorted(os.listdir(directory))
    return []
