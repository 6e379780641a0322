"""Finding sessions: the folder of a project, the newest session in it, one by path or by the start of its id."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kaa.session.entries import SessionHeader
from kaa.session.errors import SessionNotFoundError, SessionReadError
from kaa.session.file.file_store import HEADER_BYTES, FileStore, find_header
from kaa.session.naming import file_name, folder_name, is_same_directory, session_id_in
from kaa.session.store import new_header


def pi_sessions(environ: Mapping[str, str]) -> Path:
    """The folder in which pi keeps the sessions of this user."""
    return Path(os.path.expanduser(environ.get("PI_CODING_AGENT_DIR") or "~/.pi/agent"), "sessions")


_END_CHARACTERS = 8  # of ids, as `kaa agents` shows them


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
        others: more folders like `root`, in which only `resolve` looks: those of other programs.
    """

    def __init__(self, cwd: str, root: Path, session_dir: Path | None = None, *, others: Sequence[Path] = ()) -> None:
        self._cwd = cwd
        self._root = root
        self._others = others
        self._folder = session_dir if session_dir is not None else root / folder_name(cwd)
        self._is_shared = session_dir is not None

    def create(self, session_id: str | None = None, parent: str | None = None) -> FileStore:
        """A new session; its file appears with the first entry.

        Args:
            session_id: one of the user's; without it, a new one.
        """
        header = new_header(self._cwd, parent, session_id)
        return FileStore.create(self._path(header), header)

    def with_id(self, session_id: str) -> Path | None:
        """The session of this project that has exactly this id; of several, the one written last."""
        return next((path for path, header in self._newest_first() if header.id == session_id), None)

    def open_or_create(self, session_id: str, parent: str | None = None) -> FileStore:
        """The session of this project that has exactly this id, or a new one.

        Raises:
            SessionBusyError: another process has it, or is about to begin it.
            SessionError: it cannot be read or written.
        """
        from kaa.session.library.claim import SessionClaim  # lazy: few sessions have an id of the user's

        store = self.create(session_id, parent)
        claim = SessionClaim.take(store.path, self._cwd, session_id)
        known = self.with_id(session_id)  # not before: another process may have begun it until now
        if known is None:
            store.has_begun = claim.release
            return store
        claim.release()
        return FileStore.open(known)

    def fork(self, source: Path) -> FileStore:
        """Go on in a copy of a session with all its branches, made for this project. See `copy_everything`.

        Raises:
            SessionError: the source cannot be read, or the copy cannot be written.
        """
        from kaa.session.library.copying import copy_everything  # lazy: few sessions are copies

        header = new_header(self._cwd, str(source.absolute()))
        path = self._path(header)
        copy_everything(source, header, path)
        return _opened_copy(source, path)

    def fork_path(self, source: Path, entry_id: str | None = None, *, inclusive: bool = True) -> FileStore:
        """Go on in a copy of what leads to an entry, made for this project. See `copy_path`.

        Raises:
            SessionError: the source cannot be read or has no such entry, or the copy cannot be written.
        """
        from kaa.session.library.copying import copy_path  # lazy, as above

        header = new_header(self._cwd, str(source.absolute()))
        path = self._path(header)
        is_copied = copy_path(source, header, path, entry_id, inclusive=inclusive)
        if not is_copied:
            return FileStore.create(path, header)
        return _opened_copy(source, path)

    def most_recent(self) -> Path | None:
        """The session of this project that was written last; None if there is none."""
        return next((path for path, _ in self._newest_first()), None)

    def resolve(self, wanted: str) -> Path:
        """The session that a user means by a path, with a slash or `.jsonl`, or by the beginning or the end of an id.

        Sessions in this project's folder come first; if none fits, those of all projects are tried, then those of
        other programs. A whole id means its session, even if others there begin with it.

        Raises:
            SessionNotFoundError: none fits, or several do.
        """
        # Only what is written as a path is one: commands could give a file in the project the name of an id.
        if not wanted or os.sep in wanted or wanted.endswith(".jsonl"):
            path = Path(os.path.expanduser(wanted))  # unlike Path.expanduser, lets an unknown user pass
            if os.path.isfile(path):
                return path.absolute()
            raise SessionNotFoundError(wanted)
        for files in self._ever_further():
            fitting = sorted(file.path for file in files if _has_id(file.path.name, wanted))
            exact = [path for path in fitting if session_id_in(path.name) == wanted]
            if len(exact or fitting) == 1:
                return (exact or fitting)[0]
            if fitting:
                raise SessionNotFoundError(wanted, fitting)
        raise SessionNotFoundError(wanted)

    def _path(self, header: SessionHeader) -> Path:
        return self._folder / file_name(header.timestamp, header.id)

    def _ever_further(self) -> Iterator[list[_File]]:
        yield _session_files(self._folder)
        yield self._files_of_all_projects()
        yield [file for root in self._others for folder in _folders(root) for file in _session_files(folder)]

    def _files_of_all_projects(self) -> list[_File]:
        if self._is_shared:
            return _session_files(self._folder)
        return [file for folder in _folders(self._root) for file in _session_files(folder)]

    def _newest_first(self) -> Iterator[tuple[Path, SessionHeader]]:
        """The sessions of this project. Reads only the first line of each that is looked at."""
        by_age = sorted(_session_files(self._folder), key=lambda file: file.status.st_mtime_ns, reverse=True)
        for file in by_age:
            header = _header_of(file.path)
            if header is not None and self._is_ours(header):
                yield file.path, header

    def _is_ours(self, header: SessionHeader) -> bool:
        """Folder names are ambiguous (`/a-b` and `/a/b`), so the header decides; v1 headers may not know."""
        if not header.cwd:
            return not self._is_shared
        return is_same_directory(header.cwd, self._cwd)


def _opened_copy(source: Path, copy: Path) -> FileStore:
    """Copy the agents, too, and open the copy. What fails leaves nothing that `most_recent` would go on with."""
    from kaa.session.library.agents import copy_agents  # lazy: few sessions are copies

    try:
        copy_agents(source, copy)
        return FileStore.open(copy)
    except BaseException:
        with contextlib.suppress(OSError):
            copy.unlink(missing_ok=True)
        raise


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


def _has_id(name: str, wanted: str) -> bool:
    """Whether an id begins with what is wanted, or ends with as much as kaa shows of the conversations at work."""
    session_id, wanted = (session_id_in(name) or "").lower(), wanted.lower()
    is_end = len(wanted) >= _END_CHARACTERS and session_id.endswith(wanted)
    return bool(session_id) and (session_id.startswith(wanted) or is_end)


def _header_of(path: Path) -> SessionHeader | None:
    """The header of a file, None if it is no session or may not be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return find_header(file.read(HEADER_BYTES))
    except OSError:
        return None
