"""The list of sessions: found, filtered, sorted or threaded below what they came from, and shown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from kaa.builtin.amounts import counted
from kaa.frontends.interactive.footer import short_path
from kaa.frontends.interactive.sessions.ago import shown_ago
from kaa.session.catalogue.records import SessionSummary
from kaa.tui.components.input import Input
from kaa.tui.components.list_position import MOVES, ScrolledList
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.events import Input as InputEvent
from kaa.tui.key_notation import show_key
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line, squeezed
from kaa.tui.style import BOLD, Span, join, paint, paint_spans
from kaa.tui.width import cells

Order: TypeAlias = Literal["recent", "relevance", "name"]
Score: TypeAlias = Callable[[SessionSummary], float | None]


class SessionRow(NamedTuple):
    """A session that is listed.

    Attributes:
        depth: how many of those it came from are listed above it.
    """

    session: SessionSummary
    depth: int = 0


class MatchingSessions:
    """How well sessions are what is looked for, found out in portions: all of thousands take longer than a key may.

    Args:
        score: how well one is it, None if it is not at all.
    """

    def __init__(self, sessions: Sequence[SessionSummary], score: Score) -> None:
        self._left = iter(sessions)
        self._score = score
        self._points: dict[Path, float] = {}

    def look_on(self, count: int) -> bool:
        """Look at so many more of them. Returns whether these were the last."""
        portion = list(islice(self._left, count))
        for session in portion:
            points = self._score(session)
            if points is not None:
                self._points[session.path] = points
        return len(portion) < count

    def points(self, session: SessionSummary) -> float | None:
        """How well a session is it, as far as was looked."""
        return self._points.get(session.path)


def orders(*, is_searched: bool) -> tuple[Order, ...]:
    """The orders there are to choose from, the usual one first."""
    return ("relevance", "recent", "name") if is_searched else ("recent", "name")


def arranged(
    sessions: Iterable[SessionSummary], order: Order, *, score: Score | None = None, named_only: bool = False
) -> list[SessionRow]:
    """The rows of a list.

    Args:
        sessions: all of them, the newest first.
        order: how they are sorted. Without a search, the newest first means threads: each session with those that came
            from it below, where the newest of them stands.
        score: how well a session is what is looked for, None if it is not at all; None shows all.
        named_only: leave out those without a name of their own.
    """
    shown = [session for session in sessions if session.name or not named_only]
    if score is not None:
        scored = [(points, session) for session in shown if (points := score(session)) is not None]
        if order == "relevance":
            scored.sort(key=lambda pair: -pair[0])
        shown = [session for _, session in scored]
    if order == "name":
        shown.sort(key=lambda session: session.title.casefold())
    elif score is None:
        return _threaded(shown)
    return [SessionRow(session) for session in shown]


def _threaded(sessions: Sequence[SessionSummary]) -> list[SessionRow]:
    by_path = {session.path: session for session in sessions}
    children: dict[Path, list[SessionSummary]] = {}
    for session in sessions:
        if session.parent is not None:
            children.setdefault(session.parent, []).append(session)
    rows: list[SessionRow] = []
    placed: set[Path] = set()
    for session in sessions:
        waiting = [] if session.path in placed else [(_topmost(session, by_path), 0)]
        while waiting:
            one, depth = waiting.pop()
            if one.path not in placed:
                placed.add(one.path)
                rows.append(SessionRow(one, depth))
                waiting += [(child, depth + 1) for child in reversed(children.get(one.path, ()))]
    return rows


def _topmost(session: SessionSummary, by_path: Mapping[Path, SessionSummary]) -> SessionSummary:
    """The listed session that this one came from in the end; files may claim to have come from each other."""
    seen = {session.path}
    while (parent := session.parent) is not None and parent in by_path and parent not in seen:
        seen.add(parent)
        session = by_path[parent]
    return session


_MAX_ROWS = 12
# On screens with fewer rows, the selected session is not described below the list.
_ROWS_FOR_PREVIEW = 22
_PREVIEW_ROWS = 3
# Facts beside a title narrower than this leave too little of it.
_MIN_TITLE = 20
_AGO_CELLS = 6
# So many sessions are searched in some 2 ms; between one portion and the next, keys are heard.
_PORTION = 400
_ORDER_NAMES: dict[Order, str] = {"recent": "newest first", "relevance": "best match first", "name": "by name"}


class SessionActions(NamedTuple):
    """What is done with the selected session, and for all of the list.

    Attributes:
        trash: it goes to the trash.
        change_scope: sessions of this directory are listed, or of all.
    """

    open: Callable[[SessionSummary], None]
    rename: Callable[[SessionSummary], None]
    trash: Callable[[SessionSummary], None]
    change_scope: Callable[[], None]
    search_text: Callable[[str], None]
    cancel: Callable[[], None]


class SessionListView(ScrolledList):
    """Rows to choose from.

    Args:
        parse: makes of what is typed how well a session matches it; raises ValueError, with a message for the user.
        now: Unix time in seconds.
        later: does something as soon as keys that came have been heard, and has the list painted.

    Attributes:
        current: the session that is open, which is marked.
    """

    _search: Input

    def __init__(
        self,
        context: Context,
        actions: SessionActions,
        parse: Callable[[str], Score],
        now: Callable[[], float],
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        search = Input(context, "Search: ", placeholder='words, "a phrase" or re:expression')
        super().__init__(context, _MAX_ROWS, search)
        self.current: Path | None = None
        self._actions = actions
        self._parse = parse
        self._now = now
        self._later = later
        self._scope = ""
        self._progress = ""
        self._problem = ""
        self._order: Order | None = None  # as the user chose
        self._named_only = False
        self._shows_paths = False
        self._sessions: Sequence[SessionSummary] = ()
        self._rows: list[SessionRow] = []
        self._query = ""
        self._matches: MatchingSessions | None = None  # None: nothing is looked for
        self._is_looking = False
        self._to_select: Path | None = None  # when all are looked at

    @property
    def selected(self) -> SessionSummary | None:
        return self._rows[self._position.index].session if self._rows else None

    @property
    def query(self) -> str:
        return self._search.text

    def set_query(self, text: str) -> None:
        self._search.set_text(text)
        self._find()

    def show(self, sessions: Sequence[SessionSummary], scope: str) -> None:
        """List these, the newest first."""
        self._sessions, self._scope, self._progress = sessions, scope, ""
        self._arrange(self.selected.path if self.selected else None)

    def tell_progress(self, text: str) -> None:
        """Say how far the listing is; empty when it is done."""
        self._progress = text
        self._revision += 1

    def key(self, key: InputEvent) -> bool:
        """Move, choose, act on the selected one, or type into the search field."""
        keymap = self._context.keymap
        action = keymap.first(key, "tui.select.confirm", "tui.select.cancel", *MOVES, *self._own_actions())
        if action is not None:
            self._look_at_the_rest()
        if action in MOVES:
            self._position.move(action, self._height())
            self._revision += 1
        elif action is not None:
            self._act(action)
        elif self._search.key(key):
            self._find()
        else:
            return False
        return True

    def _own_actions(self) -> tuple[str, ...]:
        """With something typed, the key that deletes without harm is the search field's."""
        names = ("toggleScope", "search", "togglePath", "toggleSort", "toggleNamedFilter", "rename", "delete")
        harmless = () if self.query else ("app.session.deleteNoninvasive",)
        return (*(f"app.session.{name}" for name in names), *harmless)

    def _act(self, action: str) -> None:
        match action.rpartition(".")[2]:
            case "cancel":
                self._actions.cancel()
            case "toggleScope":
                self._actions.change_scope()
            case "search":
                self._actions.search_text(self.query)
            case "togglePath":
                self._shows_paths = not self._shows_paths
                self._revision += 1
            case "toggleSort":
                self._change_order()
            case "toggleNamedFilter":
                self._named_only = not self._named_only
                self._arrange(self.selected.path if self.selected else None)
            case name if self.selected is not None:
                self._act_on(self.selected, name)
            case "confirm" if self.query:  # no title has it: what was said may
                self._actions.search_text(self.query)
            case _:
                pass

    def _act_on(self, session: SessionSummary, name: str) -> None:
        match name:
            case "confirm":
                self._actions.open(session)
            case "rename":
                self._actions.rename(session)
            case _:
                self._actions.trash(session)

    # What is shown.

    def _find(self) -> None:
        if self.query != self._query:
            self._query = self.query
            self._arrange(None)

    def _change_order(self) -> None:
        choices = orders(is_searched=bool(self.query.strip()))
        self._order = choices[(choices.index(self._order_in_force()) + 1) % len(choices)]
        self._arrange(self.selected.path if self.selected else None)

    def _order_in_force(self) -> Order:
        choices = orders(is_searched=bool(self.query.strip()))
        return self._order if self._order in choices else choices[0]

    def _arrange(self, selected: Path | None) -> None:
        """Find the rows; the pointer goes to this session, else to the first one."""
        self._problem = ""
        self._to_select = selected
        try:
            self._matches = MatchingSessions(self._sessions, self._parse(self.query)) if self.query.strip() else None
        except ValueError as error:  # what is half typed may be no expression yet: the rows before stay
            self._problem = str(error)
            self._is_looking = False
            self._point()
            return
        self._is_looking = True
        self._look_on(self._matches)

    def _look_on(self, matches: MatchingSessions | None) -> None:
        """Look at the next sessions. Until all were, the rows before stay."""
        if not self._is_looking or matches is not self._matches:
            return  # it was completed, or something else is looked for by now
        if matches is None or matches.look_on(_PORTION):
            self._take_rows()
        else:
            self._later(lambda: self._look_on(matches))

    def _look_at_the_rest(self) -> None:
        """What a key does is done to what is found, not to the rows before."""
        if self._is_looking and self._matches is not None:
            self._matches.look_on(len(self._sessions) + 1)
            self._take_rows()

    def _take_rows(self) -> None:
        self._is_looking = False
        score = self._matches.points if self._matches is not None else None
        self._rows = arranged(self._sessions, self._order_in_force(), score=score, named_only=self._named_only)
        self._point()

    def _point(self) -> None:
        self._position.count = len(self._rows)
        wanted, at = self._to_select, 0
        if wanted is not None:
            at = next((at for at, row in enumerate(self._rows) if row.session.path == wanted), 0)
        self._position.go(at)
        self._revision += 1

    def _height(self) -> int:
        return max(1, min(_MAX_ROWS, self._context.size.rows // 2 - 2))

    def _paint(self, width: int) -> list[str]:
        palette, ellipsis = self._context.palette, self._context.glyphs.ellipsis
        lines = [paint(truncated(self._facts(), width, ellipsis), palette["dim"])]
        if self._problem:
            lines += wrap([(squeezed(self._problem), palette["warning"])], width)
        if not self._rows:
            return [*lines, paint(truncated(self._emptiness(), width, ellipsis), palette["muted"])]
        now = self._now()
        lines += [self._row(index, width, now) for index in self._position.in_view(self._height())]
        return [*lines, *self._preview(width)]

    def _facts(self) -> str:
        facts = [self._scope, _ORDER_NAMES[self._order_in_force()]]
        if self._named_only:
            facts.append("only named ones")
        if self._rows:
            facts.append(self._position.label())
        if self._progress:
            facts.append(self._progress)
        return f" {self._context.glyphs.bullet} ".join(filter(None, facts))

    def _emptiness(self) -> str:
        if self._progress:
            return ""
        if not self._sessions:
            return "There is no session yet"
        if not self.query.strip():
            return "No session has a name"
        key = self._context.keymap.keys("tui.select.confirm")
        return "No title matches" + (f"; {show_key(key[0])} searches the text" if key else "")

    def _row(self, index: int, width: int, now: float) -> str:
        session, depth = self._rows[index]
        palette, glyphs = self._context.palette, self._context.glyphs
        is_selected, is_open = index == self._position.index, session.path == self.current
        before = glyphs.pointer if is_selected else " " * cells(glyphs.pointer)
        thread = f"{'  ' * (depth - 1)}{glyphs.bottom_left} " if depth else ""
        check = f" {glyphs.check}" if is_open else ""
        facts = self._facts_of(session, now)
        taken = cells(before) + 1 + cells(thread) + cells(check)
        room = width - taken - cells(facts) - 2
        if room < _MIN_TITLE:
            facts, room = "", width - taken
        title = truncated(squeezed(session.title), max(1, room), glyphs.ellipsis)
        style = palette["accent" if is_selected else "text" if session.name else "muted"]
        spans: list[Span] = [
            (f"{before} ", palette["accent"]),
            (thread, palette["borderMuted"]),
            (title, join(style, BOLD) if is_selected else style),
            (check, palette["success"]),
        ]
        if facts:
            spans.append((" " * (width - taken - cells(title) - cells(facts)) + facts, palette["dim"]))
        return paint_spans(spans)

    def _facts_of(self, session: SessionSummary, now: float) -> str:
        facts = [counted(session.message_count, "message"), shown_ago(session.modified_ms, now).rjust(_AGO_CELLS)]
        if self._shows_paths:
            facts.insert(0, one_line(short_path(session.cwd)))
        if session.origin == "pi":
            facts.insert(0, "pi")
        return "  ".join(facts)

    def _preview(self, width: int) -> list[str]:
        """What the selected session began with, and where its file is, if there is room."""
        session = self.selected
        if session is None or self._context.size.rows < _ROWS_FOR_PREVIEW:
            return []
        palette, ellipsis = self._context.palette, self._context.glyphs.ellipsis
        margin: list[Span] = [("  ", "")]
        said = wrap([(squeezed(session.first_message), palette["text"])], width, margin)[:_PREVIEW_ROWS]
        said += [""] * (_PREVIEW_ROWS - len(said))  # the list does not jump as the pointer goes
        where = f"  {one_line(short_path(str(session.path if self._shows_paths else session.cwd)))}"
        return ["", *said, paint(truncated(where, width, ellipsis), palette["dim"])]
