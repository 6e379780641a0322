"""Reads files that were moved away once more: an editor that saves in place, in parts, goes on in the moved file.

What was read as the file was moved is told first, and stays what it is. What comes later may be the rest of it, or
what a command has written there, which nobody can tell apart. So it is told besides, a few versions at most, and not
for long.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from kaa.hands.guard.items import MAX_SAVED_BYTES, GuardedItem, encoded
from kaa.hands.guard.quarantine import QuarantineReport
from kaa.hands.guard.subjects import Subject

_MAX_FILES = 64  # at a time; of more, the oldest are let go
_MAX_VERSIONS = 8  # of a file, besides the first
_GROWING_SECONDS = 0.1  # what is added so soon belongs to the version before: files are written in blocks
_SECONDS = 60.0
_MAX_HELD_BYTES = 16 * 1024 * 1024  # of versions that are not told yet, and of what the files had
_MAX_CONTENT = 3 * 1024 * 1024  # of an answer, in base64 (`quarantine._MAX_CONTENT`)


class _KeptFile:
    """A moved file, as it was when it was read last.

    Attributes:
        left: how many more versions are told.
        until: when it is let go.
    """

    def __init__(self, subject: Subject, finding: QuarantineReport, inode: tuple[int, int], content: bytes) -> None:
        self.subject = subject
        self.finding = finding
        self.path = os.path.join(finding.kept_as, finding.below).rstrip("/")
        self.content = content
        self.grew = 0.0
        self.left = _MAX_VERSIONS
        self.until = time.monotonic() + _SECONDS
        self._inode = inode
        self._state: tuple[int, int, int] | None = None

    @property
    def is_new(self) -> bool:
        """Whether it was not read since it was moved."""
        return self._state is None

    def changed(self, watch: Callable[[int], None]) -> GuardedItem | None:
        """What is in it by now; None if nobody has written it since the last time.

        Args:
            watch: gets the open file before it is read for the first time.

        Raises:
            OSError: it is gone, or cannot be read.
            ValueError: it is another file, or too long.
        """
        if self._state is not None and _state(os.lstat(self.path)) == self._state:
            return None
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if self.is_new:
                watch(descriptor)
            status = os.fstat(descriptor)
            is_same = stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) == self._inode
            if not is_same or status.st_size > MAX_SAVED_BYTES:
                raise ValueError(self.path)
            self._state = _state(status)
            content = os.pread(descriptor, MAX_SAVED_BYTES, 0)
        finally:
            os.close(descriptor)
        if content == self.content:
            return None
        return GuardedItem(frozenset(), "", content, stat.S_IMODE(status.st_mode))


class KeptFiles:
    """The files that were moved away lately. Threads may add to it; one looks at them.

    Args:
        watch: has changes of an open file of a subject reported.
    """

    def __init__(self, watch: Callable[[int, Subject], None]) -> None:
        self._watch = watch
        self._new: deque[_KeptFile] = deque(maxlen=_MAX_FILES)
        self._files: list[_KeptFile] = []
        self._versions: list[tuple[_KeptFile, GuardedItem]] = []

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self._new or self._files)

    @property
    def has_versions(self) -> bool:
        """Whether there is something to tell."""
        return bool(self._versions)

    def add(
        self, subject: Subject, finding: QuarantineReport, identity: tuple[int, int, int] | None, content: bytes | None
    ) -> None:
        """Look at a file from now on that was moved away; at nothing else.

        Args:
            content: what was read of it; None if that is not known.
        """
        if content is not None and identity is not None and stat.S_ISREG(identity[2]):
            self._new.append(_KeptFile(subject, finding, identity[:2], content))

    def look(self) -> None:
        while self._new:
            self._files.append(self._new.popleft())
        now = time.monotonic()
        left, files = _MAX_HELD_BYTES, deque[_KeptFile]()
        for file in reversed(self._files[-_MAX_FILES:]):
            left -= len(file.content)
            if left >= 0 and file.until > now:
                files.appendleft(file)
        self._files = [file for file in files if self._look_at(file)]

    def take(self) -> Sequence[QuarantineReport]:
        """Return the versions since the last time to tell, as far as they fit into an answer."""
        return tuple(self._taken())

    def _taken(self) -> Iterator[QuarantineReport]:
        room = _MAX_CONTENT
        while self._versions:
            file, item = self._versions[0]
            content, mode = encoded(item)
            finding = file.finding._replace(content=content, mode=mode)
            room -= len(content) + 6 * len(finding.path + finding.kept_as + finding.below)
            if room < 0:
                return
            del self._versions[0]
            yield finding

    def _look_at(self, file: _KeptFile) -> bool:
        """Note a new version of a file; False if there will be no more."""
        try:
            item = file.changed(lambda descriptor: self._watch(descriptor, file.subject))
        except PermissionError:  # closed for now
            return True
        except (OSError, ValueError):
            return False
        if item is None or not item.content:
            return True
        now = time.monotonic()
        if now - file.grew < _GROWING_SECONDS and item.content.startswith(file.content):
            self._versions = [each for each in self._versions if each[0] is not file or each[1].content != file.content]
        else:
            file.left -= 1
        file.content, file.grew = item.content, now
        self._versions.append((file, item))
        self._make_room()
        return file.left > 0

    def _make_room(self) -> None:
        """Forget the oldest versions of many, if possible those after which the same file has a newer one."""
        held = sum(len(item.content or b"") for _, item in self._versions)
        while held > _MAX_HELD_BYTES:
            files = [file for file, _ in self._versions]
            at = next((at for at, file in enumerate(files) if file in files[at + 1 :]), 0)
            held -= len(self._versions.pop(at)[1].content or b"")


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
