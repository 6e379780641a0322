"""All sessions of the user, without opening any: list, search, rename, throw away. For pickers, commands and reports.

Everything here reads files and may take long: call it in a thread.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kaa.session.catalogue.places import SessionRoot
from kaa.session.catalogue.records import SearchHit, SessionScope, SessionSummary, UsageRow
from kaa.session.entries import SessionInfo
from kaa.session.errors import NotInTrashError
from kaa.session.file.file_store import FileStore
from kaa.session.library.finding import SessionLibrary, pi_sessions
from kaa.shell.home import Home

if TYPE_CHECKING:
    from kaa.session.catalogue.catalogue import Catalogue
    from kaa.session.library.restoring import Trashed

Progress = Callable[[int, int], None]
"""Told how many files of how many are read."""


class TrashedSession(NamedTuple):
    """A session in the trash: what a list shows of it, and where it is and was."""

    summary: SessionSummary
    place: "Trashed"

    def is_exactly(self, query: str) -> bool:
        """Whether this is its id, its name or its file."""
        return query in (self.summary.id, self.summary.name, str(self.place.path))


class Sessions:
    """The sessions of kaa and of pi.

    Args:
        cwd: the directory that is `here`, absolute.
        session_dir: one folder for the sessions of all projects (`--session-dir`, or the setting); None where each
            project has its own.
    """

    def __init__(self, home: Home, cwd: str, session_dir: Path | None) -> None:
        self._cwd = cwd
        self._cache = home.cache / "sessions.sqlite3"
        pi = pi_sessions(os.environ)
        own = (
            SessionRoot(session_dir, "kaa", is_flat=True)
            if session_dir is not None
            else SessionRoot(home.sessions, "kaa")
        )
        self._roots = (own, SessionRoot(pi, "pi"))
        self._library = SessionLibrary(cwd, home.sessions, session_dir, others=(pi,))

    def list(self, scope: SessionScope = "here", progress: Progress | None = None) -> Sequence[SessionSummary]:
        """All sessions, the newest first. The first time all their files are read.

        Args:
            progress: told of files that must be read.
        """
        with self._catalogue() as catalogue:
            return catalogue.summaries(scope, progress)

    def search(
        self, text: str, scope: SessionScope = "here", limit: int = 50, progress: Progress | None = None
    ) -> Sequence[SearchHit]:
        """Where a text was said, called or printed; the newest sessions first.

        Args:
            text: words and "phrases" that all stand in one entry, or `re:` and a regular expression.
            limit: at most so many places.
            progress: told of files that must be read.

        Raises:
            QueryError: the text is not understood.
        """
        with self._catalogue() as catalogue:
            return catalogue.search(text, scope, limit, progress)

    def usage(self, scope: SessionScope = "here") -> Sequence[UsageRow]:
        """What was used, by session, model and day. What a copy brought along counts in its source only."""
        with self._catalogue() as catalogue:
            return catalogue.usage(scope)

    def summary(self, path: Path) -> tuple[SessionSummary, Sequence[UsageRow]]:
        """What is known of one session, wherever it is, and what it used.

        Raises:
            SessionReadError: it cannot be read.
            NotASessionError: it is something else.
        """
        with self._catalogue() as catalogue:
            return catalogue.summary(path)

    def resolve(self, query: str) -> Path:
        """The session that a path or the beginning of an id means.

        Raises:
            SessionNotFoundError: none, or several.
        """
        return self._library.resolve(query)

    def rename(self, path: Path, name: str) -> None:
        """Call a session that nobody has open by another name; an empty one takes the name away.

        Raises:
            SessionError: it cannot be written, or is in use: then only its own conversation can name it.
        """
        from kaa.shell.naming import clean_name  # lazy: it can also ask the model for one

        store = FileStore.open(path)
        try:
            store.append(SessionInfo(name=clean_name(name)))
            store.request_sync()
        finally:
            store.release()

    def trash(self, path: Path) -> Path | None:
        """Move a session that nobody has open into the trash of the system. Nothing is ever deleted for good.

        Returns:
            Where it is now; None where the system does not tell.

        Raises:
            SessionError: it is in use, or cannot be moved.
        """
        from kaa.session.library.trash import trash_session  # lazy: seldom used

        return trash_session(path, os.environ)

    def trashed(self) -> Sequence[TrashedSession]:
        """The sessions in the trash of the system, the last one that was moved there first."""
        from kaa.session.library.restoring import trashed_sessions  # lazy: seldom used

        found = trashed_sessions([root.path for root in self._roots], os.environ)
        with self._catalogue() as catalogue:
            return [TrashedSession(catalogue.summary(one.path)[0], one) for one in found]

    def restore(self, query: str) -> Path:
        """Bring a session back from the trash. Returns where it is.

        Args:
            query: the beginning of its id, its whole name, or its file in the trash.

        Raises:
            SessionError: none or several fit, or it cannot be moved, such as when its place is taken.
        """
        from kaa.session.library.restoring import restore  # lazy, as above

        trashed = self.trashed()
        exact = [one for one in trashed if one.is_exactly(query)]
        fitting = exact or [one for one in trashed if one.summary.id.lower().startswith(query.lower())]
        if len(fitting) != 1 or not query:
            raise NotInTrashError(query, [one.place.path for one in fitting] if query else [])
        return restore(fitting[0].place)

    def _catalogue(self) -> "Catalogue":
        from kaa.session.catalogue.catalogue import Catalogue  # lazy: SQLite is for who lists or searches

        return Catalogue(self._cache, self._roots, self._cwd)
