"""When a server that refused a request wants to be asked again, from the headers of its answer."""

import re
from typing import Final

from kaa.llm.http.transport import Headers

_TOO_MANY_REQUESTS: Final = 429
# `x-ratelimit-reset-tokens` beside `x-ratelimit-remaining-tokens` (OpenAI, Groq and others), the same without a kind
# (OpenRouter), and `anthropic-ratelimit-tokens-reset` beside `…-remaining`.
_RESET: Final = r"x-ratelimit-reset(?:-[a-z-]+)?|anthropic-ratelimit-[a-z-]+-reset"
_DURATION: Final = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Larger numbers are no durations: seconds since 1970, and milliseconds since then.
_FIRST_EPOCH_SECONDS: Final = 1e9
_FIRST_EPOCH_MILLISECONDS: Final = 1e11


def wait_asked_for(status: int, headers: Headers, now: float) -> float | None:
    """Seconds until the server wants to be asked again; None if it does not say.

    Headers that ask to come back count first (RFC 9110 section 10.2.3, and the one in milliseconds that OpenAI sends);
    with 429 else the limits that are used up, the last of them to be lifted.

    Args:
        now: seconds since 1970.
    """
    asked = _retry_after(headers, now)
    if asked is not None or status != _TOO_MANY_REQUESTS:
        return asked
    values = {name.lower(): value.strip() for name, value in headers.items}
    waits = [
        wait
        for name, value in values.items()
        if re.fullmatch(_RESET, name)
        and _number(values.get(name.replace("reset", "remaining"), "0")) == 0
        and (wait := _moment(value, now)) is not None
    ]
    return max(waits, default=None)


def _retry_after(headers: Headers, now: float) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    from email.utils import parsedate_to_datetime  # slow to load, rarely needed

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _moment(value: str, now: float) -> float | None:
    """Seconds from now to a moment: a duration such as `6m0s`, a number, or a date of RFC 3339."""
    number = _number(value)
    if number is not None:
        if number >= _FIRST_EPOCH_MILLISECONDS:
            return max(0.0, number / 1000 - now)
        return max(0.0, number - now) if number >= _FIRST_EPOCH_SECONDS else number
    if re.fullmatch(f"(?:{_DURATION})+", value):
        wait = sum(float(amount) * _SECONDS[unit] for amount, unit in re.findall(_DURATION, value))
        return wait if wait < float("inf") else None
    from datetime import UTC, datetime  # rarely needed

    try:
        date = datetime.fromisoformat(value)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    """A finite number that is not negative, or None."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def moment_in_words(seconds: float, now: float) -> str:
    """When that will be: `in 5 s`, and from a minute on also the time of day here, as in `in 65 min, at 14:05`."""
    if seconds < 60:
        return f"in {seconds:,.0f} s"
    import time  # lazy, with the rest: few ever wait so long

    try:
        there = time.localtime(now + seconds)
    except (OverflowError, ValueError, OSError):
        return f"in {seconds:,.0f} s"
    day = "%H:%M" if seconds < 86400 else "%Y-%m-%d %H:%M"
    return f"in {seconds / 60:,.0f} min, at {time.strftime(day, there)}"
