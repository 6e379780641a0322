"""A diff: lines with their numbers, and in lines that were replaced the words that changed."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kaa.tui.components.code import hard_wrap
from kaa.tui.components.diff_lines import DiffLine, Sign, read_diff
from kaa.tui.components.diff_words import Range, changed_words, pair_lines
from kaa.tui.components.display import Display
from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.style import INVERSE, Span, Style, join, paint, paint_spans
from kaa.tui.width import clip

_TOKENS: dict[Sign, str] = {
    "+": "toolDiffAdded",
    "-": "toolDiffRemoved",
    " ": "toolDiffContext",
    "": "muted",
}
# Beside numbers at least this much is left for the text; else they are left out.
_NARROWEST = 12


class DiffView(Display):
    """A diff, as kaa's and pi's edits make it, or a unified one.

    Args:
        context: what all components know.
        diff: foreign text.
        max_lines: how many of its lines are shown; a last line tells how many were left out. None shows all.
        hint: said behind the number of lines that were left out, such as how to see them.
        numbers: whether lines have their numbers; where those of a unified diff are not the file's, they would mislead.
    """

    def __init__(
        self,
        context: Context,
        diff: str,
        max_lines: int | None = None,
        *,
        hint: str = "",
        numbers: bool = True,
    ) -> None:
        super().__init__(context)
        self._diff = diff
        self._hint = hint
        self._max_lines = max_lines
        self._numbers = numbers

    def _paint(self, width: int) -> list[str]:
        all_lines = read_diff(self._diff) if self._numbers else self._unnumbered()
        lines = [line._replace(text=harmless(line.text)) for line in islice(all_lines, self._max_lines)]
        left_out = sum(1 for _ in all_lines)
        digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
        if width < digits + 2 + _NARROWEST:
            digits = 0
        painted: list[str] = []
        for line, marks in _marked(lines):
            painted += self._line(line, marks, digits, width)
        if left_out:
            ellipsis = self._context.glyphs.ellipsis
            more = f"{ellipsis} {left_out} more line{'s' if left_out > 1 else ''}{self._hint}"
            painted.append(paint(clip(more, width), self._context.palette["muted"]))
        return painted

    def _unnumbered(self) -> Iterator[DiffLine]:
        """The lines without numbers; where a hunk begins, something was left out."""
        for index, line in enumerate(read_diff(self._diff)):
            if line.sign or not line.text.startswith("@@"):
                yield line._replace(number=None)
            elif index:
                yield DiffLine("", None, self._context.glyphs.ellipsis)

    def _line(self, line: DiffLine, marks: Sequence[Range], digits: int, width: int) -> Iterator[str]:
        style = self._context.palette[_TOKENS[line.sign]]
        number = f"{'' if line.number is None else line.number:>{digits}} " if digits else ""
        gutter = f"{line.sign or ' '}{number}"[: width - 1]
        spans = _with_marks(line.text, style, marks)
        # Never reflowed: what is copied is what is in the file.
        for index, piece in enumerate(hard_wrap(list(spans), width - len(gutter))):
            yield paint_spans([(gutter if index == 0 else " " * len(gutter), style), *piece]).rstrip(" ")


def _marked(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine, Sequence[Range]]]:
    """The lines, each with what changed within it."""
    position = 0
    while position < len(lines):
        removed = _run(lines, position, "-")
        added = _run(lines, position + len(removed), "+")
        if not removed or not added:
            # Nothing was replaced.
            for line in removed or added or lines[position : position + 1]:
                yield line, ()
            position += len(removed or added) or 1
            continue
        old_marks: dict[int, list[Range]] = {}
        new_marks: dict[int, list[Range]] = {}
        for one, other in pair_lines([line.text for line in removed], [line.text for line in added]):
            old_marks[one], new_marks[other] = changed_words(removed[one].text, added[other].text)
        yield from ((line, old_marks.get(index, ())) for index, line in enumerate(removed))
        yield from ((line, new_marks.get(index, ())) for index, line in enumerate(added))
        position += len(removed) + len(added)


def _run(lines: Sequence[DiffLine], start: int, sign: Sign) -> list[DiffLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return list(lines[start:end])


def _with_marks(text: str, style: Style, marks: Iterable[Range]) -> Iterator[Span]:
    """The text, with what is in the ranges inverse."""
    position = 0
    for start, end in marks:
        yield text[position:start], style
        yield text[start:end], join(style, INVERSE)
        position = end
    yield text[position:], style
