"""Reads patches as models of OpenAI write them, and makes replacements of their hunks that fit in one place only.

Source of the format: the instructions for `apply_patch` that OpenAI publishes with the prompting guides of GPT-4.1 and
GPT-5. Models wrap a patch in a here-document or a block of code now and then, and forget the first or the last line.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

import msgspec

from kaa.builtin.replacement import EditError, Replacement

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_ADD: Final = "*** Add File: "
_DELETE: Final = "*** Delete File: "
_UPDATE: Final = "*** Update File: "
_MOVE: Final = "*** Move to: "
_END_OF_FILE: Final = "*** End of File"
_HEADINGS: Final = (_ADD, _DELETE, _UPDATE)


class Hunk(msgspec.Struct, frozen=True):
    """Lines that become others.

    Attributes:
        anchors: lines above the change, each below the one before it, such as the heads of a class and a method.
        lines: pairs of a sign and a text: ` ` stays, `-` goes, `+` comes.
        at_end: the lines are the last of the file.
    """

    anchors: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        """The lines as they are in the file."""
        return [text for sign, text in self.lines if sign != "+"]


class AddFile(msgspec.Struct, frozen=True):
    """A new file."""

    path: str
    content: str


class DeleteFile(msgspec.Struct, frozen=True):
    """A file that goes."""

    path: str


class UpdateFile(msgspec.Struct, frozen=True):
    """A file that changes. `target`: its new path; empty if it stays where it is."""

    path: str
    hunks: tuple[Hunk, ...]
    target: str = ""


FileChange: TypeAlias = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """The changes in a patch, in its order.

    Raises:
        EditError: it is none; the message says which line cannot be read.
    """
    lines = _inside(text.replace("\r\n", "\n").split("\n"))
    changes: list[FileChange] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            position += 1
            continue
        heading = next((one for one in _HEADINGS if line.startswith(one)), None)
        if heading is None:
            raise EditError(f"line {position + 1} of the patch begins no file: {line[:80]!r}. Use {_UPDATE}PATH.")
        path = line.removeprefix(heading).strip()
        if not path:
            raise EditError(f"line {position + 1} of the patch names no file.")
        end = next((at for at in range(position + 1, len(lines)) if lines[at].startswith(_HEADINGS)), len(lines))
        changes.append(_change(heading, path, lines[position + 1 : end]))
        position = end
    if not changes:
        raise EditError(f"the patch is empty. It begins with {_BEGIN}, and each file with {_UPDATE}PATH.")
    return tuple(changes)


def _inside(lines: list[str]) -> list[str]:
    """What is between the first and the last line of the patch."""
    begin = next((at + 1 for at, line in enumerate(lines) if line.strip() == _BEGIN), None)
    if begin is None:
        begin = next((at for at, line in enumerate(lines) if line.startswith(_HEADINGS)), len(lines))
    end = next((at for at in range(begin, len(lines)) if lines[at].strip() == _END), len(lines))
    return lines[begin:end]


def _change(heading: str, path: str, lines: Sequence[str]) -> FileChange:
    if heading == _DELETE:
        return DeleteFile(path)
    if heading == _ADD:
        while lines and not lines[-1].strip():
            lines = lines[:-1]  # of the patch, not of the file
        return AddFile(path, "".join(f"{line.removeprefix('+')}\n" for line in lines))
    target = ""
    if lines and lines[0].startswith(_MOVE):
        target, lines = lines[0].removeprefix(_MOVE).strip(), lines[1:]
    hunks = tuple(_hunks(path, lines))
    if not hunks and not target:
        raise EditError(f"the patch changes nothing in {path}.")
    return UpdateFile(path, hunks, target)


def _hunks(path: str, lines: Sequence[str]) -> Iterator[Hunk]:
    anchors: list[str] = []
    body: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if body:
                yield _hunk(path, anchors, body)
                anchors, body = [], []
            if anchor := line[2:].strip().removesuffix("@@").strip():
                anchors.append(anchor)
        elif line.strip() == _END_OF_FILE:
            yield _hunk(path, anchors, body, at_end=True)
            anchors, body = [], []
        else:
            body.append(line)
    if body:
        yield _hunk(path, anchors, body)


def _hunk(path: str, anchors: Sequence[str], body: Sequence[str], *, at_end: bool = False) -> Hunk:
    # An empty line is one of context that lost its blank.
    lines = tuple((line[:1] or " ", line[1:]) for line in body)
    if wrong := next((line for line in lines if line[0] not in " +-"), None):
        raise EditError(
            f"a line of the patch for {path} begins with neither a blank, + nor -: {''.join(wrong)[:80]!r}."
        )
    if all(sign == " " for sign, _ in lines):
        raise EditError(f"a hunk of the patch for {path} changes nothing: mark lines with + and -.")
    # `@@ -12,3 +12,4 @@` counts lines as another tool does, and models count wrongly.
    named = tuple(anchor for anchor in anchors if not anchor.startswith(("-", "+")))
    return Hunk(named, lines, at_end)


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
