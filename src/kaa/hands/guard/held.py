"""What mounts hold: whoever changed that is no command, unless the mount came while a command could write.

A read-only mount says little by itself. It may have been put on a file that a command had replaced or opened for
writing a moment before. One that was there while nothing of kaa's ran has held its file ever since: a mount that is
lost does not come back.
"""

import contextlib
import os
import select
from collections.abc import Iterator, Sequence

from kaa.hands.mount_table import mount_points

_TABLE = "/proc/self/mountinfo"


class TrustedMounts:
    """The read-only mounts below some directories that were there when nothing of kaa's ran.

    A descriptor of each stays open: as long as it does, the kernel gives its number to no other mount.

    Args:
        roots: absolute paths.

    Attributes:
        is_passed_by: a command of the model's runs outside the sandbox, where no mount holds it.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._mounts: dict[int, int] = {}  # number: descriptor
        self._changes: select.poll | None = None
        self._distrusts = False
        self.is_passed_by = False
        self._table = -1
        with contextlib.suppress(OSError):  # macOS has none
            self._table = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
            self._changes = select.poll()
            self._changes.register(self._table, select.POLLPRI)  # proc(5): when the table changes
            self._changes.poll(0)
            self._take_in()

    def renew(self) -> bool:
        """Nothing of kaa's runs: what is mounted now holds from now on. Whether anything has changed."""
        if self._changes is None or not (self._changes.poll(0) or self._distrusts):
            return False
        self._distrusts = False
        self._take_in()
        return True

    def distrust(self) -> None:
        """A command could write before: until `renew`, no mount says anything."""
        self._distrusts = True

    def holds(self, directory: int, name: str) -> bool:
        """Whether no command can have changed this name, in an open directory, or anything below it."""
        if self._distrusts or self.is_passed_by:
            return False
        with contextlib.suppress(OSError):
            descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                return _is_read_only(descriptor) and _mount_of(descriptor) in self._mounts
            finally:
                os.close(descriptor)
        return False

    def close(self) -> None:
        """Let go of the mounts."""
        for descriptor in self._mounts.values():
            os.close(descriptor)
        if self._table >= 0:
            os.close(self._table)

    def _take_in(self) -> None:
        former, self._mounts = self._mounts, {}
        for descriptor in self._descriptors():
            number = _mount_of(descriptor)
            if number in self._mounts or not _is_read_only(descriptor):
                os.close(descriptor)
            else:
                self._mounts[number] = descriptor
        for descriptor in former.values():
            os.close(descriptor)

    def _descriptors(self) -> Iterator[int]:
        """Of the mounts in which the roots are, and of those below them."""
        below = [path for path, _ in mount_points() if any(path.startswith(f"{root}/") for root in self._roots)]
        for path in (*self._roots, *below):
            with contextlib.suppress(OSError):
                yield os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_read_only(descriptor: int) -> bool:
    return bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)


def _mount_of(descriptor: int) -> int:
    """The number of the mount by which something was opened. proc(5): `mnt_id:` and the number."""
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        return next((int(line.split()[1]) for line in file if line.startswith(b"mnt_id:")), -1)
