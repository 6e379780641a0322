"""Schemas are compact; arguments as models really send them become typed values or an error they can act on."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from kaa.core.arguments import ArgumentError, parse_arguments, schema_of
from kaa.core.messages import Json
from tests.support.tables import each


class Span(msgspec.Struct, rename="camel", frozen=True):
    old_text: str
    new_text: str
    count: int | None = None


class Call(msgspec.Struct, rename="camel", frozen=True):
    path: Annotated[str, Meta(description="File")]
    edits: list[Span] = []
    max_lines: Annotated[int | None, Meta(description="Lines")] = None
    ignore_case: bool = False
    ratio: float = 1.0
    env: dict[str, str] = {}
    mode: Literal["fast", "slow"] = "fast"


def parse(**arguments: Json) -> Call:
    return parse_arguments({"path": "a", **arguments}, Call)


def test_schema_is_inlined_without_titles_defaults_and_nulls() -> None:
    class Small(msgspec.Struct, rename="camel", frozen=True):
        path: Annotated[str, Meta(description="File")]
        spans: list[Span]
        max_lines: Annotated[int | None, Meta(description="Lines")] = None

    schema = schema_of(Small)

    span = {
        "type": "object",
        "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["oldText", "newText"],
    }
    assert schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File"},
            "spans": {"type": "array", "items": span},
            "maxLines": {"type": "integer", "description": "Lines"},
        },
        "required": ["path", "spans"],
    }


def test_an_argument_named_title_or_default_keeps_its_place_in_the_schema() -> None:
    class Issue(msgspec.Struct, frozen=True):
        title: str
        default: str = ""

    assert schema_of(Issue) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"type": "string"}},
        "required": ["title"],
    }


def test_docstrings_of_structs_stay_out_of_the_schema_and_descriptions_of_fields_in() -> None:
    class Point(msgspec.Struct, frozen=True):
        """For maintainers."""

        x: int

    class Shape(msgspec.Struct, frozen=True):
        """For maintainers."""

        center: Annotated[Point, Meta(description="Middle")]
        corner: Annotated[Point | None, Meta(description="Corner")] = None

    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert schema_of(Shape)["properties"] == {
        "center": {**point, "description": "Middle"},
        "corner": {**point, "description": "Corner"},
    }
    assert "description" not in schema_of(Shape)


def test_nothing_required_leaves_no_empty_list() -> None:
    class Optional(msgspec.Struct, frozen=True):
        path: str = "."

    assert schema_of(Optional) == {"type": "object", "properties": {"path": {"type": "string"}}}


def test_well_formed_arguments_arrive_unchanged() -> None:
    call = parse(edits=[{"oldText": " a\n", "newText": "b"}], maxLines=3, ignoreCase=True, ratio=0.5, env={"A": "1"})

    assert call == Call("a", [Span(" a\n", "b")], 3, True, 0.5, {"A": "1"})


@pytest.mark.parametrize("sent", ["12", 12.0, "12.0", 12])
def test_numbers_may_come_as_text_or_integral_floats(sent: Json) -> None:
    assert parse(maxLines=sent).max_lines == 12


@pytest.mark.parametrize("sent", ["true", "True", "1", 1, True])
def test_booleans_may_come_as_text_or_numbers(sent: Json) -> None:
    assert parse(ignoreCase=sent).ignore_case is True


@pytest.mark.parametrize(("sent", "text"), [(42, "42"), (1.5, "1.5"), (True, "true")])
def test_text_may_come_as_a_number_or_boolean(sent: Json, text: str) -> None:
    assert parse(path=sent).path == text


def test_null_means_absent_for_optional_arguments_at_any_depth() -> None:
    call = parse(maxLines=None, ignoreCase=None, edits=[{"oldText": "x", "newText": "y", "count": None}])

    assert call == Call("a", [Span("x", "y")])


def test_null_for_a_required_argument_is_refused_with_its_path() -> None:
    with pytest.raises(ArgumentError, match=r"Expected `str`, got `null` - at `\$\.path`"):
        parse(path=None)


def test_arrays_and_objects_may_come_as_json_text() -> None:
    call = parse(edits='[{"oldText": "x", "newText": "y", "count": "2"}]', env='{"A": "1"}')

    assert call.edits == [Span("x", "y", 2)]
    assert call.env == {"A": "1"}


def test_items_of_an_array_may_come_as_json_text() -> None:
    assert parse(edits=['{"oldText": "x", "newText": "y"}']).edits == [Span("x", "y")]


def test_a_single_object_may_stand_for_an_array() -> None:
    assert parse(edits={"oldText": "x", "newText": "y"}).edits == [Span("x", "y")]
    assert parse(edits='{"oldText": "x", "newText": "y"}').edits == [Span("x", "y")]


def test_a_single_text_may_stand_for_an_array_of_texts() -> None:
    class Paths(msgspec.Struct, frozen=True):
        paths: tuple[str, ...]

    assert parse_arguments({"paths": "a.py"}, Paths).paths == ("a.py",)
    assert parse_arguments({"paths": '["a.py", "b.py"]'}, Paths).paths == ("a.py", "b.py")


def test_text_that_looks_like_json_stays_text_where_text_is_wanted() -> None:
    span = parse(edits=[{"oldText": '{"a": 1}', "newText": "[1]"}]).edits[0]

    assert span == Span('{"a": 1}', "[1]")


def test_snake_case_names_are_understood_at_any_depth() -> None:
    call = parse(max_lines=2, ignore_case=True, edits=[{"old_text": "x", "new_text": "y"}])

    assert call == Call("a", [Span("x", "y")], 2, True)


def test_the_schema_name_wins_over_the_snake_case_name() -> None:
    assert parse(maxLines=1, max_lines=2).max_lines == 1


def test_unknown_arguments_are_ignored() -> None:
    assert parse(explanation="because") == Call("a")


def test_missing_arguments_are_named_with_what_is_known_and_what_is_not() -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_arguments({"file": "a", "old": "b"}, Span)

    text = str(caught.value)
    assert text == "missing required argument: oldText, newText (known: oldText, newText, count; unknown: file, old)"


@each(
    ("arguments", "path"),
    [
        ({"maxLines": "many"}, "$.maxLines"),
        ({"maxLines": 1.5}, "$.maxLines"),
        ({"ignoreCase": "perhaps"}, "$.ignoreCase"),
        ({"mode": "quick"}, "$.mode"),
        ({"edits": [{"oldText": "x", "newText": "y"}, {"oldText": "x"}]}, "$.edits[1]"),
        ({"edits": [{"oldText": ["x"], "newText": "y"}]}, "$.edits[0].oldText"),
        ({"edits": "[{not json"}, "$.edits[0]"),
        ({"env": {"A": ["1"]}}, "$.env[...]"),
        ({"path": {"a": 1}}, "$.path"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(arguments: dict[str, Json], path: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse(**arguments)

    assert f"`{path}`" in str(caught.value)
