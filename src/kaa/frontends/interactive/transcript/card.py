"""How a call looks: a title with a mark, what came of it, and how it ended."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kaa.frontends.interactive.transcript.view import View
from kaa.tui.layout import pad, wrap
from kaa.tui.style import Span, Style
from kaa.tui.width import cells

# `idle`: it has not begun, or never will.
State = Literal["idle", "running", "done", "failed", "not run"]

# Of a title such as a long command, as long as cards are not expanded.
_TITLE_ROWS = 4
_ALL_TITLE_ROWS = 200


class Face(NamedTuple):
    """What a card says.

    Attributes:
        state: how far it is.
        title: what is done.
        body: painted lines of what came of it, `BODY_INDENT` cells narrower than the card.
        notes: remarks that are always shown.
        aside: figures in few words.
        images: painted lines as wide as the card, which no background may touch.
    """

    state: State
    title: Sequence[Span]
    body: Sequence[str] = ()
    notes: Sequence[Span] = ()
    aside: str = ""
    images: Sequence[str] = ()


class Card(NamedTuple):
    """Painted lines, and how many of the last ones say how it ended."""

    lines: list[str]
    verdict: int


def body_indent(view: View) -> int:
    """How many cells what is below the title is indented."""
    return cells(view.context.glyphs.check) + 1


def paint_card(view: View, face: Face, width: int, *, title_left: bool) -> Card:
    """The lines of a card.

    Args:
        view: how the transcript is looked at.
        face: what it says.
        width: in cells.
        title_left: the title has left the screen, so nothing new can be said there.
    """
    palette = view.context.palette
    background = "" if view.linear else palette[_BACKGROUNDS[face.state]]
    indent = " " * body_indent(view)
    muted = palette["muted"]
    aside_below = bool(face.aside) and (bool(face.body or face.notes or face.images) or title_left)
    title = [*face.title] if aside_below or not face.aside else [*face.title, (f"  {face.aside}", muted)]
    lines = _title_rows(view, face.state, title, width)
    lines += [indent + line for line in face.body]
    verdict: list[str] = []
    for note in face.notes:
        verdict += wrap([note], width, [(indent, "")])
    if aside_below:
        verdict += wrap([(face.aside, muted)], width, [(indent, "")])
    if background:
        lines = [pad(line, width, background) for line in lines]
        verdict = [pad(line, width, background) for line in verdict]
    return Card([*lines, *face.images, *verdict], len(verdict))


def _title_rows(view: View, state: State, title: Sequence[Span], width: int) -> list[str]:
    indent = body_indent(view)
    mark, style = _mark(view, state)
    first = [(mark, style), (" " * (indent - cells(mark)), "")]
    rows = wrap(title, width, first, [(" " * indent, "")])
    most = _ALL_TITLE_ROWS if view.expanded else _TITLE_ROWS
    if len(rows) > most:
        ellipsis = view.context.glyphs.ellipsis
        rows[most:] = wrap([(ellipsis, view.context.palette["muted"])], width, [(" " * indent, "")])
    return rows


def _mark(view: View, state: State) -> tuple[str, Style]:
    glyphs, palette = view.context.glyphs, view.context.palette
    match state:
        case "done":
            return glyphs.check, palette["success"]
        case "failed":
            return glyphs.cross, palette["error"]
        case "running":
            return glyphs.bullet, palette["accent"]
        case "not run":
            return glyphs.cross, palette["muted"]
        case "idle":
            return glyphs.collapsed, palette["muted"]


_BACKGROUNDS: dict[State, str] = {
    "idle": "toolPendingBg",
    "running": "toolPendingBg",
    "done": "toolSuccessBg",
    "failed": "toolErrorBg",
    "not run": "toolPendingBg",
}
