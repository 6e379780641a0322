"""The fields of a form (`kaa.ext.questions.Form`): what each takes, and how a line of text becomes its value.

They cover the primitive types of MCP's elicitation (revision 2025-11-25, client/elicitation, "Requested Schema").
"""

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json

# One character before and behind the @: whether the address exists, only its server knows.
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")

TextFormat: TypeAlias = Literal["", "email", "uri", "date", "date-time"]


class FieldError(ValueError):
    """A value does not fit its field. The message says what is wrong, without the name of the field."""


class FieldOption(msgspec.Struct, rename="camel", frozen=True):
    """A value to choose. `label`: how people see it; empty for the value itself."""

    value: str
    label: str = ""

    @property
    def text(self) -> str:
        """What people read."""
        return self.label or self.value


class _Field(msgspec.Struct, tag_field="type", rename="camel", frozen=True):
    """Base of all fields.

    Attributes:
        name: the key of its value.
        title: what people read instead of the name; empty for the name.
        description: what is asked for.
        required: whether the form can be sent without it.
    """

    name: str
    title: str = ""
    description: str = ""
    required: bool = False

    @property
    def label(self) -> str:
        """What people read."""
        return self.title or self.name

    @abstractmethod
    def check(self, value: Json) -> Json:
        """The value, if it fits.

        Raises:
            FieldError: it does not.
        """


class TextField(_Field, tag="text", frozen=True):
    """A line of text. `format` limits it; lengths count characters."""

    default: str | None = None
    format: TextFormat = ""
    min_length: int | None = None
    max_length: int | None = None

    def check(self, value: Json) -> str:
        """See `_Field.check`."""
        if not isinstance(value, str):
            raise FieldError("enter a text")
        _within(len(value), self.min_length, self.max_length, " characters")
        if not _has_format(value, self.format):
            raise FieldError(f"enter {_FORMATS[self.format]}")
        return value


class NumberField(_Field, tag="number", frozen=True):
    """A number; `whole`: without a fraction."""

    default: float | None = None
    whole: bool = False
    minimum: float | None = None
    maximum: float | None = None

    def check(self, value: Json) -> float:
        """See `_Field.check`."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FieldError("enter a number")
        if self.whole and value != int(value):
            raise FieldError("enter a whole number")
        _within(value, self.minimum, self.maximum)
        return int(value) if self.whole else value


class YesNoField(_Field, tag="yesNo", frozen=True):
    """Yes or no."""

    default: bool | None = None

    def check(self, value: Json) -> bool:
        """See `_Field.check`."""
        if not isinstance(value, bool):
            raise FieldError("enter true or false")
        return value


class ChoiceField(_Field, tag="choice", frozen=True):
    """One of some options."""

    options: tuple[FieldOption, ...] = ()
    default: str | None = None

    def check(self, value: Json) -> str:
        """See `_Field.check`."""
        return _option(self.options, value)


class ChoicesField(_Field, tag="choices", frozen=True):
    """Any of some options. `min_items` and `max_items` limit how many."""

    options: tuple[FieldOption, ...] = ()
    default: tuple[str, ...] | None = None
    min_items: int | None = None
    max_items: int | None = None

    def check(self, value: Json) -> list[Json]:
        """See `_Field.check`."""
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise FieldError("enter a list of options")
        chosen: list[Json] = [*dict.fromkeys(_option(self.options, one) for one in value)]
        _within(len(chosen), self.min_items, self.max_items, " options")
        return chosen


Field: TypeAlias = TextField | NumberField | YesNoField | ChoiceField | ChoicesField


def defaults(fields: Sequence[Field]) -> dict[str, Json]:
    """The values that the fields have if nobody changes anything. A default that does not fit counts as none."""
    values: dict[str, Json] = {}
    for field in fields:
        if field.default is not None:
            try:
                values[field.name] = field.check(field.default)
            except FieldError:
                continue
    return values


def checked(fields: Sequence[Field], values: Mapping[str, Json]) -> dict[str, Json]:
    """The values, in the order of the fields.

    Raises:
        FieldError: one does not fit, is unknown, or a required one is missing. The message names the field.
    """
    known = {field.name for field in fields}
    if unknown := [name for name in values if name not in known]:
        raise FieldError(f"invalid field {unknown[0]!r}: use {', '.join(sorted(known))}")
    given: dict[str, Json] = {}
    for field in fields:
        if field.name not in values:
            if field.required:
                raise FieldError(f"{field.label} is required")
            continue
        try:
            given[field.name] = field.check(values[field.name])
        except FieldError as error:
            raise FieldError(f"{field.label}: {error}") from error
    return given


def typed(field: TextField | NumberField, text: str) -> Json:
    """The value that a typed line means.

    Raises:
        FieldError: it is none that the field takes.
    """
    if isinstance(field, TextField):
        return field.check(text)
    try:
        number: Json = int(text) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text) else float(text)
    except ValueError as error:
        raise FieldError(f"enter a number instead of {text!r}") from error
    return field.check(number)


_FORMATS = {
    "email": "an email address, such as name@example.com",
    "uri": "an address, such as https://example.com",
    "date": "a date, such as 2026-11-23",
    "date-time": "a date and time with a time zone, such as 2026-11-23T09:30:00Z",
}


def _has_format(text: str, form: str) -> bool:
    match form:
        case "email":
            return _EMAIL.fullmatch(text) is not None
        case "uri":
            return _URI.fullmatch(text) is not None
        case "date" | "date-time":
            try:
                if form == "date":
                    return len(text) == len("2026-11-23") and date.fromisoformat(text) is not None
                return "T" in text.upper() and datetime.fromisoformat(text).tzinfo is not None
            except ValueError:
                return False
        case _:
            return True


def _within(number: float, least: float | None, most: float | None, of: str = "") -> None:
    if least is not None and number < least:
        raise FieldError(f"enter at least {least:g}{of}")
    if most is not None and number > most:
        raise FieldError(f"enter at most {most:g}{of}")


def _option(options: Sequence[FieldOption], value: Json) -> str:
    if not isinstance(value, str) or all(value != option.value for option in options):
        raise FieldError(f"invalid option {value!r}: use {', '.join(option.value for option in options)}")
    return value
