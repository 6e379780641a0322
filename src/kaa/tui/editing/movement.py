"""Where the caret goes: graphemes, words, lines and single characters as offsets into a text.

All are functions of the text and an offset. Lone halves of surrogate pairs stand for pastes (`pastes.py`): each is a
grapheme and a word of its own.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from kaa.tui.width import graphemes, is_narrow

Movement: TypeAlias = Callable[[str, int], int]

# Punctuation and symbols of ASCII (not `_`), Latin-1, general punctuation, arrows to symbols, CJK and full-width
# punctuation, emoji. What is none of these and no space belongs to words: so do the vowel signs and joiners of all
# scripts, which `\w` leaves out.
_SYMBOLS = (
    r"!-/:-@\[-^`{-~\u00a1-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2010-\u205e\u2190-\u2bff"
    r"\u3001-\u3003\u3008-\u3020\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65\U0001f000-\U0001faff"
)
_PASTES = r"\ud800-\udfff"
# Joiners, selectors and combining marks of symbols stay with them.
_WORD_PATTERN = (
    rf"[{_PASTES}]|[{_SYMBOLS}][{_SYMBOLS}\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f]*|[^\s{_SYMBOLS}{_PASTES}]+"
)
# Words of a line may be long (base64), but those who move by words want to see where they go.
_LOOK_BACK = 4096
# No grapheme of a living script is longer.
_LONGEST_GRAPHEME = 64


def left(text: str, at: int) -> int:
    """The start of the grapheme before `at`."""
    if at <= 1 or is_narrow(text[at - 1]):
        return max(0, at - 1)
    start = at - 1
    while start > 0 and at - start < _LONGEST_GRAPHEME and not text[start].isascii():
        start -= 1
    *_, last = graphemes(text[start:at])
    return at - len(last)


def right(text: str, at: int) -> int:
    """The end of the grapheme at `at`."""
    if at >= len(text):
        return len(text)
    if text[at] == "\n" or is_narrow(text[at : at + 2].rstrip("\n")):
        return at + 1
    return at + max(1, len(next(iter(graphemes(text[at : at + _LONGEST_GRAPHEME])), "")))


def word_left(text: str, at: int) -> int:
    """The start of the word before `at`; from the start of a line, the end of the one before."""
    since = max(line_start(text, at), at - _LOOK_BACK)
    if since == at:
        return max(0, at - 1)
    start = since
    for match in _word().finditer(text, since, at):
        start = match.start()
    return start


def word_right(text: str, at: int) -> int:
    """The end of the word at or after `at`; from the end of a line, the start of the next."""
    end = line_end(text, at)
    if end == at:
        return min(len(text), at + 1)
    match = _word().search(text, at, end)
    return match.end() if match else end


def line_start(text: str, at: int) -> int:
    """The start of the line that `at` is in."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The end of the line that `at` is in, before its line feed."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def text_start(_text: str, _at: int) -> int:
    """The start of the text."""
    return 0


def text_end(text: str, _at: int) -> int:
    """The end of the text."""
    return len(text)


def next_occurrence(text: str, at: int, character: str) -> int | None:
    """Where `character` is next behind the grapheme at `at`."""
    found = text.find(character, right(text, at))
    return None if found < 0 else found


def previous_occurrence(text: str, at: int, character: str) -> int | None:
    """Where `character` is last before `at`."""
    found = text.rfind(character, 0, at)
    return None if found < 0 else found


@cache
def _word() -> re.Pattern[str]:
    # Lazily: compiling it takes longer than the rest of the module, and the first frame has no words.
    return re.compile(_WORD_PATTERN)
