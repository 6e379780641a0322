"""Counts, lists, durations and amounts of money, in words."""

from collections.abc import Sequence


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 file`, `2 files`, `12,000 files`; `things` where it takes more than an `s` to say several."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b`, or `a, b and 3 more` where there are more than `most`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def dollars(cost: float | None) -> str:
    """`$0.0123`, `$1,234.50`, and `?` for a price that nobody knows, which is not nothing."""
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


_SHOWN_MS = 1000  # less is not worth a word


def shown_duration(milliseconds: int) -> str:
    """`1.2 s`, `2 min 5 s`; empty for less than a second."""
    if milliseconds < _SHOWN_MS:
        return ""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
