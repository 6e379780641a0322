"""What to say when quoted text is not in a file: where the most similar lines are, and how they read.

Candidates come from substring searches for the quote's lines and words, which run at C speed, so that a file of
50,000 lines answers as fast as a small one; only a handful of small windows are compared in earnest.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, takewhile

import msgspec

_WORD = re.compile(r"\w{3,}")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MAX_QUOTE_LINES = 100
_MAX_WORDS = 40
_MAX_HITS = 200
_MAX_CANDIDATES = 5
_MAX_TOKENS = 400
_MIN_SIMILARITY = 0.4
_LINES_BEFORE_DIFFERENCE = 2
_MAX_SHOWN_LINES = 12
_MAX_SHOWN_CHARACTERS = 200


class _Window(msgspec.Struct, frozen=True):
    """Lines of the file that a quote may have meant. `first` counts from 0."""

    first: int
    lines: Sequence[str]


def describe_nearest(text: str, quote: str) -> str:
    """Where the most similar text is, as it is in the file: models copy what they are shown, also signs of a diff."""
    lines = _lines(text)
    quoted = _lines(quote.strip("\r\n"))[:_MAX_QUOTE_LINES]
    window = _nearest_window(lines, quoted)
    if window is None:
        return "The file has nothing similar. Read it again and quote its text exactly."
    last = window.first + len(window.lines)
    place = f"line {last}" if len(window.lines) == 1 else f"lines {window.first + 1}-{last}"
    has_tabs = "\t" in "".join(window.lines) and "\t" not in "".join(quoted)
    tabs = " (the file has tabs)" if has_tabs else ""
    blanks = f" It differs only in white space{tabs}." if _differ_in_blanks(window.lines, quoted) else ""
    shown = "\n".join(_around_difference(window, quoted))
    return f"The nearest text is {place}:\n{shown}\nQuote the text of the file exactly.{blanks}"


def _lines(text: str) -> list[str]:
    """Lines as other tools count them, without their endings."""
    if "\n" not in text:
        return text.split("\r")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _nearest_window(lines: Sequence[str], quoted: Sequence[str]) -> _Window | None:
    """The lines most similar to the quote, None if none are similar at all."""
    wanted = _tokens(quoted)
    best, best_similarity = None, _MIN_SIMILARITY
    for first in _candidates(lines, quoted):
        window = _Window(first, lines[first : first + len(quoted)])
        similarity = SequenceMatcher(None, _tokens(window.lines), wanted, autojunk=False).ratio()
        if similarity > best_similarity:
            best, best_similarity = window, similarity
    return best


def _tokens(lines: Iterable[str]) -> list[str]:
    return _TOKEN.findall("\n".join(lines)[: 20 * _MAX_TOKENS])[:_MAX_TOKENS]


def _candidates(lines: Sequence[str], quoted: Sequence[str]) -> list[int]:
    """Where the quote may start: the lines that most of its lines and words speak for, rare ones loudest."""
    text = "\n".join(lines)
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    votes: defaultdict[int, float] = defaultdict(float)
    for index, needle in _needles(quoted):
        hits = _hits(text, needle)
        for hit in hits:
            line = bisect_right(starts, hit) - 1
            votes[max(line - index, 0)] += len(needle) / len(hits)
    return sorted(votes, key=lambda first: votes[first], reverse=True)[:_MAX_CANDIDATES]


def _needles(quoted: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Pieces of the quote to look for, with the index of the line they are in: whole lines and the longest words."""
    words = {}
    for index, line in enumerate(quoted):
        if len(stripped := line.strip()) > 2:
            yield index, stripped
        words.update({word: index for word in _WORD.findall(line) if word not in words})
    for word in sorted(words, key=len, reverse=True)[:_MAX_WORDS]:
        yield words[word], word


def _hits(text: str, needle: str) -> list[int]:
    """Where the needle is, or nothing if it is everywhere and so says nothing."""
    hits: list[int] = []
    position = text.find(needle)
    while position >= 0:
        if len(hits) == _MAX_HITS:
            return []
        hits.append(position)
        position = text.find(needle, position + len(needle))
    return hits


def _around_difference(window: _Window, quoted: Sequence[str]) -> list[str]:
    """Lines of the file as they are, from just before the first one that differs from the quote."""
    pairs = zip(window.lines, quoted, strict=False)
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    begin = max(equal - _LINES_BEFORE_DIFFERENCE, 0) if len(window.lines) > _MAX_SHOWN_LINES else 0
    shown = [line[:_MAX_SHOWN_CHARACTERS] for line in window.lines[begin : begin + _MAX_SHOWN_LINES]]
    return [*(["…"] if begin else []), *shown, *(["…"] if begin + len(shown) < len(window.lines) else [])]


def _differ_in_blanks(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Whether only white space differs, which must be made visible then."""
    return [line.split() for line in removed] == [line.split() for line in added]
