"""Errors in files, which of them are new, and the lines that the model gets."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kaa.core.terminal_text import plain_text

_MOST_LINES = 10
_LINE_CHARACTERS = 300
# "redefinition of x from line 12": the line moves with every edit above it.
_LINE_NUMBER = re.compile(r"\bline \d+")
MARK = "[new error] "


class Problem(NamedTuple):
    """An error.

    Attributes:
        path: as people name the file: relative to the project, if it is in it.
        line: from 1 on.
        column: from 1 on.
        source: who says so, and by which rule.
    """

    path: str
    line: int
    column: int
    message: str
    source: str = ""


def new_problems(
    before: Iterable[Problem], after: Iterable[Problem], text_before: str = "", text_after: str = ""
) -> list[Problem]:
    """Those of a file that were not there before, whatever line they are in now.

    Args:
        text_before: the file before, to tell equal errors apart; empty if it is not known.
    """
    lines_before, lines_after = text_before.split("\n"), text_after.split("\n")
    known = Counter(_in_line(one, lines_before) for one in before)
    # First those in the lines where they were, so that of equal ones the right one is new.
    left = [one for one in after if not _taken(known, _in_line(one, lines_after))]
    elsewhere = Counter(_Kind(kind.source, kind.message) for kind in known.elements())
    return [one for one in left if not _taken(elsewhere, _kind(one))]


def lines_of(problems: Sequence[Problem]) -> list[str]:
    """The lines for the model, at most ten."""
    ordered = sorted(dict.fromkeys(problems))
    shown = ordered if len(ordered) <= _MOST_LINES else ordered[: _MOST_LINES - 1]
    lines = [MARK + _line(one) for one in shown]
    if more := len(ordered) - len(shown):
        lines.append(f"{MARK}{more} more")
    return lines


def _line(problem: Problem) -> str:
    source = f" ({problem.source})" if problem.source else ""
    message = " ".join(plain_text(problem.message).split())
    text = f"{plain_text(problem.path)}:{problem.line}:{problem.column}: {message}"
    return f"{text[:_LINE_CHARACTERS]}{plain_text(source)[:60]}"


class _Kind(NamedTuple):
    """What an error is, wherever it is; `line`: the text of its line."""

    source: str
    message: str
    line: str = ""


def _kind(problem: Problem) -> _Kind:
    return _Kind(problem.source, _LINE_NUMBER.sub("line", problem.message))


def _in_line(problem: Problem, lines: Sequence[str]) -> _Kind:
    line = lines[problem.line - 1].strip() if problem.line <= len(lines) else ""
    return _kind(problem)._replace(line=line)


def _taken(counts: Counter[_Kind], kind: _Kind) -> bool:
    if counts[kind] <= 0:
        return False
    counts[kind] -= 1
    return True
