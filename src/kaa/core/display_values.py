"""What extensions show: a closed set of values that every frontend and export draws in its own way.

Values are plain data. Those of a session file are foreign: `stored_values` parses them.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from kaa.core.messages import Json

# Of one result, message or entry, which the session keeps.
MOST_STORED_CHARACTERS = 100_000

Role: TypeAlias = Literal["text", "muted", "dim", "accent", "success", "warning", "error"]
"""What a text is for; the theme gives it a colour."""


class Text(msgspec.Struct, tag="text", frozen=True):
    """Plain text in one role. It is wrapped at words."""

    text: str
    role: Role = "text"


class Markdown(msgspec.Struct, tag="markdown", frozen=True):
    """Markdown."""

    text: str


class Diff(msgspec.Struct, tag="diff", frozen=True):
    """A unified diff."""

    text: str


class Code(msgspec.Struct, tag="code", frozen=True):
    """Code. `language`: its name or the ending of its files, such as `python` or `py`."""

    text: str
    language: str = ""


class Fields(msgspec.Struct, tag="fields", frozen=True):
    """Names with values, one in each line."""

    fields: tuple[tuple[str, str], ...]


class Table(msgspec.Struct, tag="table", frozen=True):
    """Rows below a heading; each row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


DisplayValue: TypeAlias = Text | Markdown | Diff | Code | Fields | Table


def values_in(details: Json) -> tuple[DisplayValue, ...]:
    """The display values in the details of a message or result, where they are `display`."""
    return stored_values(details.get("display")) if isinstance(details, dict) else ()


def stored_values(found: Json) -> tuple[DisplayValue, ...]:
    """Display values of a session file; none if any of them is invalid, or they are too long."""
    if not isinstance(found, list):
        return ()
    try:
        values = msgspec.convert(found, tuple[DisplayValue, ...])
    except msgspec.ValidationError:
        return ()
    return values if characters_of(values) <= MOST_STORED_CHARACTERS else ()


def characters_of(values: Iterable[DisplayValue]) -> int:
    """How many characters are in the texts of display values."""
    return sum(map(_size, values))


def plain_lines(content: Sequence[DisplayValue]) -> list[str]:
    """Display values as lines of text, for frontends that have no styles."""
    return [line for value in content for line in _lines_of(value)]


def _lines_of(value: DisplayValue) -> list[str]:
    match value:
        case Text(text=text) | Markdown(text=text) | Diff(text=text) | Code(text=text):
            return text.removesuffix("\n").split("\n")
        case Fields(fields=fields):
            return [f"{name}: {text}" for name, text in fields]
        case Table(columns=columns, rows=rows):
            return [" | ".join(row) for row in (columns, *rows)]


def table_lines(table: Table) -> list[str]:
    """A table in Markdown."""
    rule = ["---"] * len(table.columns)
    return [f"| {' | '.join(map(_cell, row))} |" for row in (table.columns, rule, *table.rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _size(value: object) -> int:
    match value:
        case str():
            return len(value)
        case tuple():
            return sum(map(_size, value))
        case msgspec.Struct():
            return sum(_size(getattr(value, field)) for field in value.__struct_fields__)
        case _:
            return 0
