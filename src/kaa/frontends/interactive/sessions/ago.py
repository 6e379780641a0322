"""How long ago something happened, in one word or two."""

from datetime import datetime

_MINUTE, _HOUR, _DAY, _WEEK = 60, 3_600, 86_400, 604_800


def shown_ago(milliseconds: int, now: float) -> str:
    """`now`, `5 min`, `3 h`, `2 d`; the date of what is a week old; empty if it is not known.

    Args:
        milliseconds: when it happened, Unix time.
        now: Unix time in seconds.
    """
    if milliseconds <= 0:
        return ""
    seconds = max(0, int(now - milliseconds / 1000))
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} d" if seconds < _WEEK else shown_day(milliseconds)


def shown_day(milliseconds: int) -> str:
    """The date, where the user is; empty for one that no calendar has."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d")  # noqa: DTZ006 - local time is meant
    except (OverflowError, OSError, ValueError):
        return ""


def shown_moment(milliseconds: int) -> str:
    """Date and time, where the user is; empty for what no calendar has."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000)  # noqa: DTZ006 - local time is meant
    except (OverflowError, OSError, ValueError):
        return ""
    return moment.strftime("%Y-%m-%d %H:%M")
