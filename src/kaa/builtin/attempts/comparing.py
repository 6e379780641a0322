"""Compares attempts: as a table for people, and which one is best."""

from collections.abc import Sequence

from kaa.builtin.amounts import dollars
from kaa.builtin.attempts.running import Attempt
from kaa.builtin.attempts.wanted import Wanted
from kaa.builtin.columns import aligned
from kaa.core.display_values import DisplayValue, Table, Text

_MOST_MESSAGE_CHARACTERS = 400
_MOST_MISSING_CHARACTERS = 800


def best(attempts: Sequence[Attempt], wanted: Wanted) -> Attempt | None:
    """The attempt with the smallest changes among those that ended well and pass all checks; None if there is none."""
    good = [one for one in attempts if one.changes.files and one.state == "done" and one.passed == len(wanted.checks)]
    return min(
        good, key=lambda one: (one.changes.added + one.changes.removed, one.changes.files, one.number), default=None
    )


def shown(attempts: Sequence[Attempt], wanted: Wanted) -> list[DisplayValue]:
    """The comparison, for frontends that show display values."""
    head, *rows = _rows(attempts, wanted)
    return [Table(tuple(head), tuple(map(tuple, rows))), *(Text(one, "muted") for one in _messages(attempts))]


def as_text(attempts: Sequence[Attempt], wanted: Wanted) -> str:
    """The comparison as text."""
    return "\n".join([*aligned(_rows(attempts, wanted), left=2), "", *_messages(attempts)])


def _rows(attempts: Sequence[Attempt], wanted: Wanted) -> list[list[str]]:
    columns = {
        "": [str(one.number) for one in attempts],
        "Ended": [one.state for one in attempts],
        "Checks": [
            "-" if one.passed is None or not wanted.checks else f"{one.passed}/{len(wanted.checks)}" for one in attempts
        ],
        "Files": [str(one.changes.files) for one in attempts],
        "Lines": [f"+{one.changes.added} -{one.changes.removed}" for one in attempts],
        "Tokens": [f"{one.used.tokens:,}" for one in attempts],
        "Cost": [dollars(None if one.used.unpriced else one.used.cost) for one in attempts],
        "Time": [f"{one.seconds:.0f} s" for one in attempts],
    }
    if wanted.models:
        columns["Model"] = [one.model for one in attempts]
    return [list(columns), *(list(row) for row in zip(*columns.values(), strict=True))]


def _messages(attempts: Sequence[Attempt]) -> list[str]:
    """What the attempts say, the checks that do not succeed, and files that no merge takes over."""
    lines = []
    for one in attempts:
        named = one.worktree or one.agent
        said = _cut(one.message or "(it said nothing)", _MOST_MESSAGE_CHARACTERS)
        lines.append(f"{one.number}{f' ({named})' if named else ''}: {said}")
        if one.missing:
            lines.append(_cut(one.missing, _MOST_MISSING_CHARACTERS))
        if one.changes.left_out:
            left_out = f"Not merged, because git ignores or cannot add it: {', '.join(one.changes.left_out)}"
            lines.append(_cut(left_out, _MOST_MESSAGE_CHARACTERS))
    return lines


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
