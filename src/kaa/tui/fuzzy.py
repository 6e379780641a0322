"""Finds what somebody means by a few letters: among a hundred thousand paths, or in a list to choose from.

A text matches if it has every word of the query: as it stands or, failing that, its letters in order. Upper and lower
case are the same. Better are, in this order: a match at the start of the text or of a path's last part, at the start of
any word, anywhere, and letters in order; among equals, shorter texts.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import TypeVar

_Item = TypeVar("_Item")

# How many matches of a kind are compared with each other; shorter paths come first, so the best are among them.
_POOL = 400
# How many paths that match the rarest word are looked at for the others.
_LOOKED_AT = 5_000

# How good a match is.
_WHOLE_PART = 100.0  # but for an extension
_PART_START = 80.0
_WORD_START = 60.0
_ANYWHERE = 50.0
_ELSEWHERE_WORD_START = 40.0  # in a directory that the path leads through
_ELSEWHERE = 35.0
_IN_ORDER = 30.0


class FuzzyIndex:
    """Paths to be searched, with `/` between their parts and, for directories, at their end.

    Searching runs the regular expressions of C over all paths at once. To build it takes some 0.1 s for 100,000 paths:
    that is for a thread in the background.

    Args:
        paths: in any order.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths, key=len)
        # A slash before each path: what follows a slash begins a part. Line feeds in names cannot be told from the
        # separator, so they are something else here.
        lines = ["/" + path for path in self._paths]
        text = "\n".join(lines).lower()
        if text.count("\n") != len(lines) - 1:
            text = "\n".join(line.replace("\n", " ").lower() for line in lines)
        self._text = f"\n{text}\n" if lines else "\n"
        self._starts = array(
            "L", accumulate(map(len, self._text[1:-1].split("\n")), lambda at, n: at + n + 1, initial=1)
        )
        # All paths with the letters of a word in order.
        self._narrowed: tuple[str, Sequence[int]] = ("", ())

    def __len__(self) -> int:
        """How many paths there are."""
        return len(self._paths)

    def search(self, query: str, limit: int = 20) -> list[str]:
        """The best matches, the best first; for an empty query the shortest paths.

        Args:
            query: words, separated by blanks.
            limit: how many there are at most.
        """
        words = query.lower().split()
        if not words:
            return self._paths[:limit]
        rarest = min(words, key=self._text.count) if len(words) > 1 else words[0]
        conditions = [re.compile(_in_order(word)) for word in words]
        found: dict[int, float] = {}
        for numbers in self._by_kind(rarest):
            lines = ((number, self._line(number)) for number in islice(numbers, _LOOKED_AT) if number not in found)
            fitting = (line for line in lines if all(condition.search(f"\n{line[1]}") for condition in conditions))
            for number, line in islice(fitting, max(_POOL, limit)):
                found[number] = sum(_score(word, line) for word in words)
            if len(found) >= limit:
                break
        best = sorted(found, key=lambda number: (-found[number], number))
        return [self._paths[number] for number in best[:limit]]

    def _by_kind(self, word: str) -> Iterator[Iterator[int]]:
        """Numbers of the paths that may match, a kind of match after the other, the better kinds first."""
        narrow, numbers = self._narrowed
        if narrow and word.startswith(narrow):
            yield iter(numbers)
            return
        if word in self._text:
            literal = re.escape(word)
            yield self._lines_with(rf"/{literal}[^/\n]*/?(?=\n)")
            yield self._lines_with(rf"{literal}[^/\n]*/?(?=\n)")
            yield self._lines_with(rf"{literal}[^\n]*")
        yield self._lines_in_order(word)

    def _lines_in_order(self, word: str) -> Iterator[int]:
        """What has the letters of a word in order. If it is not much, those who type on need not look elsewhere."""
        numbers = []
        for number in self._lines_with(_in_order(word)):
            numbers.append(number)
            yield number
        if len(numbers) <= _POOL:
            self._narrowed = word, numbers

    def _lines_with(self, pattern: str) -> Iterator[int]:
        """Numbers of the paths with a match, which may not go beyond the line."""
        for match in re.finditer(pattern, self._text):
            yield bisect_right(self._starts, match.end() - 1) - 1

    def _line(self, number: int) -> str:
        return self._text[self._starts[number] : self._starts[number + 1] - 1]


def rank(query: str, items: Sequence[_Item], key: Callable[[_Item], str] = str) -> list[_Item]:
    """Those of a few hundred items that match, the best first; equals, and all for an empty query, in their order.

    Args:
        query: words, separated by blanks.
        items: what is searched.
        key: the text of an item.
    """
    words = query.lower().split()
    if not words:
        return list(items)
    conditions = [re.compile(_in_order(word)) for word in words]
    scored: list[tuple[float, _Item]] = []
    for item in items:
        text = key(item).lower().replace("\n", " ")
        if all(condition.search(f"\n{text}") for condition in conditions):
            scored.append((sum(_score(word, text) for word in words) - len(text) / 1000, item))
    return [item for _, item in sorted(scored, key=lambda pair: -pair[0])]


def _in_order(word: str) -> str:
    """A pattern for a line with these letters in order. Possessive: a line costs one pass over it, match or not."""
    letters = "".join(rf"[^\n{re.escape(letter)}]*+{re.escape(letter)}" for letter in word)
    return rf"\n{letters}[^\n]*+"


def _score(word: str, text: str) -> float:
    """How well a text has a word that it has. Sums of such scores are compared."""
    part = text.rfind("/", 0, len(text) - 1) + 1
    at = text.find(word, part)
    if at < 0:
        at = text.find(word)
    if at < 0:
        return _IN_ORDER * _closeness(word, text, part)
    starts_word = at == 0 or not text[at - 1].isalnum()
    if at == part:
        rest = text[at + len(word) :]
        return _WHOLE_PART if not rest or rest[0] in "./" else _PART_START
    if at > part:
        return _WORD_START if starts_word else _ANYWHERE
    return _ELSEWHERE_WORD_START if starts_word else _ELSEWHERE


def _closeness(word: str, text: str, part: int) -> float:
    """How much of a word is there in one piece or at starts of words, from 0 to 1; more if it is in the last part."""
    end = _end_of(word, text, part)
    is_in_part = end is not None
    at = (_end_of(word, text, 0) or len(text)) if end is None else end
    good = 0
    behind = -1
    # Backwards from where it is complete: that is the shortest piece that has it.
    for letter in reversed(word):
        at = text.rfind(letter, 0, at)
        good += at + 1 == behind or at == 0 or not text[at - 1].isalnum()
        behind = at
    return (is_in_part + good / len(word)) / 2


def _end_of(word: str, text: str, since: int) -> int | None:
    for letter in word:
        since = text.find(letter, since) + 1
        if not since:
            return None
    return since
