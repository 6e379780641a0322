"""Parses what functions of extensions return. Extensions are not type-checked, and kaa shows, stores and sends it."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeVar
from uuid import UUID

import msgspec

from kaa.core.hooks import RunAgain
from kaa.core.tool import Permit

# A message about a result shows so much of it.
_MOST_CHARACTERS = 200

# Values that msgspec would otherwise turn into text, so that they would pass for one.
_NO_TEXT = (bytes, bytearray, memoryview, datetime, date, time, timedelta, UUID, Decimal)

ResultT = TypeVar("ResultT")


class UnfitResultError(Exception):
    """A field of a result has a value of a wrong type; the message says which."""


def parse_result(value: ResultT) -> ResultT:
    """A result whose fields have the declared types.

    Args:
        value: a struct of the API's, or None.

    Raises:
        UnfitResultError: a field has another type.
    """
    match value:
        case None | Permit():
            return value
        case RunAgain(permit=permit):
            if not isinstance(permit, Permit | None):
                raise UnfitResultError(f"`permit` must be a Permit or None, not {type(permit).__name__}")
            return value
        case _:
            return _converted(value)


def shortened(value: object) -> str:
    """A result in a message."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 isolation boundary: the class can be an extension's
        text = f"{type(value).__name__} (its repr failed: {type(error).__name__})"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _converted(value: ResultT) -> ResultT:
    try:
        plain = msgspec.to_builtins(value, builtin_types=_NO_TEXT)
        converted = msgspec.convert(plain, type(value), builtin_types=_NO_TEXT)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UnfitResultError(str(error)[:1].lower() + str(error)[1:]) from error
    if hasattr(value, "details"):  # stays an object of the tool's for hooks and renderers
        return msgspec.structs.replace(converted, details=value.details)  # type: ignore[type-var]
    return converted
