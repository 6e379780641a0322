"""What extensions give kaa to keep: JSON, and not too much of it."""

import math
from itertools import chain

import msgspec

from kaa.core.messages import Json
from kaa.ext.errors import CommandError

_DEEPEST = 100


def as_json(value: Json, most_bytes: int, what: str) -> bytes:
    """A value of an extension, encoded.

    Args:
        value: should be a JSON value: None, a truth value, a number, a text, or lists and dicts with texts as keys.

    Raises:
        CommandError: it is something else, or too large.
    """
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        for one in level:
            if problem := _problem(one):
                raise CommandError(f"{what} is not JSON: {problem}")
        level = list(chain.from_iterable(one.values() if isinstance(one, dict) else one for one in _containers(level)))
        if not level:
            break
    else:
        raise CommandError(f"{what} is not JSON: it is nested more than {_DEEPEST} levels deep")
    try:
        encoded = msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError) as error:
        raise CommandError(f"{what} cannot be written as JSON: {error}") from error
    if len(encoded) > most_bytes:
        raise CommandError(f"{what} has {len(encoded):,} bytes: the limit is {most_bytes:,}")
    return encoded


def _containers(level: list[object]) -> list[dict[str, object] | list[object]]:
    return [list(one) if isinstance(one, tuple) else one for one in level if isinstance(one, dict | list | tuple)]


def _problem(value: object) -> str:
    match value:
        case float() if not math.isfinite(value):
            return f"{value} is no JSON number"
        case dict():
            wrong = next((key for key in value if not isinstance(key, str)), None)
            return "" if wrong is None else f"the key {wrong!r} is no text"
        case None | bool() | int() | float() | str() | list() | tuple():
            return ""
        case _:
            return f"{type(value).__name__} {value!r:.80} has no form in JSON"
