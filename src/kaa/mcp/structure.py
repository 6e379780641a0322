"""Whether structured content has the structure that its tool promised (`outputSchema`).

A small part of JSON Schema 2020-12, and nothing that costs much: no patterns, no formats, no foreign references.
Keywords outside of it are taken as fulfilled, so a mismatch is certain and a match is not.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from kaa.core.messages import Json

# What one check may cost: values, options and alternatives that are looked at, and references that lead to each other.
_MOST_STEPS = 20_000
_MOST_LEVELS = 64
_MOST_NAME_CHARACTERS = 100
# Of names in messages, which stand outside of what is marked as a server's data.
_FOREIGN = re.compile(r"[^A-Za-z0-9_.\[\]-]")


class _UndecidedError(Exception):
    """The check would cost too much."""


def mismatch(value: Json, schema: dict[str, Json]) -> str:
    """Where a value does not match a schema and why, in a few words; empty if it matches or the check is too long."""
    try:
        return next(_Check(schema).problems(value, schema, "", 0), "")
    except _UndecidedError:
        return ""


class _Check:
    def __init__(self, root: dict[str, Json]) -> None:
        self._root = root
        self._steps = 0

    def problems(self, value: Json, schema: Json, path: str, level: int) -> Iterator[str]:
        """What is wrong; whoever reads the first problem only pays for no more."""
        self._pay(1)
        if level > _MOST_LEVELS:
            raise _UndecidedError
        if schema is False:
            yield f"{_shown(path)} is not allowed"
        if not isinstance(schema, dict):
            return
        yield from self._own(value, schema, path)
        for part in self._applied(schema):
            yield from self.problems(value, part, path, level + 1)
        for key in ("anyOf", "oneOf"):  # of `oneOf`, another one may fit only because of keywords that are not checked
            options = schema.get(key)
            tried = options if isinstance(options, list) else []
            if tried and all(any(self.problems(value, one, path, level + 1)) for one in tried):
                yield f"{_shown(path)} matches none of its alternatives"
        for one, part, name in _inside(value, schema):
            yield from self.problems(one, part, f"{path}{name}", level + 1)

    def _own(self, value: Json, schema: Mapping[str, Json], path: str) -> Iterator[str]:
        """What is wrong with the value itself, whatever it contains."""
        kinds = schema.get("type")
        wanted = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)]
        if wanted and not any(_is(value, kind) for kind in wanted):
            yield f"{_shown(path)} is not of type {' or '.join(_tame(kind) for kind in wanted[:4])}"
        options = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(options, list):
            self._pay(len(options))
            if not any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in options):
                yield f"{_shown(path)} is not one of the allowed values"
        match value:
            case bool() | None:
                return
            case dict():
                required = schema.get("required")
                names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
                self._pay(len(names))
                yield from (f"{_shown(f'{path}.{name}')} is missing" for name in names if name not in value)
            case int() | float():
                yield from _outside(value, schema, path, "minimum", "maximum")
            case str():
                yield from _outside(len(value), schema, path, "minLength", "maxLength")
            case list():
                yield from _outside(len(value), schema, path, "minItems", "maxItems")

    def _applied(self, schema: Mapping[str, Json]) -> Iterator[Json]:
        """The other schemas that hold for the same value."""
        reference, parts = schema.get("$ref"), schema.get("allOf")
        if isinstance(reference, str) and reference.partition("/")[0] == "#":
            found: Json = self._root
            for token in reference.split("/")[1:]:
                name = token.replace("~1", "/").replace("~0", "~")
                found = found.get(name) if isinstance(found, dict) else None
            yield found
        yield from parts if isinstance(parts, list) else ()

    def _pay(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise _UndecidedError


def _inside(value: Json, schema: Mapping[str, Json]) -> Iterator[tuple[Json, Json, str]]:
    """What the value contains, with its schema and its place."""
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        yield from ((value[name], part, f".{name}") for name, part in known.items() if name in value)
        more = schema.get("additionalProperties", True)
        if more is not True and "patternProperties" not in schema:
            yield from ((one, more, f".{name}") for name, one in value.items() if name not in known)
    elif isinstance(value, list):
        first, rest = schema.get("prefixItems"), schema.get("items")
        first = first if isinstance(first, list) else []
        yield from ((one, part, f"[{at}]") for at, (one, part) in enumerate(zip(value, first, strict=False)))
        if isinstance(rest, dict) or rest is False:  # a list of schemas in older drafts
            yield from ((one, rest, f"[{at}]") for at, one in enumerate(islice(value, len(first), None), len(first)))


def _is(value: Json, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case _:
            known = {"string": str, "boolean": bool, "object": dict, "array": list}.get(kind)
            return known is None or isinstance(value, known)


def _outside(size: float, schema: Mapping[str, Json], path: str, least: str, most: str) -> Iterator[str]:
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, int | float) and size < low:
        yield f"{_shown(path)} is below its {least}"
    if isinstance(high, int | float) and size > high:
        yield f"{_shown(path)} is above its {most}"


def _shown(path: str) -> str:
    """A place as it is told; without names it is the whole."""
    return _tame(path.removeprefix(".")) or "it"


def _tame(name: str) -> str:
    """A server's name without what sentences are made of."""
    text = _FOREIGN.sub("?", name[: _MOST_NAME_CHARACTERS + 1])
    return text if len(text) <= _MOST_NAME_CHARACTERS else f"{text[:_MOST_NAME_CHARACTERS]}…"
