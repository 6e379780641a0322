"""What vi calls text objects: words, quotations and brackets around an offset, with or without what surrounds them."""

import re

from kaa.tui.editing.movement import line_end, line_start
from kaa.tui.vim.motions import Span

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
