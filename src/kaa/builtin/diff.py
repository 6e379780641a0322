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
_MAX_LINE_CHARACTERS = 1000


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


def diff_of_changes(text: str, changes: Sequence[Substitution]) -> EditDiff:
    """The diff of applying `changes`, at least one, ordered and without overlap, to `text`."""
    ending = "\r" if "\r" in text and "\n" not in text else "\n"
    lines = _split_lines(text, ending)
    hunks = _hunks(lines, changes, ending)
    grown = sum(len(hunk.added) - len(hunk.removed) for hunk in hunks)
    width = len(str(max(len(lines), len(lines) + grown)))
    return EditDiff("\n".join(_render(lines, hunks, width)), hunks[0].first + 1)


def _split_lines(text: str, ending: str) -> list[str]:
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
    new = _split_lines("".join([*pieces, text[copied:]]), ending)
    before = _equal_lines(old, new)
    after = _equal_lines(old[before:][::-1], new[before:][::-1])
    return _Hunk(first + before, old[before : len(old) - after], new[before : len(new) - after])


def _equal_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _render(lines: Sequence[str], hunks: Sequence[_Hunk], width: int) -> Iterator[str]:
    shift = position = 0
    for hunk in hunks:
        yield from _context(lines, position, hunk.first, width, head=_CONTEXT_LINES if position else 0)
        yield from _numbered("-", hunk.removed, hunk.first, width)
        yield from _numbered("+", hunk.added, hunk.first + shift, width)
        shift += len(hunk.added) - len(hunk.removed)
        position = hunk.end
    yield from _context(lines, position, len(lines), width, tail=0)


def _context(
    lines: Sequence[str], start: int, end: int, width: int, *, head: int = _CONTEXT_LINES, tail: int = _CONTEXT_LINES
) -> Iterator[str]:
    """Unchanged lines: the first `head` and the last `tail` of them, with a mark for those left out between."""
    if end - start <= head + tail:
        yield from _numbered(" ", lines[start:end], start, width)
        return
    yield from _numbered(" ", lines[start : start + head], start, width)
    yield f" {'':{width}} ..."
    yield from _numbered(" ", lines[end - tail : end], end - tail, width)


def _numbered(sign: str, lines: Sequence[str], first: int, width: int) -> Iterator[str]:
    for number, line in enumerate(lines, start=first + 1):
        text = line.rstrip("\r\n")
        cut = "…" if len(text) > _MAX_LINE_CHARACTERS else ""
        yield f"{sign}{number:>{width}} {text[:_MAX_LINE_CHARACTERS]}{cut}"
