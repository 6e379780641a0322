"""JSON Schema as Gemini takes it in `parametersJsonSchema`: without references.

Google passes references on, but refuses one that has more than a description beside it, and one that points
elsewhere than to `$defs`; generators of schemas write both. So what is referred to is put in its place.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from kaa.core.messages import Json
from kaa.llm.rendering import JsonObject

# Of no use once there are no references, or for the reader of the document only.
_LEFT_OUT: Final = frozenset({"$schema", "$id", "$anchor", "$comment", "$defs", "definitions"})
# Keywords whose keys are names that people chose, not keywords.
_NAMING: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
# Keywords whose values are data, not schemas.
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required"})
# References to references double a schema each time. A tool whose schema is longer is nothing a model could call.
_MOST_NODES: Final = 5000


def without_references(schema: JsonObject) -> JsonObject:
    """`schema` with what its references mean in their places.

    Where a schema refers to itself, where a reference leads nowhere, and beyond some thousand parts anything goes: the
    tool checks its arguments anyway.
    """
    return _Document(schema).schema(schema, ("#",))


class _Document:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0

    def schema(self, schema: JsonObject, within: tuple[str, ...]) -> JsonObject:
        """A schema, `within` the references that led to it."""
        self._nodes += 1
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            kept = {key: self._keyword(key, value, within) for key, value in schema.items() if key not in _LEFT_OUT}
            return _with_enum(kept)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = None if reference in within or self._nodes > _MOST_NODES else self._target(reference)
        return self.schema({**(target or {}), **beside}, (*within, reference))

    def _keyword(self, key: str, value: Json, within: tuple[str, ...]) -> Json:
        if key in _DATA:
            return value
        if key in _NAMING and isinstance(value, dict):
            return {name: self._value(item, within) for name, item in value.items()}
        return self._value(value, within)

    def _value(self, value: Json, within: tuple[str, ...]) -> Json:
        match value:
            case dict():
                return self.schema(value, within)
            case list():
                return [self._value(item, within) for item in value]
            case _:
                return value

    def _target(self, reference: str) -> JsonObject | None:
        """What a JSON pointer (RFC 6901) into this document points to, if it is a schema."""
        if not reference.startswith("#/"):
            return None
        found: Json = self._root
        for step in unquote(reference[2:]).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            match found:
                case Mapping() if name in found:
                    found = found[name]
                case list() if name.isdecimal() and int(name) < len(found):
                    found = found[int(name)]
                case _:
                    return None
        return found if isinstance(found, dict) else None


def _with_enum(schema: JsonObject) -> JsonObject:
    """`schema` with `const` as an `enum` of one, which says the same: Gemini takes no notice of `const`."""
    if type(schema.get("const")) not in (str, int, float) or "enum" in schema:
        return schema
    return {"enum" if key == "const" else key: [value] if key == "const" else value for key, value in schema.items()}
