"""Finding sessions: the folder of a project, the newest session in it, one by path or by the start of its id."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.session.entries import SessionHeader
from kaa.session.errors import SessionNotFoundError, SessionReadError
from kaa.session.file_store import HEADER_BYTES, FileStore, find_header
from kaa.session.naming import file_name, folder_name, session_id_in
from kaa.session.store import new_header


class SessionListing(msgspec.Struct, frozen=True):
    """A session as its first line and its directory entry tell. `modified_ns`: Unix time in nanoseconds."""

    path: Path
    header: SessionHeader
    modified_ns: int
    size: int


class _File(NamedTuple):
    """A file that is named like a session."""

    path: Path
    status: os.stat_result


class SessionLibrary:
    """The sessions of one project.

    Args:
        cwd: the project's directory, absolute.
        root: where every project has a folder of its own, named after its directory.
        session_dir: one folder for the sessions of all projects instead (`--session-dir`).
    """

    def __init__(self, cwd: str, root: Path, session_dir: Path | None = None) -> None:
        self._cwd = cwd
        self._root = root
        self._folder = session_dir if session_dir is not None else root / folder_name(cwd)
        self._is_shared = session_dir is not None

    def create(self) -> FileStore:
        """A new session; its file appears with the first entry."""
        header = new_header(self._cwd)
        return FileStore.create(self._folder / file_name(header.timestamp, header.id), header)

    def most_recent(self) -> Path | None:
        """The session of this project that was written last; None if there is none."""
        return next((listing.path for listing in self._newest_first()), None)

    def sessions(self) -> list[SessionListing]:
        """All sessions of this project, the newest first. Reads only the first line of each."""
        return list(self._newest_first())

    def resolve(self, wanted: str) -> Path:
        """The session that a user means by a path or the beginning of an id.

        Sessions in this project's folder come first; if none fits, those of all projects are tried.

        Raises:
            SessionNotFoundError: none fits, or several do.
        """
        path = Path(os.path.expanduser(wanted))  # unlike Path.expanduser, lets an unknown user pass
        if os.path.isfile(path):
            return path.absolute()
        if not wanted or os.sep in wanted or path.suffix == ".jsonl":
            raise SessionNotFoundError(wanted)
        for files in (_session_files(self._folder), self._files_of_all_projects()):
            fitting = sorted(file.path for file in files if _id_starts_with(file.path.name, wanted))
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                raise SessionNotFoundError(wanted, fitting)
        raise SessionNotFoundError(wanted)

    def _files_of_all_projects(self) -> list[_File]:
        if self._is_shared:
            return _session_files(self._folder)
        return [file for folder in _folders(self._root) for file in _session_files(folder)]

    def _newest_first(self) -> Iterator[SessionListing]:
        by_age = sorted(_session_files(self._folder), key=lambda file: file.status.st_mtime_ns, reverse=True)
        for file in by_age:
            header = _header_of(file.path)
            if header is not None and self._is_ours(header):
                yield SessionListing(file.path, header, file.status.st_mtime_ns, file.status.st_size)

    def _is_ours(self, header: SessionHeader) -> bool:
        """Folder names are ambiguous (`/a-b` and `/a/b`), so the header decides; v1 headers may not know."""
        if not header.cwd:
            return not self._is_shared
        return header.cwd == self._cwd or os.path.realpath(header.cwd) == os.path.realpath(self._cwd)


def _session_files(folder: Path) -> list[_File]:
    """Files in `folder` that are named like sessions; none if there is no such folder."""
    files = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                # Another kaa may delete it meanwhile; a link may point nowhere.
                with contextlib.suppress(FileNotFoundError):
                    if entry.name.endswith(".jsonl") and stat.S_ISREG((status := entry.stat()).st_mode):
                        files.append(_File(Path(entry.path), status))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionReadError(folder, error) from error
    return files


def _folders(root: Path) -> list[Path]:
    """The folders of all projects."""
    try:
        return [folder for folder in root.iterdir() if folder.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionReadError(root, error) from error


def _id_starts_with(name: str, wanted: str) -> bool:
    session_id = session_id_in(name)
    return session_id is not None and session_id.lower().startswith(wanted.lower())


def _header_of(path: Path) -> SessionHeader | None:
    """The header of a file, None if it is no session or may not be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return find_header(file.read(HEADER_BYTES))
    except OSError:
        return None
