"""Finding where something was said, in all sessions, and going there."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kaa.builtin.amounts import counted
from kaa.frontends.failures import error_text
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.sessions.ago import shown_ago
from kaa.frontends.interactive.sessions.opening import Here, SessionOpening
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.catalogue.records import SearchHit, SessionScope
from kaa.tui.components.select_list import SelectItem
from kaa.tui.sanitize import squeezed

SCOPES: dict[SessionScope, str] = {"here": "this directory", "everywhere": "all directories"}

_MOST_HITS = 100
# The first search reads all sessions; a word on it stays that long.
_SEARCHING_SECONDS = 60.0
_SEARCHING = "searching"
_EVERYWHERE = "everywhere"  # a value that no number of a hit is


class _Found(NamedTuple):
    """Places, and where we are."""

    hits: Sequence[SearchHit]
    here: Here


class SpokenSearch:
    def __init__(self, ui: UIContext, opening: SessionOpening) -> None:
        self._ui = ui
        self.opening = opening
        self._searches = 0

    def open(self, text: str, scope: SessionScope = "here", *, close: Callable[[], None] = lambda: None) -> None:
        """List where a text was said: in this directory, or, if no session contains it there, everywhere.

        Args:
            text: as `kaa.shell.sessions.Sessions.search` takes it.
            scope: where to look first.
            close: takes away what it was searched from, when another session is open.
        """
        self._searches += 1
        number = self._searches

        async def search(engine: Engine) -> _Found:
            hits = await asyncio.to_thread(engine.sessions().search, text, scope, _MOST_HITS)
            return _Found(hits, Here(engine.session_path, engine.workspace.root))

        def found(those: _Found) -> None:
            if number != self._searches:
                return  # something else is looked for by now
            self._forget_progress()
            if those.hits or scope == "everywhere":
                self._show(text, those, scope, close)
            else:
                self.open(text, "everywhere", close=close)

        def failed(error: BaseException) -> None:
            self._forget_progress()
            self._ui.say(error_text(error), "warning")

        self._ui.say(_SEARCHING, seconds=_SEARCHING_SECONDS)
        self._ui.call(search, found, failed)

    def _forget_progress(self) -> None:
        if self._ui.main_view.status.text == _SEARCHING:
            self._ui.main_view.status.show("")

    def _show(self, text: str, found: _Found, scope: SessionScope, close: Callable[[], None]) -> None:
        hits = found.hits
        if not hits:
            self._ui.say(f"no session contains {squeezed(text)!r}")
            return
        now = time.time()
        items = [
            SelectItem(
                str(number),
                squeezed(f"{hit.before}{hit.match}{hit.after}"),
                f"{shown_ago(hit.session.modified_ms, now)}  {squeezed(hit.session.title)}",
            )
            for number, hit in enumerate(hits)
        ]
        if scope == "here":
            items.append(SelectItem(_EVERYWHERE, f"Search all directories{self._ui.main_view.context.glyphs.ellipsis}"))

        def chosen(value: str) -> None:
            if value == _EVERYWHERE:
                self.open(text, "everywhere", close=close)
            else:
                hit = hits[int(value)]
                self.opening.go(hit.session, found.here, entry_id=hit.entry_id, close=close)

        count = f"The first {len(hits)} matches" if len(hits) == _MOST_HITS else counted(len(hits), "match", "matches")
        self._ui.lists.choose(
            f"{count} for {squeezed(text)!r} in {SCOPES[scope]}", items, chosen, hint="Enter goes there"
        )
