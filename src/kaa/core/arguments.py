"""From what a model sent to typed arguments: coercion of usual mistakes, then validation with paths."""

from functools import lru_cache
from typing import TypeVar, cast

import msgspec
from msgspec import inspect

from kaa.core.messages import Json

Struct = TypeVar("Struct", bound=msgspec.Struct)


class ArgumentError(Exception):
    """Arguments do not fit the tool's schema; the message names the path and what is expected there."""


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Json]:
    """The JSON Schema of a struct, inlined, without titles and docstrings, as compact as models need it."""
    schema: dict[str, Json] = msgspec.json.decode(_encoded_schema_of(arguments))
    return schema


@lru_cache(maxsize=256)
def _encoded_schema_of(arguments: type[msgspec.Struct]) -> bytes:
    """The same, encoded; each conversation of a process needs those of all tools."""
    return msgspec.json.encode(schema_of_type(arguments))


def schema_of_type(hint: object) -> dict[str, Json]:
    """The JSON Schema of any type, likewise.

    Raises:
        TypeError: the type has none.
        RecursionError: it contains itself.
    """
    (schema,), components = msgspec.json.schema_components([hint], ref_template="{name}")
    for component in components.values():
        component.pop("description", None)  # the docstring, which speaks to us and not to the model
    return cast("dict[str, Json]", _compact(schema, components))


def _compact(node: Json, components: dict[str, Json]) -> Json:
    """Inline references, drop titles, defaults and the null alternative of optional fields."""
    if isinstance(node, list):
        return [_compact(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        described = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**components[node["$ref"]], **described}, components)
    alternatives = [item for item in node.get("anyOf", ()) if item != {"type": "null"}]
    if len(alternatives) == 1:
        described = {key: value for key, value in node.items() if key != "anyOf"}
        return _compact({**alternatives[0], **described}, components)
    compact = {}
    for key, value in node.items():
        if key == "properties":
            compact[key] = {name: _compact(item, components) for name, item in value.items()}
        elif key not in ("title", "default") and not (key == "required" and not value):
            compact[key] = _compact(value, components)
    return compact


def parse_arguments(arguments: dict[str, Json], target: type[Struct]) -> Struct:
    """Coerce and validate `arguments` into `target`.

    Accepted, at any depth, because models often send them: numbers and booleans written as strings and the
    other way round, `null` for an absent optional, JSON text in place of an object or array, a single value in
    place of an array, and snake_case names.

    Raises:
        ArgumentError: with the path of the first value that does not fit.
    """
    shape = _shape(target)
    given = _coerce_fields(arguments, shape)
    missing = [field.encode_name for field in shape.fields if field.required and field.encode_name not in given]
    if missing:
        known = [field.encode_name for field in shape.fields]
        unknown = sorted(set(arguments) - {*known, *(field.name for field in shape.fields)})
        also = f"; unknown: {', '.join(unknown)}" if unknown else ""
        raise ArgumentError(f"missing required argument: {', '.join(missing)} (known: {', '.join(known)}{also})")
    try:
        return msgspec.convert(given, target, strict=False)
    except msgspec.ValidationError as error:
        raise ArgumentError(str(error)) from error


@lru_cache(maxsize=256)
def _shape(target: type[msgspec.Struct]) -> inspect.StructType:
    """The fields of a struct; inspecting one costs more than checking a call's arguments."""
    return cast("inspect.StructType", inspect.type_info(target))


def _coerce(value: Json, wanted: inspect.Type) -> Json:
    """Repair what `msgspec.convert(strict=False)` does not; what cannot be repaired is left for it to refuse."""
    match wanted:
        case inspect.Metadata():
            return _coerce(value, wanted.type)
        case inspect.UnionType():
            options = [option for option in wanted.types if not isinstance(option, inspect.NoneType)]
            return value if value is None or len(options) != 1 else _coerce(value, options[0])
        case inspect.ListType() | inspect.VarTupleType():
            value = _parse_json_text(value)
            items = value if isinstance(value, list) else [value]
            return [_coerce(item, wanted.item_type) for item in items]
        case inspect.StructType():
            value = _parse_json_text(value)
            return _coerce_fields(value, wanted) if isinstance(value, dict) else value
        case inspect.DictType():
            return _parse_json_text(value)
        case inspect.StrType() if isinstance(value, bool | int | float):
            return msgspec.json.encode(value).decode()
        case _:
            return value


def _coerce_fields(given: dict[str, Json], wanted: inspect.StructType) -> dict[str, Json]:
    """The fields of `wanted` found in `given`, by their name in the schema or else in Python."""
    coerced = {}
    for field in wanted.fields:
        name = field.encode_name if field.encode_name in given else field.name
        if name not in given or (given[name] is None and not field.required):
            continue
        coerced[field.encode_name] = _coerce(given[name], field.type)
    return coerced


def _parse_json_text(value: Json) -> Json:
    """The object or array that a text holds, or the value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):  # the latter for nesting without end
        pass
    from kaa.core.json_repair import BrokenJsonError, repair_json  # lazy: few models write broken JSON

    try:
        repaired = repair_json(value)
    except BrokenJsonError:
        return value
    return value if repaired.closed else repaired.value
