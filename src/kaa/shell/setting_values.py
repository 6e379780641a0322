"""The values that a setting can have, where they are few: to list them, and to say what would have been right."""

import re
import types
from typing import Literal, Union, get_args, get_origin

import msgspec

# As msgspec names the place of a mistake: `$.approvals.policy`, `$.projects[...].sandbox.mode`.
_PLACE = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")


def valid_values(kind: object) -> tuple[str, ...]:
    """The values of a type that are few, as they are typed; empty if they are many."""
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(text for one in get_args(kind) for text in valid_values(one))
    return ()


def with_valid_values(error: msgspec.ValidationError, root: object) -> str:
    """What is wrong with a value and where, with the values that it can have.

    Args:
        root: the type that the whole file should have had.
    """
    text = str(error)
    found = _PLACE.search(text)
    values = valid_values(_type_at(root, found[1])) if found is not None else ()
    if found is None or not values:
        return text
    return f"{text[: found.start()]}: use {', '.join(values)}{found[0]}"


def _type_at(kind: object, place: str) -> object:
    """The type of what is at a place below `kind`."""
    for step in _STEP.finditer(place):
        kind = _inside(kind, step[1])
    return kind


def _inside(kind: object, name: str | None) -> object:
    """The type of a field, or, without a name, of an item."""
    if get_origin(kind) in (Union, types.UnionType):
        return next((inner for one in get_args(kind) if (inner := _inside(one, name)) is not None), None)
    if name is None:
        items = [one for one in get_args(kind) if one is not Ellipsis]
        return items[-1] if items else None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return next((field.type for field in msgspec.structs.fields(kind) if field.encode_name == name), None)
    return get_args(kind)[-1] if get_args(kind) else None
