"""Where session files are: kaa's folders, pi's folders, and the files in them."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from kaa.session.catalogue.records import SessionOrigin
from kaa.session.naming import folder_name


class SessionRoot(NamedTuple):
    """A folder of sessions.

    Attributes:
        is_flat: whether it holds the files of all projects itself (`--session-dir`) or a folder for each project.
    """

    path: Path
    origin: SessionOrigin
    is_flat: bool = False


# SQLite's integers have a sign; inodes of some file systems, and times after the year 2262, would need its bit.
_LARGEST_INTEGER = 2**63 - 1


class SessionFile(NamedTuple):
    """A file that is named like a session, and how it was when it was looked at, in numbers that SQLite can hold."""

    path: str
    origin: SessionOrigin
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str, origin: SessionOrigin, status: os.stat_result) -> Self:
        """A file as `stat` describes it."""
        mtime_ns = max(-_LARGEST_INTEGER, min(status.st_mtime_ns, _LARGEST_INTEGER))
        return cls(path, origin, status.st_ino & _LARGEST_INTEGER, status.st_size, mtime_ns)


def session_files(root: SessionRoot, cwd: str | None = None) -> Iterator[SessionFile]:
    """The files in a root; none where there is no such folder or it may not be read.

    Args:
        cwd: leave out other projects' folders than that of this directory. Folders' names are ambiguous, so some of
            the files may still be about another one.
    """
    if root.is_flat:
        yield from _files_in(str(root.path), root.origin)
    elif cwd is not None:
        yield from _files_in(str(root.path / folder_name(cwd)), root.origin)
    else:
        with contextlib.suppress(OSError), os.scandir(root.path) as folders:
            for folder in folders:
                if folder.is_dir():
                    yield from _files_in(folder.path, root.origin)


def _files_in(folder: str, origin: SessionOrigin) -> Iterator[SessionFile]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(".jsonl"):
                continue
            with contextlib.suppress(OSError):  # another program may move it meanwhile; a link may point nowhere
                status = entry.stat()
                if stat.S_ISREG(status.st_mode):
                    yield SessionFile.of(entry.path, origin, status)
