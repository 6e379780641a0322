"""Reads diffs: those that kaa's and pi's edits make (`+NN text`), and unified ones."""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

Sign: TypeAlias = Literal["+", "-", " ", ""]

# A sign, the line's number padded to the left, a space, and the line. Left out lines have three dots and no number.
_NUMBERED = re.compile(r"([-+ ])( *)(\d*) (.*)")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*")
_HUNK_LINE = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)


class DiffLine(NamedTuple):
    """A line of a diff.

    Attributes:
        sign: what happened to it; empty for what is said about the diff.
        number: its number, in the old text if it was removed, else in the new one; None if there is none.
        text: the line, without the sign.
    """

    sign: Sign
    number: int | None
    text: str


def read_diff(diff: str) -> Iterator[DiffLine]:
    """The lines of a diff, one by one."""
    lines = diff.removesuffix("\n").split("\n") if diff else []
    return _unified(lines) if _HUNK_LINE.search(diff) else map(_numbered, lines)


def _numbered(line: str) -> DiffLine:
    match = _NUMBERED.fullmatch(line)
    if match is None or (not match[3] and match[4] != "..."):
        return DiffLine("", None, line)
    if not match[3]:
        return DiffLine("", None, match[4])
    return DiffLine(_sign(match[1]), int(match[3]), match[4])


def _unified(lines: Iterable[str]) -> Iterator[DiffLine]:
    old = new = 0
    in_hunk = False
    for line in lines:
        hunk = _HUNK.fullmatch(line)
        if hunk:
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            yield DiffLine("", None, line)
        elif not in_hunk or line[:1] not in ("+", "-", " ", ""):
            # Names of files, modes, "\ No newline at end of file".
            in_hunk = in_hunk and line.startswith("\\")
            yield DiffLine("", None, line)
        else:
            sign = _sign(line[:1])
            yield DiffLine(sign, old if sign == "-" else new, line[1:])
            old += sign != "+"
            new += sign != "-"


def _sign(character: str) -> Sign:
    match character:
        case "+":
            return "+"
        case "-":
            return "-"
    return " "
