"""What vi's commands do to a buffer, and the text objects that they do it to."""

import re
from typing import NamedTuple

from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.movement import line_end, line_start
from kaa.tui.vim.motions import Span, first_word_of_line, last_of_line


class _Register(NamedTuple):
    text: str
    linewise: bool


class Edits:
    """Changes of a buffer, and the register that they cut into and put from."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._register = _Register("", linewise=False)

    def place(self, at: int) -> None:
        """Put the caret on a character: unless one inserts, there is none behind the last one of a line."""
        self._buffer.move(min(at, last_of_line(self._buffer.text, at)))

    def yank(self, span: Span) -> tuple[int, int]:
        """Take a span into the register; where it starts and ends, lines without their last line feed."""
        text = self._buffer.text
        start, end = (line_start(text, span.start), line_end(text, span.end)) if span.linewise else span[:2]
        self._register = _Register(text[start:end], span.linewise)
        return start, end

    def delete(self, span: Span) -> None:
        """Cut a span."""
        start, end = self.yank(span)
        if not span.linewise:
            self._buffer.replace(start, end, "")
            self.place(start)
            return
        # A line feed goes with the lines: the one behind them or, at the end, the one before.
        start, end = (start, end + 1) if end < len(self._buffer.text) else (max(0, start - 1), end)
        self._buffer.replace(start, end, "")
        self._buffer.move(first_word_of_line(self._buffer.text, start))

    def put(self, count: int, *, after: bool) -> None:
        """Put what is in the register behind the character or line of the caret, or before it."""
        content, linewise = self._register
        if not content and not linewise:
            return
        text, at = self._buffer.text, self._buffer.caret
        if linewise:
            content = "\n".join([content] * count)
            edge = line_end(text, at) if after else line_start(text, at)
            self._buffer.replace(edge, edge, f"\n{content}" if after else f"{content}\n")
            self._buffer.move(first_word_of_line(self._buffer.text, edge + after))
        else:
            edge = min(movement.right(text, at), line_end(text, at)) if after else at
            self._buffer.replace(edge, edge, content * count)
            self.place(movement.left(self._buffer.text, self._buffer.caret))

    def exchange(self, span: Span) -> None:
        """Put what is in the register in the place of a span, which is in the register then."""
        register = self._register
        start, end = self.yank(span)
        self._buffer.replace(start, end, register.text)
        self.place(start)

    def replace_characters(self, count: int, replacement: str) -> None:
        """Replace each of `count` characters of the line; nothing happens if there are fewer."""
        text = self._buffer.text
        start = end = self._buffer.caret
        for _ in range(count):
            if end >= line_end(text, start):
                return
            end = movement.right(text, end)
        self._buffer.replace(start, end, replacement * count)
        self.place(movement.left(self._buffer.text, self._buffer.caret))

    def toggle_case(self, start: int, end: int) -> None:
        """Make small letters large, and large ones small."""
        self._buffer.replace(start, end, self._buffer.text[start:end].swapcase())

    def join_lines(self, count: int) -> None:
        """Make one line of `count`, at least two; a space takes the place of each line feed and of the indentation."""
        steps = self._buffer.steps
        for _ in range(max(1, count - 1)):
            text = self._buffer.text
            end = line_end(text, self._buffer.caret)
            if end == len(text):
                break
            rest = text[end + 1 :]
            behind = end + 1 + len(rest) - len(rest.lstrip(" \t"))
            is_joined = text[end - 1 : end].isspace() or text[behind : behind + 1] in ("", "\n", ")")
            self._buffer.replace(end, behind, "" if is_joined else " ", caret=end)
        self._buffer.join_steps(steps)


_WORDS = {"w": re.compile(r"\w+|[^\w\s]+|[^\S\n]+"), "W": re.compile(r"\S+|[^\S\n]+")}
_BRACKETS = {name: pair for pair in ("()", "[]", "{}", "<>") for name in pair} | {"b": "()", "B": "{}"}
_QUOTES = "\"'`"


def text_object(text: str, at: int, name: str, *, around: bool) -> Span | None:
    """The object called `name` at or around `at`; None if there is none.

    Args:
        text: the text.
        at: offset of a character.
        name: what follows `i` and `a` in vi.
        around: with what surrounds it: the blanks behind (or before) a word, quotation marks, brackets.
    """
    if name in _WORDS:
        return _word(text, at, name, around=around)
    if name in _QUOTES:
        return _quotation(text, at, name, around=around)
    if name in _BRACKETS:
        return _bracketed(text, at, _BRACKETS[name], around=around)
    return None


def _word(text: str, at: int, name: str, *, around: bool) -> Span | None:
    pieces = [match.span() for match in _WORDS[name].finditer(text, line_start(text, at), line_end(text, at))]
    index = next((index for index, (_, end) in enumerate(pieces) if at < end), None)
    if index is None:
        return None
    start, end = pieces[index]
    if around:
        if index + 1 < len(pieces) and (text[start].isspace() or text[end].isspace()):
            end = pieces[index + 1][1]
        elif index and text[start - 1].isspace():
            start = pieces[index - 1][0]
    return Span(start, end)


def _quotation(text: str, at: int, mark: str, *, around: bool) -> Span | None:
    start, end = line_start(text, at), line_end(text, at)
    marks = [place for place in range(start, end) if text[place] == mark and text[place - 1 : place] != "\\"]
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        if at <= last:
            return Span(first, last + 1) if around else Span(first + 1, last)
    return None


def _bracketed(text: str, at: int, pair: str, *, around: bool) -> Span | None:
    first = _unmatched(text, at, pair[0], pair[1], -1)
    last = None if first is None else _unmatched(text, max(at, first + 1), pair[1], pair[0], 1)
    if first is None or last is None:
        return None
    return Span(first, last + 1) if around else Span(first + 1, last)


def _unmatched(text: str, at: int, wanted: str, other: str, step: int) -> int | None:
    depth = 0
    place = at
    while 0 <= place < len(text):
        character = text[place]
        if character == wanted:
            if not depth:
                return place
            depth -= 1
        elif character == other and place != at:
            depth += 1
        place += step
    return None
