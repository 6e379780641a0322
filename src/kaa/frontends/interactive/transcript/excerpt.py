"""Parts of long texts: what is looked at is bounded by what is shown, however long the text is."""

from typing import NamedTuple

from kaa.builtin.amounts import counted
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless, truncated
from kaa.tui.layout import wrap
from kaa.tui.sanitize import sanitize
from kaa.tui.style import Style, paint
from kaa.tui.width import cells

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
    """The first `count` lines, or one more if that is all: to say what is hidden would take its row."""
    text = text.removesuffix("\n")
    lines = text.split("\n", count + 1)
    return _excerpt(text, lines if len(lines) == count + 1 else lines[:count])


def tail(text: str, count: int) -> Excerpt:
    """The last `count` lines, or one more as in `head`."""
    text = text.removesuffix("\n")
    lines = text.rsplit("\n", count + 1)
    return _excerpt(text, lines if len(lines) == count + 1 else lines[-count:])


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
    """The lines, and one that says which are hidden and how many do not fit.

    Args:
        width: in cells.
        from_end: the lines are the last ones.
        whole: lines that are too long go on in the next row; otherwise each has one row.
    """
    if whole:
        rows = [row for line in excerpt.lines for row in wrap([(line, style)], width)]
    else:
        rows = [clipped(view, line, width, style) for line in excerpt.lines]
    cut = 0 if whole else sum(cells(line) > width for line in excerpt.lines)
    if excerpt.hidden or cut:
        rows.insert(0 if from_end else len(rows), more(view, excerpt, width, from_end=from_end, cut=cut))
    return rows


def more(view: ViewOptions, excerpt: Excerpt, width: int, *, from_end: bool = False, cut: int = 0) -> str:
    """The line that says which lines are hidden, and how to see them.

    Args:
        width: in cells.
        from_end: they are the last ones.
    """
    says = [hidden_lines(excerpt, from_end=from_end)] if excerpt.hidden else []
    if cut:
        says.append(f"{counted(cut, 'long line')} cut off")
    text = f"{view.context.glyphs.ellipsis} {', '.join(says)}{view.how_to_show_all}"
    return clipped(view, text, width, view.context.palette["muted"])


def rest(view: ViewOptions, width: int) -> str:
    """The line that says that something follows, where it is not known in lines, and how to see it."""
    text = f"{view.context.glyphs.ellipsis} the rest is hidden{view.how_to_show_all}"
    return clipped(view, text, width, view.context.palette["muted"])


def hidden_lines(excerpt: Excerpt, *, from_end: bool = False) -> str:
    """Which lines are hidden, in words."""
    count = len(excerpt.lines) + excerpt.hidden
    first, last = (1, excerpt.hidden) if from_end else (len(excerpt.lines) + 1, count)
    return f"{f'line {first}' if first == last else f'lines {first} to {last}'} of {count} hidden"


def _excerpt(text: str, lines: list[str]) -> Excerpt:
    if not text:
        return Excerpt([], 0)
    return Excerpt([_shown(line) for line in lines], text.count("\n") + 1 - len(lines))


def _shown(line: str) -> str:
    return harmless(line if len(line) <= _LINE_CHARACTERS else line[:_LINE_CHARACTERS] + _CUT)
