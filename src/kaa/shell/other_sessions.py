"""The sessions that a conversation can be left for, for commands. Light: few sessions are left."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.ext.errors import CommandError
from kaa.session.errors import SessionError
from kaa.shell.home import Home

if TYPE_CHECKING:
    from kaa.ext.navigation import FoundText, ListedSession
    from kaa.shell.sessions import Sessions

_MOST_HITS = 50


class OtherSessions:
    """Implements `kaa.ext.navigation.SessionList`.

    Args:
        session_dir: one folder for the sessions of all projects, None where each project has its own.
    """

    def __init__(self, home: Home, cwd: str, session_dir: Path | None) -> None:
        self._home = home
        self._cwd = cwd
        self._session_dir = session_dir

    async def here(self) -> "tuple[ListedSession, ...]":
        return await asyncio.to_thread(self._here)

    async def find(self, query: str) -> str:
        try:
            return str(await asyncio.to_thread(self._sessions().resolve, query))
        except SessionError as error:
            listed = await self.here()
            fitting = [one for one in listed if query.lower() in one.title.lower()]
            if len(fitting) == 1:
                return fitting[0].path
            if fitting:
                several = "\n".join(f"{one.id}  {one.title}" for one in fitting)
                raise CommandError(f"several titles contain {query!r}; use an id:\n{several}") from error
            raise CommandError(str(error)) from error

    async def search(self, text: str) -> "tuple[FoundText, ...]":
        return await asyncio.to_thread(self._search, text)

    def _search(self, text: str) -> "tuple[FoundText, ...]":
        from kaa.ext.navigation import FoundText, ListedSession  # lazy: few commands look for sessions
        from kaa.session.catalogue.matching import QueryError  # lazy, as below

        sessions = self._sessions()
        try:
            hits = sessions.search(text, "here", _MOST_HITS) or sessions.search(text, "everywhere", _MOST_HITS)
        except QueryError as error:
            raise CommandError(str(error)) from error
        return tuple(
            FoundText(
                ListedSession(hit.session.id, str(hit.session.path), hit.session.title),
                hit.entry_id,
                " ".join(f"{hit.before}{hit.match}{hit.after}".split()),
            )
            for hit in hits
        )

    def _here(self) -> "tuple[ListedSession, ...]":
        from kaa.ext.navigation import ListedSession  # lazy, as above

        return tuple(ListedSession(one.id, str(one.path), one.title) for one in self._sessions().list())

    def _sessions(self) -> "Sessions":
        from kaa.shell.sessions import Sessions  # lazy, as above

        return Sessions(self._home, self._cwd, self._session_dir)
