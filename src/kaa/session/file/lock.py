"""One writer per session: an advisory lock that the kernel releases however its holder ends."""

import errno
import fcntl
import os
from pathlib import Path

from kaa.session.errors import SessionBusyError, SessionWriteError

_LOCKS = Path("/proc/locks")
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}


def lock(descriptor: int, path: Path) -> None:
    """Lock an open file until its descriptor is closed. File systems without locks are let pass.

    Raises:
        SessionBusyError: another open file, here or in another process, has the lock.
        SessionWriteError: the system refuses to lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SessionBusyError(path, _holder(descriptor)) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise SessionWriteError.because(path, error) from error


def holders() -> dict[int, int]:
    """The processes that have locks of this kind, by the inodes of their files; empty on other systems than Linux.

    Inodes of different file systems can be equal. Source: proc_locks(5).
    """
    try:
        table = _LOCKS.read_text()
    except OSError:
        return {}
    found: dict[int, int] = {}
    for line in table.splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:262164 0 EOF; waiting processes have an arrow in second place.
        match line.split():
            case [_, "FLOCK", _, _, pid, place, *_] if pid.isdecimal() and place.rpartition(":")[2].isdecimal():
                found.setdefault(int(place.rpartition(":")[2]), int(pid))
            case _:
                continue
    return found


def _holder(descriptor: int) -> int | None:
    """The process that has the lock; None if the system does not tell."""
    return holders().get(os.fstat(descriptor).st_ino)
