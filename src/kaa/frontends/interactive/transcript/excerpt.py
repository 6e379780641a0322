"""Parts of long texts: what is looked at is bounded by what is shown, however long the text is."""

from typing import NamedTuple

from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless, truncated
from kaa.tui.layout import wrap
from kaa.tui.sanitize import sanitize
from kaa.tui.style import Style, paint

# What is shown of a text at most, when all of it is asked for.
ALL_LINES = 2000
# No line on a screen needs more; a file without line feeds is one line of megabytes.
_LINE_CHARACTERS = 4096
_CUT = " [cut]"


class Excerpt(NamedTuple):
    """Lines of a foreign text, fit to be shown, and how many there are besides them."""

    lines: list[str]
    hidden: int


def head(text: str, count: int) -> Excerpt:
    """The first `count` lines."""
    text = text.removesuffix("\n")
    return _excerpt(text, text.split("\n", count)[:count])


def tail(text: str, count: int) -> Excerpt:
    """The last `count` lines."""
    text = text.removesuffix("\n")
    return _excerpt(text, text.rsplit("\n", count)[-count:])


def count_lines(text: str) -> int:
    """How many lines a text has; a line feed at its end begins none."""
    return text.removesuffix("\n").count("\n") + 1 if text else 0


def beginning(text: str, characters: int = 500) -> str:
    """The beginning of a foreign text, in one line."""
    flat = " ".join(text[: characters * 2].split())
    is_whole = len(text) <= characters * 2 and len(flat) <= characters
    return sanitize(flat if is_whole else flat[:characters] + _CUT)


def clipped(view: ViewOptions, line: str, width: int, style: Style) -> str:
    """One line of plain text; a mark says where it was cut."""
    return paint(truncated(line, width, view.context.glyphs.ellipsis), style)


def paint_excerpt(
    view: ViewOptions, excerpt: Excerpt, width: int, style: Style, *, from_end: bool = False, whole: bool = False
) -> list[str]:
    """The lines, and one that says how many are missing.

    Args:
        view: how the transcript is looked at.
        excerpt: what to show.
        width: in cells.
        style: of the lines.
        from_end: the lines are the last ones.
        whole: lines that are too long go on in the next row; otherwise each has one row.
    """
    if whole:
        rows = [row for line in excerpt.lines for row in wrap([(line, style)], width)]
    else:
        rows = [clipped(view, line, width, style) for line in excerpt.lines]
    if excerpt.hidden:
        missing = more(view, excerpt.hidden, width, "earlier" if from_end else "more")
        rows.insert(0 if from_end else len(rows), missing)
    return rows


def more(view: ViewOptions, hidden: int, width: int, kind: str = "more") -> str:
    """The line that says how many lines are missing, and how to see them."""
    lines = f"{hidden} {kind} line{'s' if hidden != 1 else ''}"
    hint = "" if view.expanded else view.hint("app.tools.expand")
    text = f"{view.context.glyphs.ellipsis} {lines}{hint}"
    return clipped(view, text, width, view.context.palette["muted"])


def _excerpt(text: str, lines: list[str]) -> Excerpt:
    if not text:
        return Excerpt([], 0)
    return Excerpt([_shown(line) for line in lines], text.count("\n") + 1 - len(lines))


def _shown(line: str) -> str:
    return harmless(line if len(line) <= _LINE_CHARACTERS else line[:_LINE_CHARACTERS] + _CUT)
