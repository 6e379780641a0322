"""Which words of a line changed when it was replaced, and which of several lines was replaced by which."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeAlias

# From one position in a text up to another.
Range: TypeAlias = tuple[int, int]
# For a line that was replaced, and for the one that it was replaced by.
Marks: TypeAlias = tuple[list[Range], list[Range]]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Lines that have less than this share of their words in common are not two versions of one line.
_LEAST_ALIKE = 0.4
# Of a change of more lines than this, lines are paired in order; of longer ones words are not compared.
_MOST_PAIRED = 40
_MOST_WORDS = 400


def pair_lines(removed: Sequence[str], added: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of lines that seem to be the same line before and after, in order."""
    if len(removed) == len(added) and (len(removed) > _MOST_PAIRED or len(removed) == 1):
        return [(index, index) for index in range(len(removed))]
    if max(len(removed), len(added)) > _MOST_PAIRED:
        return []
    likeness = [[_likeness(one, other) for other in added] for one in removed]
    # The sequence of pairs, without crossings, that is most alike in sum (as in Needleman and Wunsch's alignment).
    best = [[0.0] * (len(added) + 1) for _ in range(len(removed) + 1)]
    for row in range(len(removed) - 1, -1, -1):
        for column in range(len(added) - 1, -1, -1):
            best[row][column] = max(
                best[row + 1][column],
                best[row][column + 1],
                best[row + 1][column + 1] + likeness[row][column],
            )
    pairs = []
    row = column = 0
    while row < len(removed) and column < len(added):
        if likeness[row][column] and best[row][column] == best[row + 1][column + 1] + likeness[row][column]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def changed_words(old: str, new: str) -> Marks:
    """Where the words are that changed; nowhere if all did, or too much to be worth showing."""
    if _likeness(old, new) == 0:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > _MOST_WORDS:
        return [], []
    marks: Marks = ([], [])
    old_position = new_position = 0
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
        old_length = sum(map(len, before[old_start:old_end]))
        new_length = sum(map(len, after[new_start:new_end]))
        if kind != "equal":
            _add(marks[0], old, old_position, old_position + old_length)
            _add(marks[1], new, new_position, new_position + new_length)
        old_position += old_length
        new_position += new_length
    return marks


def _add(ranges: list[Range], text: str, start: int, end: int) -> None:
    """Mark a range, together with the one before if there is only a space between them."""
    if start == end:
        return
    if ranges and text[ranges[-1][1] : start].isspace():
        start = ranges.pop()[0]
    ranges.append((start, end))


def _likeness(one: str, other: str) -> float:
    """The share of the words that both have, 0 if it is small."""
    words, other_words = _words(one), _words(other)
    total = words.total() + other_words.total()
    shared = 2 * (words & other_words).total() / total if total else 0.0
    return shared if shared >= _LEAST_ALIKE else 0.0


@lru_cache(maxsize=4 * _MOST_PAIRED)
def _words(text: str) -> Counter[str]:
    return Counter(word for word in _WORD.findall(text) if not word.isspace())
