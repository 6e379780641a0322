"""Moving something out of the way, in place, and putting back what was there before.

Nothing is deleted: the user finds it beside its old name, and a wrong suspicion costs one `mv`.
"""

import _thread  # `threading` would load for a millisecond
import contextlib
import errno
import os
import stat
import time
from collections import deque
from typing import NamedTuple

from kaa.hands.guard.items import GuardedItem, kept_names

_UNNAMED = getattr(os, "O_TMPFILE", 0)  # macOS has none: opening a directory for writing fails
_MOUNTED = (errno.EROFS, errno.EBUSY, errno.EXDEV)
_MAX_FINDINGS = 32  # that are told between two checks; the others are counted
# Of all of them, in base64: the user may have saved one of these files, and commands can write where it is. The answer
# has to fit into a frame (`kaa.hands.wire.MAX_HEADER_BYTES`).
_MAX_CONTENT = 10 * 1024 * 1024
_FLOOD_FINDINGS = 256  # between two checks: they come from a loop, and not from a copy of a repository with hooks
# Of the same new name: its maker hopes for a reader in between. Editors gather changes for 75 to 100 ms.
_REPEATED_FINDINGS = 4
_REPEATED_SECONDS = 10.0


class MountedError(Exception):
    """A mount keeps the name where it is."""


class QuarantineReport(NamedTuple):
    """What was done about something.

    Attributes:
        path: absolute path of what should not have been there.
        kept_as: its path now; empty if it could not be moved.
        why: what was wrong with it, as a sentence without its dot.
        kind: as `kaa.workspace.blocked` has it: `git` if git writes would have to be allowed, else `protected`.
        content: of a file that was moved away, as far as the guard read it before, in base64; empty if it is not known.
        mode: the permission bits of that file.
        below: where that file was below `path`, if that is a directory that stays; empty if it is the file itself.
    """

    path: str
    kept_as: str
    why: str
    kind: str
    content: str = ""
    mode: int = 0o600
    below: str = ""


class FindingLog:
    """Findings that were not told yet, and their rate. Threads share it."""

    def __init__(self) -> None:
        self._findings: list[QuarantineReport] = []
        self._counted: list[QuarantineReport] = []  # those with content
        self._room = _MAX_CONTENT
        self._count = 0  # since the last `forget_flood`, as the next one
        self._repeats = False
        self._times: dict[str, deque[float]] = {}  # when the same name appeared, also before the last check
        self._more = 0
        self._changing = _thread.allocate_lock()

    def __bool__(self) -> bool:
        """Whether there is something to tell."""
        return bool(self._findings)

    @property
    def flooded(self) -> bool:
        """Whether the findings since the last `forget_flood` come from a loop: they are many, or of the same name."""
        return self._repeats or self._count > _FLOOD_FINDINGS

    def forget_flood(self) -> None:
        """Count from zero again. When names appeared stays known: each end of a command checks, also beside a loop."""
        oldest = time.monotonic() - _REPEATED_SECONDS
        with self._changing:
            self._count = 0
            self._repeats = False
            self._times = {name: times for name, times in self._times.items() if times[-1] > oldest}

    def add(self, finding: QuarantineReport, *, appeared: str = "") -> None:
        """Note a finding; of many, only the number. What is to be told already is not told twice.

        Args:
            appeared: the path at which something came where there was nothing before, if it did.
        """
        with self._changing:
            self._count += 1
            # In JSON, a character of a name may take six bytes.
            size = len(finding.content) + 6 * len(finding.path + finding.kept_as + finding.below)
            if size > self._room:
                finding = finding._replace(content="")
            elif finding.content:
                self._room -= size
            if self._count > _MAX_FINDINGS:
                self._more += 1
                if finding.content and len(self._counted) < _FLOOD_FINDINGS:
                    self._counted.append(finding)
            elif finding not in self._findings:
                self._findings.append(finding)
            if appeared and self._count <= _FLOOD_FINDINGS:
                times = self._times.setdefault(appeared, deque(maxlen=_REPEATED_FINDINGS))
                times.append(time.monotonic())
                self._repeats |= len(times) == _REPEATED_FINDINGS and times[-1] - times[0] < _REPEATED_SECONDS

    def take(self) -> tuple[list[QuarantineReport], list[QuarantineReport], int]:
        """The findings since the last time to tell, those to save only, and how many more there were than told."""
        with self._changing:
            taken = self._findings, self._counted, self._more
            self._findings, self._counted, self._more, self._room = [], [], 0, _MAX_CONTENT
        return taken


def move_away(directory: int, name: str, ending: str = "", target: int | None = None) -> str | None:
    """Rename something in an open directory; its new name, which has this ending.

    Args:
        target: the open directory in which it gets the new name; None: the same.

    Returns:
        None if a Seatbelt profile holds it, so that no command can have changed it.

    Raises:
        FileNotFoundError: it is gone.
        MountedError: a mount keeps it.
        OSError: it is still there.
    """
    target = directory if target is None else target
    for kept in kept_names(name, ending):
        if exists(target, kept):
            continue
        try:
            rename(directory, name, target, kept)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR):  # taken meanwhile
                continue
            if error.errno == errno.EPERM:
                return None
            raise
        return kept
    raise AssertionError("there is always another name")


def put_back(directory: int, name: str, item: GuardedItem) -> bool:
    """Make a file or a link as it was before; whether that worked. If not, or the guard is killed, there is no half."""
    if item.target:
        try:
            os.symlink(item.target, name, dir_fd=directory)
        except OSError:
            return False
        return True
    if item.content is None:
        return False
    try:
        descriptor = os.open(".", os.O_WRONLY | _UNNAMED | os.O_CLOEXEC, 0o600, dir_fd=directory)
    except OSError:  # not on this file system
        return _put_back_by_name(directory, name, item)
    try:
        _fill(descriptor, item)
        # open(2): how a file gets a name that was opened with O_TMPFILE; it replaces nothing.
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _put_back_by_name(directory: int, name: str, item: GuardedItem) -> bool:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=directory)
    except OSError:
        return False
    try:
        _fill(descriptor, item)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=directory)
        return False
    finally:
        os.close(descriptor)
    return True


def _fill(descriptor: int, item: GuardedItem) -> None:
    remaining = memoryview(item.content or b"")
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
    os.fchmod(descriptor, item.mode)


def rename(source: int, name: str, target: int, kept: str) -> None:
    """Rename something from one open directory into another, also out of a read-only one.

    Raises:
        MountedError: a mount keeps it.
        OSError: it is not there, or cannot be renamed.
    """
    try:
        _rename(source, name, target, kept)
    except OSError as error:
        if error.errno in _MOUNTED:
            raise MountedError from error
        raise


def _rename(source: int, name: str, target: int, kept: str) -> None:
    try:
        os.rename(name, kept, src_dir_fd=source, dst_dir_fd=target)
    except PermissionError as error:
        if error.errno != errno.EACCES:
            raise
        # Its maker may have made the directory read-only, but it belongs to the same user as we do.
        mode = stat.S_IMODE(os.fstat(source).st_mode)
        os.fchmod(source, mode | stat.S_IRWXU)
        try:
            os.rename(name, kept, src_dir_fd=source, dst_dir_fd=target)
        finally:
            os.fchmod(source, mode)


def exists(directory: int, name: str) -> bool:
    """Whether something is under a name in an open directory."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
