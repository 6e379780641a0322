"""Diffs of an edit, made from the spans that changed: no search for differences, whatever the size of the file.

The text format is pi's: `+NN text`, `-NN text`, ` NN text`, and ` .. ...` (blank number) where lines are left out.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile

import msgspec

from kaa.builtin.text_edit import Substitution

_CONTEXT_LINES = 4
# For models. What is longer they have just written.
_AROUND_LINES = 3
_LEFT_OUT = "  ..."
_SHOWN_LINES = 20  # of the beginning, and of the end
_SHOWN_CHARACTERS = 300
MAX_LINE_CHARACTERS = 1000
"""Where a longer line is cut, with an ellipsis."""


class EditDiff(msgspec.Struct, rename="camel", frozen=True):
    """A diff for people. `first_changed_line` counts from 1 in the new text."""

    diff: str
    first_changed_line: int


class _Hunk(msgspec.Struct, frozen=True):
    """Lines that are replaced; `first` is the index of the first of `removed` in the old text."""

    first: int
    removed: Sequence[str]
    added: Sequence[str]

    @property
    def end(self) -> int:
        """Index of the line after the last removed one."""
        return self.first + len(self.removed)


def diff_of_changes(
    text: str,
    changes: Sequence[Substitution],
    *,
    context_lines: int = _CONTEXT_LINES,
    line_characters: int | None = MAX_LINE_CHARACTERS,
) -> EditDiff:
    """The diff of applying changes to a text.

    Args:
        changes: at least one, ordered and without overlap.
        context_lines: lines around a change that are part of the diff.
        line_characters: where longer lines are cut; None cuts none.
    """
    ending = "\r" if "\r" in text and "\n" not in text else "\n"
    lines = split_lines(text, ending)
    hunks = _hunks(lines, changes, ending)
    grown = sum(len(hunk.added) - len(hunk.removed) for hunk in hunks)
    width = len(str(max(len(lines), len(lines) + grown)))
    layout = _Layout(width, context_lines, line_characters)
    return EditDiff("\n".join(layout.render(lines, hunks)), hunks[0].first + 1)


def changed_lines(text: str, changes: Sequence[Substitution]) -> str:
    """The lines that changes made and some around them, as they are in the new text: models quote and copy them."""
    ending = "\r" if "\r" in text and "\n" not in text else "\n"
    lines = split_lines(text, ending)
    rendered = _Layout(0, _AROUND_LINES, _SHOWN_CHARACTERS).render(lines, _hunks(lines, changes, ending))
    kept = list(_without_signs(rendered))
    kept = kept[kept[:1] == [_LEFT_OUT] : len(kept) - (kept[-1:] == [_LEFT_OUT])]
    shown = ["…" if line == _LEFT_OUT else line.partition(" ")[2] for line in kept]
    if len(shown) > 2 * _SHOWN_LINES:
        shown = [*shown[:_SHOWN_LINES], f"… ({len(shown) - 2 * _SHOWN_LINES} more lines)", *shown[-_SHOWN_LINES:]]
    return "\n".join(shown)


def _without_signs(rendered: Iterator[str]) -> Iterator[str]:
    for line in rendered:
        if not line.startswith("-"):
            yield line if line == _LEFT_OUT else line[1:]


def split_lines(text: str, ending: str) -> list[str]:
    """Lines with their endings, as other tools count them: by line feeds, or else by carriage returns."""
    return re.findall(f"[^{ending}]*{ending}|[^{ending}]+", text)


def _hunks(lines: Sequence[str], changes: Sequence[Substitution], ending: str) -> list[_Hunk]:
    """Changes widened to whole lines; those that share a line become one hunk."""
    starts = list(accumulate(map(len, lines), initial=0))
    hunks = []
    group: list[Substitution] = []
    first = end = 0
    for change in changes:
        change_first = min(bisect_right(starts, change.start), len(lines)) - 1 if lines else 0
        if group and change_first >= end:
            hunks.append(_hunk(lines[first:end], first, starts[first], group, ending))
            group = []
        first = first if group else change_first
        end = min(bisect_right(starts, change.end), len(lines))
        group.append(change)
    return [*hunks, _hunk(lines[first:end], first, starts[first], group, ending)]


def _hunk(old: Sequence[str], first: int, offset: int, changes: Sequence[Substitution], ending: str) -> _Hunk:
    """The hunk of changes within the lines `old`, which begin at `offset`, without the lines that stay the same."""
    text = "".join(old)
    pieces: list[str] = []
    copied = 0
    for change in changes:
        pieces += (text[copied : change.start - offset], change.new)
        copied = change.end - offset
    new = split_lines("".join([*pieces, text[copied:]]), ending)
    before = _equal_lines(old, new)
    after = _equal_lines(old[before:][::-1], new[before:][::-1])
    return _Hunk(first + before, old[before : len(old) - after], new[before : len(new) - after])


def _equal_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class _Layout(msgspec.Struct, frozen=True):
    """How a diff is written. `width`: of the numbers."""

    width: int
    context_lines: int
    line_characters: int | None

    def render(self, lines: Sequence[str], hunks: Sequence[_Hunk]) -> Iterator[str]:
        shift = position = 0
        for hunk in hunks:
            yield from self._context(lines, position, hunk.first, head=self.context_lines if position else 0)
            yield from self._numbered("-", hunk.removed, hunk.first)
            yield from self._numbered("+", hunk.added, hunk.first + shift)
            shift += len(hunk.added) - len(hunk.removed)
            position = hunk.end
        yield from self._context(lines, position, len(lines), head=self.context_lines, tail=0)

    def _context(
        self, lines: Sequence[str], start: int, end: int, *, head: int, tail: int | None = None
    ) -> Iterator[str]:
        """Unchanged lines: the first `head` and the last `tail` of them, with a mark for those left out between."""
        tail = self.context_lines if tail is None else tail
        if end - start <= head + tail:
            yield from self._numbered(" ", lines[start:end], start)
            return
        yield from self._numbered(" ", lines[start : start + head], start)
        yield f" {'':{self.width}} ..."
        yield from self._numbered(" ", lines[end - tail : end], end - tail)

    def _numbered(self, sign: str, lines: Sequence[str], first: int) -> Iterator[str]:
        for number, line in enumerate(lines, start=first + 1):
            text = line.rstrip("\r\n")
            is_cut = self.line_characters is not None and len(text) > self.line_characters
            yield f"{sign}{number:>{self.width}} {text[: self.line_characters]}{'…' if is_cut else ''}"
