"""Finds the lines that hunks of a patch are about, and makes replacements of them that fit in one place only."""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Final

import msgspec

from kaa.builtin.patch_text import Hunk
from kaa.builtin.replacement import EditError, Replacement

# As a patch has them: form feeds and the separators of Unicode are characters like any other.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# From strict to tolerant: how the lines of a hunk may differ from those of the file.
_WAYS: Final[tuple[Callable[[str], str], ...]] = (str, str.rstrip, str.strip)


class _Span(msgspec.Struct, frozen=True):
    """Lines `[first, end)` of the file that become others."""

    first: int
    end: int
    new: tuple[str, ...]


class _Region(msgspec.Struct, frozen=True):
    """Lines `[first, end)` of the file that occur in it once, and the spans within."""

    first: int
    end: int
    spans: tuple[_Span, ...]


def replacements(text: str, hunks: Sequence[Hunk]) -> tuple[Replacement, ...]:
    """What to replace in a text, as the tool `edit` takes it.

    Args:
        text: the whole file, not empty.
        hunks: of one file.

    Raises:
        EditError: lines of a hunk are not in the file, or two hunks are about the same lines.
    """
    lines = _LINE.findall(text)
    bare = [line.rstrip("\r\n") for line in lines]
    spans: list[_Span] = []
    for hunk in hunks:
        spans.append(_located(bare, lines, hunk, spans[-1].end if spans else 0))
    spans.sort(key=lambda span: (span.first, span.end))
    if any(after.first < before.end for before, after in pairwise(spans)):
        raise EditError("two hunks of the patch are about the same lines. Merge them into one.")
    starts = list(accumulate(map(len, lines), initial=0))
    regions: list[_Region] = []
    for span in spans:
        region = _unique(text, starts, span)
        while regions and region.first <= regions[-1].end:
            before = regions.pop()
            region = _Region(
                min(before.first, region.first), max(before.end, region.end), (*before.spans, *region.spans)
            )
        regions.append(region)
    return tuple(Replacement(text[starts[one.first] : starts[one.end]], _renewed(lines, one)) for one in regions)


def _located(bare: Sequence[str], lines: Sequence[str], hunk: Hunk, position: int) -> _Span:
    for anchor in hunk.anchors:
        position = _line_after(bare, anchor, position)
    wanted = hunk.lines
    if not hunk.old:
        first: int | None = position if hunk.anchors else len(bare)
    else:
        first = _find(bare, hunk.old, position, at_end=hunk.at_end)
    if first is None and len(wanted) > 1 and wanted[-1] == (" ", ""):
        wanted = wanted[:-1]  # the empty line belongs to the patch and not to the file
        first = _find(bare, Hunk((), wanted).old, position, at_end=hunk.at_end)
    if first is None:
        shown = "\n".join(hunk.old[:20])
        raise EditError(f"the file has no such lines:\n{shown}\nRead the file, and repeat its lines as they are.")
    new: list[str] = []
    at = first
    for sign, line in wanted:
        if sign == "+":
            new.append(f"{line}\n")
            continue
        if sign == " ":
            new.append(lines[at])  # context stays as it is in the file, however loosely it was quoted
        at += 1
    return _Span(first, at, tuple(new))


def _line_after(bare: Sequence[str], anchor: str, position: int) -> int:
    for way in _WAYS:
        found = next((at for at in range(position, len(bare)) if way(bare[at]) == way(anchor)), None)
        if found is not None:
            return found + 1
    raise EditError(f"the file has no line {anchor[:120]!r}, which is behind @@. Use a line as it is in the file.")


def _find(bare: Sequence[str], old: Sequence[str], position: int, *, at_end: bool) -> int | None:
    """Where the lines are: behind the position if they are there, or else before it."""
    last = len(bare) - len(old)
    for way in _WAYS:
        wanted = [way(line) for line in old]
        places = [at for at in range(last + 1) if way(bare[at]) == wanted[0]]
        found = [at for at in places if [way(line) for line in bare[at : at + len(old)]] == wanted]
        if at_end and last in found:
            return last
        if found:
            return next((at for at in found if at >= position), found[0])
    return None


def _unique(text: str, starts: Sequence[int], span: _Span) -> _Region:
    """A span with as many lines around it as it takes."""
    first, end, step = span.first, span.end, 1
    while not _occurs_once(text, text[starts[first] : starts[end]]) and (first, end) != (0, len(starts) - 1):
        first, end, step = max(0, first - step), min(len(starts) - 1, end + step), step * 2
    return _Region(first, end, (span,))


def _occurs_once(text: str, part: str) -> bool:
    return bool(part) and text.find(part, text.find(part) + 1) < 0


def _renewed(lines: Sequence[str], region: _Region) -> str:
    pieces: list[str] = []
    at = region.first
    for span in region.spans:
        pieces += [*lines[at : span.first], *span.new]
        at = span.end
    pieces += lines[at : region.end]
    if region.end == len(lines) and not lines[-1].endswith(("\n", "\r")):  # the file still ends without a line break
        pieces = [*pieces[:-1], *(piece.removesuffix("\n") for piece in pieces[-1:])]
    ended = [piece if piece.endswith(("\n", "\r")) else f"{piece}\n" for piece in pieces[:-1]]
    return "".join([*ended, *pieces[-1:]])
