"""How a call looks: a title with a mark, what came of it, and how it ended."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
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
        body: painted lines of what came of it, as wide as there is room beside the indent.
        notes: remarks that are always shown.
        images: painted lines as wide as the card, which no background may touch.
    """

    state: State
    title: Sequence[Span]
    body: Sequence[str] = ()
    notes: Sequence[Span] = ()
    aside: str = ""
    images: Sequence[str] = ()


class Card(Piece):
    """A block that looks like this."""

    def __init__(self, view: ViewOptions) -> None:
        super().__init__(view)
        self._verdict = 0
        self._is_running = False

    @abstractmethod
    def face(self, width: int) -> Face:
        """What the card says now. `width`: of the body, in cells."""

    @property
    def verdict(self) -> int:
        """How many of the last lines say how it ended."""
        return self._verdict

    @property
    def settled(self) -> int:
        """How many lines are final: where lines are written once, the title while it runs."""
        if self.view.linear and self._is_running and not self.finished:
            return len(self._lines) - self._verdict
        return super().settled

    def layout(self, width: int) -> list[str]:
        """The card as things are now."""
        indent = min(cells(self.context.glyphs.check) + 1, max(width - 1, 0))
        face = self.face(max(width - indent, 1))
        if self.view.linear:
            face = _in_words(face)
        self._is_running = face.state == "running"
        below = self.view.linear or self.left > 1 or bool(face.body or face.notes or face.images)
        lines = _title_rows(self.view, face, width, indent, with_aside=not below)
        lines += [" " * indent + line for line in face.body]
        verdict = _verdict_rows(self.view, face, width, indent, with_aside=below)
        if self._left_unfinished and self.finished and not self.view.linear:
            # What has left says for ever that it runs, and stands far above: the end says of what it is.
            verdict = [*_title_rows(self.view, face, width, indent, with_aside=False)[:1], *verdict]
        background = "" if self.view.linear else self.context.palette[_BACKGROUNDS[face.state]]
        if background:
            lines = [pad(line, width, background) for line in lines]
            verdict = [pad(line, width, background) for line in verdict]
        self._verdict = len(verdict)
        return [*lines, *face.images, *verdict]


def _in_words(face: Face) -> Face:
    """What is told by marks elsewhere, and nothing that passes by."""
    match face.state:
        case "running":
            return face._replace(body=(), aside="running")
        case "failed":
            return face._replace(aside=" · ".join(filter(None, ("failed", face.aside))))
        case _:
            return face


def _title_rows(view: ViewOptions, face: Face, width: int, indent: int, *, with_aside: bool) -> list[str]:
    mark, style = _mark(view, face.state)
    muted = view.context.palette["muted"]
    title = [*face.title, (f"  {face.aside}", muted)] if face.aside and with_aside else face.title
    rest = [(" " * indent, "")]
    rows = wrap(title, width, [(mark, style), (" " * (indent - cells(mark)), "")], rest)
    most = _ALL_TITLE_ROWS if view.expanded else _TITLE_ROWS
    if len(rows) > most:
        rows[most - 1 :] = wrap([(f"{view.context.glyphs.ellipsis} cut off{view.how_to_show_all}", muted)], width, rest)
    return rows


def _verdict_rows(view: ViewOptions, face: Face, width: int, indent: int, *, with_aside: bool) -> list[str]:
    aside: list[Span] = [(face.aside, view.context.palette["muted"])] if face.aside and with_aside else []
    return [row for note in [*face.notes, *aside] for row in wrap([note], width, [(" " * indent, "")])]


def _mark(view: ViewOptions, state: State) -> tuple[str, Style]:
    glyphs, palette = view.context.glyphs, view.context.palette
    match state:
        case _ if view.linear:
            return glyphs.bullet, palette["muted"]
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
