"""Times and durations."""

import re

_DURATION = re.compile(r"(?=[0-9])(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_SECONDS = (86400, 3600, 60, 1)


def format_seconds(seconds):
    """`5400` as `1:30:00`."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def parse_duration(text):
    """`1h30m` as 5400."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(count or 0) * seconds for count, seconds in zip(match.groups(), _SECONDS))
