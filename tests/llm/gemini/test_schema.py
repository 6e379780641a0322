from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Json
from kaa.llm.gemini.request import without_references

_CITY: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def _object(*, defs: Json = None, **properties: Json) -> dict[str, Json]:
    schema = {"type": "object", "properties": properties}
    return schema if defs is None else {**schema, "$defs": defs}


def test_a_schema_without_references_stays_as_it_is() -> None:
    schema = _object(path={"type": "string", "description": "a"}, mode={"enum": ["a", "b"], "default": "a"})
    schema["additionalProperties"] = False

    assert without_references(schema) == schema


def test_what_is_referred_to_stands_in_its_place_with_what_was_beside_it() -> None:
    schema = _object(defs={"City": _CITY}, city={"$ref": "#/$defs/City", "description": "where"})

    assert without_references(schema) == _object(city={**_CITY, "description": "where"})


def test_references_to_references_and_to_places_other_than_definitions() -> None:
    defs = {"Here": {"$ref": "#/$defs/City"}, "City": _CITY}
    schema = _object(
        defs=defs,
        a={"$ref": "#/$defs/Here"},
        b={"type": "array", "items": {"$ref": "#/properties/a"}},
        c={"anyOf": [{"$ref": "#/$defs/City"}, {"type": "null"}]},
    )

    assert without_references(schema) == _object(
        a=_CITY, b={"type": "array", "items": _CITY}, c={"anyOf": [_CITY, {"type": "null"}]}
    )


def test_pointers_are_unescaped() -> None:
    schema = _object(defs={"a/b ~c": _CITY}, x={"$ref": "#/$defs/a~1b%20~0c"}, y={"$ref": "#/properties/z/anyOf/0"})
    schema["properties"]["z"] = {"anyOf": [_CITY]}

    assert without_references(schema) == _object(x=_CITY, y=_CITY, z={"anyOf": [_CITY]})


def test_where_a_schema_refers_to_itself_anything_goes() -> None:
    tree: Json = _object(children={"type": "array", "items": {"$ref": "#/$defs/Tree"}})
    schema = _object(defs={"Tree": tree}, tree={"$ref": "#/$defs/Tree"}, all={"$ref": "#", "description": "more"})

    assert without_references(schema) == _object(
        tree=_object(children={"type": "array", "items": {}}), all={"description": "more"}
    )


def test_a_reference_that_leads_nowhere_says_nothing() -> None:
    schema = _object(
        a={"$ref": "#/$defs/Gone"}, b={"$ref": "https://elsewhere.test/schema", "type": "string"}, c={"$ref": "#/type"}
    )

    assert without_references(schema) == _object(a={}, b={"type": "string"}, c={})


def test_names_of_arguments_are_no_keywords_and_data_is_no_schema() -> None:
    schema = _object(**{"$ref": {"type": "string"}, "definitions": {"type": "integer"}, "$schema": {"type": "null"}})
    schema["default"] = {"$ref": "#/x", "$schema": "y"}

    assert without_references(schema) == schema


def test_references_that_double_each_time_come_to_an_end() -> None:
    defs = {f"d{n}": _object(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"}) for n in range(40)}

    plain = without_references(_object(defs=defs, x={"$ref": "#/$defs/d0"}))

    assert "$ref" not in str(plain)


_SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b", "title": "t"}, {"$ref": 5}, True]
    ),
    lambda inner: (
        st.builds(lambda item: {"items": item}, inner)
        | st.builds(lambda *items: {"anyOf": list(items)}, inner, inner)
        | st.builds(lambda item: {"properties": {"x": item}}, inner)
    ),
    max_leaves=6,
)


@given(_SCHEMAS, _SCHEMAS, _SCHEMAS)
def test_no_reference_is_left_whatever_refers_to_what(a: Json, b: Json, x: Json) -> None:
    plain = without_references(_object(defs={"a": a, "b": b}, x=x))

    assert "#/$defs" not in str(plain)
    assert "$defs" not in plain


def test_what_must_be_one_value_is_a_choice_of_one() -> None:
    schema = _object(kind={"const": "file"}, const={"type": "string"}, both={"const": 1, "enum": [1]})

    assert without_references(schema) == _object(
        kind={"enum": ["file"]}, const={"type": "string"}, both={"const": 1, "enum": [1]}
    )
