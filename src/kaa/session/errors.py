"""What can go wrong with a stored session, as one tree; every message says what to do next."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from kaa.session.naming import session_id_in

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and repeat",
    errno.EDQUOT: "your disk quota is used up: free some space and repeat",
    errno.EROFS: "the file system is read-only: choose another folder with --session-dir",
    errno.EACCES: "permission denied: check the owner and mode of the file and its folder, or use --session-dir",
    errno.EPERM: "operation not permitted: check the owner and mode of the file and its folder, or use --session-dir",
    errno.ENAMETOOLONG: "the path is too long: choose a shorter folder with --session-dir",
}

_LISTED_CANDIDATES = 10


class SessionError(Exception):
    """A session could not be used."""


class NotASessionError(SessionError):
    """The file is something else than a session. It was not touched."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is not a session ({reason}); it was left as it is. Name another file or start a new session."
        )
        self.path = path


class SessionReadError(SessionError):
    """The operating system would not let us read a session."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(f"cannot read the session {path}: {cause.strerror or cause}. Check the path and its mode.")
        self.path = path


class SessionWriteError(SessionError):
    """The operating system would not let us write a session; what was written before is intact."""

    def __init__(self, path: Path, advice: str) -> None:
        super().__init__(f"cannot write the session {path}: {advice}")
        self.path = path

    @classmethod
    def because(cls, path: Path, cause: OSError) -> Self:
        """The error for a failed system call on `path`."""
        known = _ADVICE.get(cause.errno) if cause.errno is not None else None
        return cls(path, known or f"{cause.strerror or cause}; --no-session works without a session file")


class SessionViewedError(SessionWriteError):
    """The session was opened to look at it."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, "it is open read-only: open it without --view, or continue in a copy (/clone, or kaa --fork ID)"
        )


class SessionReadOnlyError(SessionWriteError):
    """The system lets us read a session, but not continue it."""


class SessionBusyError(SessionError):
    """This session is open already. `pid`: of the process that writes it, None where the system does not tell."""

    def __init__(self, path: Path, pid: int | None) -> None:
        if pid == os.getpid():
            use, advice = "already open in this process", "continue there, or"
        else:
            holder = "another process" if pid is None else f"process {pid}"
            # Nobody here knows whether it listens; scripts do not.
            attach = "" if pid is None else f"attach to it unless it runs print or rpc mode (kaa agents attach {pid}), "
            use, advice = f"in use by {holder}", f"{attach}end that one first,"
        name = session_id_in(path.name) or str(path)
        super().__init__(
            f"the session {name} is {use}: {advice} continue in a copy (kaa --fork {name}), open it read-only (kaa"
            f" --view {name}), or start a new one (/new)"
        )
        self.path = path
        self.pid = pid


class SessionNotFoundError(SessionError):
    """No session, or more than one, is meant by what the user wrote."""

    def __init__(self, wanted: str, candidates: Sequence[Path] = ()) -> None:
        if candidates:
            listed = "\n".join(f"  {path}" for path in candidates[:_LISTED_CANDIDATES])
            message = f"'{wanted}' fits {len(candidates)} sessions; give more of the id, or a path:\n{listed}"
        else:
            message = f"no session file or id that starts or ends with '{wanted}' was found"
        super().__init__(message)
        self.candidates = tuple(candidates)


class EntryNotFoundError(SessionError):
    """A session has no such entry."""

    def __init__(self, path: Path, entry_id: str) -> None:
        super().__init__(f"the session {path} has no entry '{entry_id}'; choose one of those it has")
        self.path = path


class TrashError(SessionError):
    """A session could not be moved into the trash; it is where it was."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(
            f"{path} cannot be moved into the trash: {cause.strerror or cause}. It was left where it is; "
            "to delete it permanently, use rm"
        )
        self.path = path


class RestoreError(SessionError):
    """A session could not be brought back from the trash; it is still there."""

    def __init__(self, path: Path, origin: Path, cause: OSError) -> None:
        if cause.errno == errno.EEXIST:
            why = "there is another file in its place: move that one away first"
        else:
            why = f"{cause.strerror or cause}. Check the mode of the folder"
        super().__init__(f"cannot restore {origin}: {why}. The session is still in the trash: {path}")
        self.path = path


class NotInTrashError(SessionNotFoundError):
    """No session in the trash, or more than one, is meant by what the user wrote."""

    def __init__(self, wanted: str, candidates: Sequence[Path] = ()) -> None:
        if candidates:
            listed = "\n".join(f"  {path}" for path in candidates[:_LISTED_CANDIDATES])
            message = (
                f"'{wanted}' fits {len(candidates)} sessions in the trash; give more of the id, or a path:\n{listed}"
            )
        else:
            message = f"no session in the trash has the name '{wanted}' or an id that starts with it"
        Exception.__init__(self, f"{message}\n`kaa sessions restore` without arguments lists them all")
        self.candidates = tuple(candidates)
