"""inotify(7) by way of ctypes: which of the watched directories and files something happened to."""

import contextlib
import ctypes
import errno
import os
import struct
from typing import NamedTuple

# linux/inotify.h
_IN_MODIFY = 0x2
_IN_ATTRIB = 0x4
_IN_CLOSE_WRITE = 0x8
_IN_MOVED_FROM = 0x40
_IN_MOVED_TO = 0x80
_IN_CREATE = 0x100
_IN_DELETE = 0x200
_IN_Q_OVERFLOW = 0x4000
_IN_IGNORED = 0x8000
_IN_EXCL_UNLINK = 0x4000000
_IN_ISDIR = 0x40000000
_NAMES_APPEAR = _IN_CREATE | _IN_MOVED_TO | _IN_EXCL_UNLINK
# On the inode itself: through whatever name it is written, also one outside all watched directories.
_CONTENT_CHANGES = _IN_MODIFY | _IN_CLOSE_WRITE
# In a directory: names that come and go, and what happens to what they name.
_ENTRIES_CHANGE = _NAMES_APPEAR | _CONTENT_CHANGES | _IN_ATTRIB | _IN_DELETE | _IN_MOVED_FROM
# What makes a difference to `Happening`.
_TOLD = _IN_MOVED_TO | _IN_Q_OVERFLOW | _IN_IGNORED | _IN_ISDIR
_HEADER = struct.Struct("iIII")  # struct inotify_event: wd, mask, cookie, len, name[len]
_READ_BYTES = 64 * 1024


_LIMIT_FILE = "/proc/sys/fs/inotify/max_user_watches"
_USUAL_LIMIT = 8192  # of kernels before 5.11; newer ones give more


class WatchLimitError(Exception):
    """The system gives no more watches."""


def watches_of_user() -> int:
    """Return how many watches all processes of a user may have together."""
    try:
        with open(_LIMIT_FILE, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return _USUAL_LIMIT


class Happening(NamedTuple):
    """What happened.

    Attributes:
        watch: where; -1 when so much happened that some of it was lost.
        name: of what appeared or changed in a directory; empty for a file, whose content changed.
        arrived: it got its name by a rename.
        over: nothing more will be heard of this watch.
    """

    watch: int
    name: str = ""
    directory: bool = False
    arrived: bool = False
    over: bool = False


class Inotify:
    """A queue of happenings.

    Raises:
        OSError: the system has no inotify, or none left for this user.
    """

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add, self._remove, init = libc.inotify_add_watch, libc.inotify_rm_watch, libc.inotify_init1
        except AttributeError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        if not os.path.isdir("/proc/self/fd"):  # what is watched is named by its descriptor
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/proc/self/fd")
        self._descriptor: int = init(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise _last_error()

    def fileno(self) -> int:
        return self._descriptor

    def watch_names(self, directory: int) -> int:
        """Report what appears in an open directory. The same directory has the same watch.

        Raises:
            WatchLimitError: there are too many already.
            OSError: it cannot be watched.
        """
        return self._watch(directory, _NAMES_APPEAR)

    def watch_content(self, file: int) -> int:
        """Report when an open file is written. Raises as `watch_names` does."""
        return self._watch(file, _CONTENT_CHANGES)

    def watch_entries(self, directory: int) -> int:
        """Report whatever happens to the names in an open directory and to what they name, but not what happens below.

        Raises as `watch_names` does.
        """
        return self._watch(directory, _ENTRIES_CHANGE)

    def forget(self, watch: int) -> None:
        """End one watch, if it has not ended by itself."""
        self._remove(self._descriptor, watch)

    def take(self) -> list[Happening]:
        """What happened since, the same in a row once; nothing if nothing did. Not necessarily all: ask again."""
        with contextlib.suppress(BlockingIOError):
            return _parse(os.read(self._descriptor, _READ_BYTES))
        return []

    def close(self) -> None:
        """End all watches."""
        os.close(self._descriptor)

    def _watch(self, descriptor: int, mask: int) -> int:
        watch: int = self._add(self._descriptor, b"/proc/self/fd/%d" % descriptor, ctypes.c_uint32(mask))
        if watch < 0:
            error = _last_error()
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise WatchLimitError from error
            raise error
        return watch


def _parse(data: bytes) -> list[Happening]:
    happenings = []
    offset = 0
    latest = None
    while offset < len(data):
        watch, mask, _, length = _HEADER.unpack_from(data, offset)
        start = offset + _HEADER.size
        offset = start + length
        told = mask & _TOLD
        happened = (watch, told, data[start:offset])
        if happened == latest:  # a file that is written is made, written, closed and renamed
            continue
        latest = happened
        name = os.fsdecode(happened[2].rstrip(b"\0"))
        happenings.append(
            Happening(
                -1 if told & _IN_Q_OVERFLOW else watch,
                name,
                bool(told & _IN_ISDIR),
                bool(told & _IN_MOVED_TO),
                bool(told & _IN_IGNORED),
            )
        )
    return happenings


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
