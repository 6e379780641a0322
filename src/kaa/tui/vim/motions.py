"""Where vi's motions lead: functions of a text, an offset and a count. Offsets are of characters, not between them."""

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kaa.tui.editing import movement
from kaa.tui.editing.movement import line_end, line_start


class Span(NamedTuple):
    """What an operator works on. With `linewise` it is the lines that this touches."""

    start: int
    end: int
    linewise: bool = False


class Motion(NamedTuple):
    """A motion.

    Attributes:
        go: gives the offset that it leads to; None if it leads nowhere.
        inclusive: the character that it leads to belongs to what is operated on.
        linewise: whole lines are operated on.
    """

    go: Callable[[str, int, int], int | None]
    inclusive: bool = False
    linewise: bool = False

    def span(self, text: str, at: int, count: int) -> Span | None:
        """What an operator works on that is given with this motion."""
        to = self.go(text, at, count)
        if to is None:
            return None
        start, end = min(at, to), max(at, to)
        if self.inclusive:
            end = min(movement.right(text, end), line_end(text, end))
        return Span(start, end, self.linewise)


_Step: TypeAlias = Callable[[str, int], int]


def last_of_line(text: str, at: int) -> int:
    """The last character of the line; the line's end if it is empty."""
    start, end = line_start(text, at), line_end(text, at)
    return max(start, movement.left(text, end)) if end > start else start


def first_word_of_line(text: str, at: int) -> int:
    """The first character of the line that is no blank."""
    start, end = line_start(text, at), line_end(text, at)
    blank = len(text[start:end]) - len(text[start:end].lstrip())
    return min(start + blank, last_of_line(text, at))


def lines_below(text: str, at: int, count: int) -> int | None:
    """The same column in the line `count` lines below, or above if it is negative."""
    column = at - line_start(text, at)
    for _ in range(abs(count)):
        edge = line_end(text, at) + 1 if count > 0 else line_start(text, at) - 1
        if not 0 <= edge <= len(text):
            return None
        at = line_start(text, edge)
    return min(at + column, last_of_line(text, at))


def line_number(text: str, number: int) -> int:
    """The first word of a line, counted from 1; of the last one if there are fewer."""
    at = 0
    for _ in range(number - 1):
        end = line_end(text, at)
        if end == len(text):
            break
        at = end + 1
    return first_word_of_line(text, at)


class Find(NamedTuple):
    """What `f`, `F`, `t` and `T` look for."""

    character: str
    forward: bool
    till: bool

    def reversed(self) -> "Find":
        """The same, the other way."""
        return self._replace(forward=not self.forward)

    def motion(self, *, again: bool = False) -> Motion:
        """The motion there. `again`: it was looked for already."""
        return Motion(lambda text, at, count: find(text, at, count, self, again=again), inclusive=self.forward)


def find(text: str, at: int, count: int, wanted: Find, *, again: bool = False) -> int | None:
    """The `count`th occurrence of a character in the line, or what is just before it on the way there.

    Args:
        text: the text.
        at: where to start.
        count: which one.
        wanted: what is looked for, and where.
        again: it was looked for already; if it stands right there, the next one is meant.
    """
    character, forward, till = wanted
    start, end = line_start(text, at), line_end(text, at)
    to: int = at
    if till and again:
        beside = movement.right(text, at) if forward else movement.left(text, at)
        to = beside if text[beside : beside + 1] == character else at
    for _ in range(count):
        to = text.find(character, to + 1, end) if forward else text.rfind(character, start, to)
        if to < 0:
            return None
    if till:
        return movement.left(text, to) if forward else movement.right(text, to)
    return to


def _kind(character: str, *, big: bool) -> int:
    if character.isspace():
        return 0
    return 1 if big or character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M" else 2


def _is_empty_line(text: str, at: int) -> bool:
    return text[at : at + 1] == "\n" and text[at - 1 : at] in ("", "\n")


def _word_forward(text: str, at: int, *, big: bool) -> int:
    length = len(text)
    if at < length and (kind := _kind(text[at], big=big)):
        while at < length and _kind(text[at], big=big) == kind:
            at += 1
    elif at < length:
        at += 1
    while at < length and text[at].isspace() and not _is_empty_line(text, at):
        at += 1
    return at


def _word_backward(text: str, at: int, *, big: bool) -> int:
    at -= 1
    while at > 0 and text[at].isspace() and not _is_empty_line(text, at):
        at -= 1
    if at <= 0 or text[at].isspace():
        return max(0, at)
    kind = _kind(text[at], big=big)
    while at > 0 and _kind(text[at - 1], big=big) == kind:
        at -= 1
    return at


def _word_end(text: str, at: int, *, big: bool) -> int:
    at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text):
        return max(0, movement.left(text, len(text)))
    kind = _kind(text[at], big=big)
    while at + 1 < len(text) and _kind(text[at + 1], big=big) == kind:
        at += 1
    return at


def _repeated(step: _Step) -> Callable[[str, int, int], int]:
    def go(text: str, at: int, count: int) -> int:
        for _ in range(count):
            before, at = at, step(text, at)
            if at == before:
                break
        return at

    return go


def _left(text: str, at: int) -> int:
    return max(line_start(text, at), movement.left(text, at))


def _right(text: str, at: int) -> int:
    return min(line_end(text, at), movement.right(text, at))


def _end_of_line(text: str, at: int, count: int) -> int | None:
    below = lines_below(text, at, count - 1)
    return None if below is None else last_of_line(text, below)


MOTIONS: dict[str, Motion] = {
    "h": Motion(_repeated(_left)),
    "l": Motion(_repeated(_right)),
    "j": Motion(lines_below, linewise=True),
    "k": Motion(lambda text, at, count: lines_below(text, at, -count), linewise=True),
    "w": Motion(_repeated(lambda text, at: _word_forward(text, at, big=False))),
    "W": Motion(_repeated(lambda text, at: _word_forward(text, at, big=True))),
    "b": Motion(_repeated(lambda text, at: _word_backward(text, at, big=False))),
    "B": Motion(_repeated(lambda text, at: _word_backward(text, at, big=True))),
    "e": Motion(_repeated(lambda text, at: _word_end(text, at, big=False)), inclusive=True),
    "E": Motion(_repeated(lambda text, at: _word_end(text, at, big=True)), inclusive=True),
    " ": Motion(_repeated(_right)),
    "0": Motion(lambda text, at, _count: line_start(text, at)),
    "^": Motion(lambda text, at, _count: first_word_of_line(text, at)),
    "$": Motion(_end_of_line, inclusive=True),
}

_TRAILING_LINES = re.compile(r"\n\s*\Z")


def word_span(text: str, at: int, count: int, *, big: bool) -> Span:
    """What `w` is operated on: as the motion goes, but not beyond the line that its last word is in."""
    to = MOTIONS["W" if big else "w"].go(text, at, count) or at
    within = _TRAILING_LINES.sub("", text[at:to])
    return Span(at, at + len(within) if within else to)
