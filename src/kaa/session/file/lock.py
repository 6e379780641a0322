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


def _holder(descriptor: int) -> int | None:
    """The process that has the lock, as Linux lists it (proc_locks(5)); None on other systems."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        table = _LOCKS.read_text()
    except OSError:
        return None
    for line in table.splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:262164 0 EOF; waiting processes have an arrow in second place.
        match line.split():
            case [_, "FLOCK", _, _, pid, place, *_] if place.rpartition(":")[2] == inode and pid.isdecimal():
                return int(pid)
            case _:
                continue
    return None
