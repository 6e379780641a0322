"""The list of sessions: they and what was said in them are found here, they are renamed, thrown away and opened.

Files are read in a thread of the core's; the list is there before they are.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kaa.builtin.amounts import counted
from kaa.frontends.failures import error_text
from kaa.frontends.interactive.dialogs.choices import DialogChoice
from kaa.frontends.interactive.dialogs.frame import DialogFrame
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.footer import short_path
from kaa.frontends.interactive.sessions.ago import shown_ago, shown_moment
from kaa.frontends.interactive.sessions.opening import REFUSAL_SECONDS, Here, SessionOpening
from kaa.frontends.interactive.sessions.session_list import Score, SessionActions, SessionListView
from kaa.frontends.interactive.ui_context import UIContext
from kaa.session.catalogue.matching import Query
from kaa.session.catalogue.records import SearchHit, SessionScope, SessionSummary
from kaa.tui.components.select_list import SelectItem
from kaa.tui.sanitize import squeezed

SCOPES: dict[SessionScope, str] = {"here": "this directory", "everywhere": "all directories"}
_MOST_HITS = 100
# The first search reads all sessions; a word on it stays that long.
_SEARCHING_SECONDS = 60.0
_SEARCHING = "searching"
_EVERYWHERE = "everywhere"  # a value that no number of a hit is
# Reading files is told of this often.
_PROGRESS_SECONDS = 0.1
# Where lists are read line by line, this many are enough to listen to.
_READ_ALOUD = 30
_OTHER: dict[SessionScope, SessionScope] = {"here": "everywhere", "everywhere": "here"}


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


class SessionListing(NamedTuple):
    """Sessions, the newest first, and where we are among them."""

    sessions: Sequence[SessionSummary]
    here: Here


class SessionPicker:
    def __init__(
        self,
        ui: UIContext,
        opening: SessionOpening,
        search: SpokenSearch,
        *,
        query: str,
        on_cancel: Callable[[], None],
    ) -> None:
        self._ui = ui
        self._opening = opening
        self._search = search
        self._query = query
        self._on_cancel = on_cancel
        self._scope: SessionScope = "here"
        self._listing = SessionListing((), Here(None, ""))
        self._loads = 0
        self._dialog: DialogFrame | None = None
        actions = SessionActions(
            self._choose, self._rename, self._ask_to_trash, self._change_scope, self._search_said, self._cancel
        )
        self._list = SessionListView(ui.main_view.context, actions, _score, time.time, self._do_later)

    def open(self) -> None:
        """Show the list, and fill it."""
        if not self._ui.main_view.view.linear:
            self._list.set_query(self._query)
            self._list.tell_progress(f"reading{self._ui.main_view.context.glyphs.ellipsis}")
            self._dialog = self._ui.lists.show("Continue which session?", self._list, self._hint())
        self._load()

    def _do_later(self, work: Callable[[], None]) -> None:
        def do() -> None:
            work()
            self._ui.refresh()

        self._ui.main_view.app.reactor.post(do)

    # Listing.

    def _load(self) -> None:
        self._loads += 1
        load, scope, post = self._loads, self._scope, self._ui.main_view.app.reactor.post
        told_at = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal told_at
            if (now := time.monotonic()) - told_at >= _PROGRESS_SECONDS:
                told_at = now
                post(lambda: self._tell_progress(load, done, total))

        async def listing(engine: Engine) -> SessionListing:
            sessions = await asyncio.to_thread(engine.sessions().list, scope, progress)
            return SessionListing(sessions, Here(engine.session_path, engine.workspace.root))

        def listed(found: SessionListing) -> None:
            if load != self._loads:
                return  # others are wanted by now
            self._listing = found
            if self._dialog is None:
                self._read_aloud(found)
                return
            self._list.current = found.here.session
            self._list.show(found.sessions, SCOPES[scope])
            self._ui.refresh()

        self._ui.call(listing, listed)

    def _tell_progress(self, load: int, done: int, total: int) -> None:
        if load == self._loads:
            self._list.tell_progress(f"reading {done:,} of {total:,}")
            self._ui.refresh()

    def _change_scope(self) -> None:
        self._scope = _OTHER[self._scope]
        self._list.tell_progress(f"reading {SCOPES[self._scope]}{self._ui.main_view.context.glyphs.ellipsis}")
        if self._dialog is not None:
            self._dialog.exchange(self._list, self._hint())
        self._load()

    def _search_said(self, text: str) -> None:
        if text.strip():
            self._search.open(text, self._scope, close=self._close)
        else:
            self._ui.say("type a search text first")

    def _hint(self) -> str:
        keys = (
            ("app.session.toggleScope", SCOPES[_OTHER[self._scope]]),
            ("app.session.search", "searches the text"),
            ("app.session.rename", "renames"),
            ("app.session.delete", "deletes"),
        )
        return self._ui.main_view.key_hint(keys)

    def _read_aloud(self, found: SessionListing) -> None:
        """The same as a list with numbers, to be read line by line."""
        by_path = {str(session.path): session for session in found.sessions[:_READ_ALOUD]}
        if not by_path:
            self._ui.say("there is no session yet")
            self._on_cancel()
            return
        items = [
            SelectItem(
                path, f"{number}. {squeezed(session.title)}", _facts(session), session.path == found.here.session
            )
            for number, (path, session) in enumerate(by_path.items(), 1)
        ]
        self._ui.lists.choose(
            "Continue which session?",
            items,
            lambda path: self._choose(by_path[path]),
            on_cancel=self._on_cancel,
            query=self._query,
        )

    def _cancel(self) -> None:
        self._close()
        self._on_cancel()

    def _close(self) -> None:
        self._loads += 1
        if self._dialog is not None:
            self._ui.lists.close(self._dialog)

    def _choose(self, session: SessionSummary) -> None:
        self._opening.go(session, self._listing.here, close=self._close)

    # What is done to one.

    def _rename(self, session: SessionSummary) -> None:
        def keep(name: str) -> None:
            async def rename(engine: Engine) -> None:
                if session.path == engine.session_path:
                    engine.conversation.naming.set_name(name)
                else:
                    await asyncio.to_thread(engine.sessions().rename, session.path, name)

            self._ui.call(rename, lambda _: self._load(), self._say_why_not)

        hint = "Enter saves it, Esc goes back"
        self._ui.lists.enter("Rename", "Name (empty removes it):", session.name or "", hint, keep)

    def _ask_to_trash(self, session: SessionSummary) -> None:
        if session.path == self._listing.here.session:
            self._ui.say("this session is open: go to another one first", "warning")
            return

        def trash() -> None:
            self._ui.lists.close(dialog)

            async def move(engine: Engine) -> None:
                await asyncio.to_thread(engine.sessions().trash, session.path)

            self._ui.call(move, lambda _: self._trashed(session), self._say_why_not)

        def keep() -> None:
            self._ui.lists.close(dialog)

        choices = [DialogChoice("n", "No", keep), DialogChoice("y", "Yes, move its file to the trash", trash)]
        dialog = self._ui.lists.ask("Delete this session?", f"{session.title}\n{_facts(session)}", choices)

    def _trashed(self, session: SessionSummary) -> None:
        self._ui.say(f"moved to the trash: {squeezed(session.title)}", "success")
        self._load()

    def _say_why_not(self, error: BaseException) -> None:
        self._ui.say(error_text(error), "warning", seconds=REFUSAL_SECONDS)


def _score(text: str) -> Score:
    return Query.parse(text).score


def _facts(session: SessionSummary) -> str:
    """What helps to tell it from others."""
    facts = [counted(session.message_count, "message"), shown_moment(session.modified_ms), short_path(session.cwd)]
    return ", ".join(filter(None, facts))
