"""Which sessions a list shows, and in which order: found, filtered, sorted, or threaded below what they came from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from kaa.session.catalogue.records import SessionSummary

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
