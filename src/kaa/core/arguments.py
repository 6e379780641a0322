"""From what a model sent to typed arguments: coercion of usual mistakes, then validation with paths."""

from typing import TypeVar, cast, get_type_hints

import msgspec

from kaa.core.messages import Json

Struct = TypeVar("Struct", bound=msgspec.Struct)


class ArgumentError(Exception):
    """Arguments do not fit the tool's schema; the message names the path and what is expected there."""


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Json]:
    """The JSON Schema of a struct, inlined and without titles, as compact as models need it."""
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="{name}")
    return cast("dict[str, Json]", _compact(schema, components))


def _compact(node: Json, components: dict[str, Json]) -> Json:
    """Inline references, drop titles, defaults and the null alternative of optional fields."""
    if isinstance(node, list):
        return [_compact(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _compact(components[node["$ref"]], components)
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

    Numbers and booleans written as strings, `null` for an absent optional, JSON text in place of an object
    or array, and a single value in place of an array are accepted, as models often send them.

    Raises:
        ArgumentError: with the path of the first value that does not fit.
    """
    fields = msgspec.structs.fields(target)
    hints = get_type_hints(target)
    known = {field.encode_name: field for field in fields}
    given = {}
    for name, value in arguments.items():
        field = known.get(name)
        if field is None or (value is None and not field.required):
            continue
        given[name] = _coerce(value, hints[field.name])
    missing = [name for name, field in known.items() if field.required and name not in given]
    if missing:
        unknown = sorted(set(arguments) - set(known))
        also = f"; unknown: {', '.join(unknown)}" if unknown else ""
        raise ArgumentError(f"missing required argument: {', '.join(missing)} (known: {', '.join(known)}{also})")
    try:
        return msgspec.convert(given, target, strict=False)
    except msgspec.ValidationError as error:
        raise ArgumentError(str(error)) from error


def _coerce(value: Json, hint: Json) -> Json:
    """Mend what `msgspec.convert(strict=False)` does not: JSON text for containers, integral floats."""
    wanted = msgspec.inspect.type_info(hint)
    if isinstance(wanted, msgspec.inspect.UnionType):
        options = [item for item in wanted.types if not isinstance(item, msgspec.inspect.NoneType)]
        wanted = options[0] if len(options) == 1 else wanted
    if isinstance(wanted, msgspec.inspect.Metadata):
        wanted = wanted.type
    is_list = isinstance(wanted, msgspec.inspect.ListType | msgspec.inspect.VarTupleType)
    is_object = isinstance(wanted, msgspec.inspect.StructType | msgspec.inspect.DictType)
    if isinstance(value, str) and (is_list or is_object):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    if is_list and isinstance(value, dict):
        return [value]
    if isinstance(wanted, msgspec.inspect.IntType) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
