"""The hunks of a unified diff between lines, in a moment also for long files.

Only what lies between the equal lines at both ends is compared. The two lines that name the files are the caller's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TypeAlias

# A product of numbers of lines that takes some 0.1 s to compare at worst.
MAX_COMPARED = 4_000_000
_CONTEXT_LINES = 3
_LENGTH_WITHOUT_FREQUENT = 200  # of the new lines, difflib

_Operation: TypeAlias = tuple[str, int, int, int, int]


def hunks(
    old: Sequence[str], new: Sequence[str], *, context_lines: int = _CONTEXT_LINES, max_compared: int = MAX_COMPARED
) -> Iterator[str]:
    """The lines of the hunks from some lines to others, each hunk behind its `@@ -1,3 +1,4 @@`.

    Args:
        old: the lines; they keep their line ends, if they have them.
        context_lines: how many equal lines are shown around a change.
        max_compared: above this product of their numbers, all old lines between the equal ends go, all new ones come.
    """
    head = _count_equal(zip(old, new, strict=False))
    if head == len(old) == len(new):
        return
    tail = _count_equal(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    before, behind = min(head, context_lines), min(tail, context_lines)  # what is shown of the equal ends
    above, below = head - before, tail - behind
    gone, come = old[above : len(old) - below], new[above : len(new) - below]
    groups: Iterable[Sequence[_Operation]]
    if len(gone) * len(come) <= max_compared and _is_quick(gone, come):
        groups = SequenceMatcher(None, gone, come).get_grouped_opcodes(context_lines)
    else:
        ends = len(gone) - behind, len(come) - behind
        groups = [
            [
                ("equal", 0, before, 0, before),
                ("replace", before, ends[0], before, ends[1]),
                ("equal", ends[0], len(gone), ends[1], len(come)),
            ]
        ]
    for group in groups:
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_end, above)} +{_range(new_start, new_end, above)} @@"
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in gone[old_start:old_end])
                continue
            yield from (f"-{line}" for line in gone[old_start:old_end])
            yield from (f"+{line}" for line in come[new_start:new_end])


def _is_quick(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether comparing takes no longer than the product of the lengths says: few pairs of lines are equal.

    For each block that it finds, difflib looks at all equal pairs. In long texts it leaves frequent lines out.
    """
    if len(new) >= _LENGTH_WITHOUT_FREQUENT:
        return True
    counts = Counter(new)
    return sum(counts[line] for line in old) * min(len(old), len(new)) <= MAX_COMPARED


def patch_hunks(old: str, new: str) -> Iterator[str]:
    """The lines of the hunks from one text to another as git writes them: a last line without its end is marked."""
    for line in hunks(_with_ends(old), _with_ends(new)):
        yield line.removesuffix("\n")
        if not line.endswith("\n") and not line.startswith("@@"):
            yield "\\ No newline at end of file"


def _with_ends(text: str) -> list[str]:
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _count_equal(pairs: Iterable[tuple[str, str]]) -> int:
    """How many pairs at the beginning are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _range(start: int, end: int, above: int) -> str:
    """Where lines are, as hunks count: from 1; a place without lines is behind the one that it names."""
    length, first = end - start, above + start + 1
    return f"{first}" if length == 1 else f"{first - (length == 0)},{length}"
