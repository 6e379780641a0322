"""Tools that are made from async functions: their schemas, descriptions, results, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, TypedDict

import msgspec
import pytest

from kaa.core.arguments import ArgumentError
from kaa.core.messages import Json
from kaa.core.tool import ToolResult, text_result
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.function_tools import parse_docstring
from kaa.ext.tools import RegisteredTool
from tests.support.agents import run
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun


class Colour(Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """Not for the model."""

    x: int
    y: int = 0


class Size(TypedDict):
    """A typed dictionary."""

    width: int


class Node(msgspec.Struct):
    """Contains itself."""

    children: list[Node]


@pytest.fixture
def registry() -> LoadedRegistry:
    return LoadedRegistry()


def only(registry: LoadedRegistry) -> RegisteredTool:
    (tool,) = registry.tools
    return tool


def call(registry: LoadedRegistry, arguments: dict[str, Json]) -> ToolResult:
    return run(registry.context.bind(only(registry).tool).run(arguments, RecordedRun()))


def properties(registry: LoadedRegistry) -> dict[str, Json]:
    found: dict[str, Json] = only(registry).tool.schema.parameters["properties"]
    return found


def test_a_function_with_hints_and_a_docstring_is_a_tool(registry: LoadedRegistry) -> None:
    @registry.api.tool
    async def repeat(text: str, times: int = 2) -> str:
        """Repeat a text."""
        return text * times

    assert only(registry).tool.schema.description == "Repeat a text."
    assert only(registry).tool.schema.parameters == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["text"],
    }
    assert only(registry).risk == "outside"
    assert call(registry, {"text": "a"}) == text_result("aa")
    assert call(registry, {"text": "a", "times": "3"}) == text_result("aaa")


def test_the_decorator_returns_the_function(registry: LoadedRegistry) -> None:
    @registry.api.tool(risk="read", name="other", description="Said.", snippet="s", sequential=True)
    async def double(text: str) -> str:
        return text * 2

    assert run(double("b")) == "bb"
    tool = only(registry)
    assert (tool.name, tool.risk, tool.snippet, tool.tool.sequential) == ("other", "read", "s", True)
    assert tool.tool.schema.description == "Said."


def test_types_of_parameters(registry: LoadedRegistry) -> None:
    @registry.api.tool
    async def take(
        *,
        colour: Colour,
        points: list[Point],
        size: Size,
        unit: Literal["mm", "cm"],
        either: int | str,
        counts: dict[str, int],
        ratio: float,
        sure: bool,
        maybe: str | None,
        limited: Annotated[int, msgspec.Meta(ge=1)] | None,
        words: list[str] = ["a"],  # noqa: B006 - what authors write
    ) -> str:
        """Take all."""
        return f"{colour} {points} {size} {unit} {either} {counts} {ratio} {sure} {maybe} {limited} {words}"

    schema = properties(registry)
    assert schema["colour"] == {"enum": ["blue", "red"]}
    assert schema["points"]["items"]["properties"] == {"x": {"type": "integer"}, "y": {"type": "integer"}}
    assert schema["size"]["required"] == ["width"]
    assert schema["unit"] == {"enum": ["cm", "mm"]}
    assert schema["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert schema["maybe"] == {"type": "string"}
    assert schema["limited"] == {"type": "integer", "minimum": 1}
    required = only(registry).tool.schema.parameters["required"]
    assert required == ["colour", "points", "size", "unit", "either", "counts", "ratio", "sure"]

    given: dict[str, Json] = {
        "colour": "red",
        "points": [{"x": 1}],
        "size": {"width": 2},
        "unit": "mm",
        "either": 3,
        "counts": {"a": 1},
        "ratio": 0.5,
        "sure": True,
    }
    text = "Colour.RED [Point(x=1, y=0)] {'width': 2} mm 3 {'a': 1} 0.5 True None None ['a']"
    assert call(registry, given) == text_result(text)
    with pytest.raises(ArgumentError, match=r"colour"):
        call(registry, {**given, "colour": "green"})


def test_types_that_are_defined_where_the_extension_registers(registry: LoadedRegistry) -> None:
    class Local(msgspec.Struct):
        name: str

    @registry.api.tool
    async def greet(who: Local) -> str:
        """Greet."""
        return who.name

    assert call(registry, {"who": {"name": "Ada"}}) == text_result("Ada")


class TestDescriptions:
    def test_of_google_docstrings_and_annotations(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def find(pattern: str, path: Annotated[str, "Where to look"], limit: int = 10) -> str:
            """Find files
            by name.

            Hidden files too.

            Args:
                pattern (str): A glob: `*`
                    and `?`.
                path: Not this one.
                limit: At most.

            Returns:
                pattern: not this either.
            """
            return pattern + path + str(limit)

        assert only(registry).tool.schema.description == "Find files by name.\nHidden files too."
        described = {name: schema["description"] for name, schema in properties(registry).items()}
        assert described == {"pattern": "A glob: `*` and `?`.", "path": "Where to look", "limit": "At most."}

    def test_of_numpy_docstrings(self) -> None:
        text = "Find.\n\nParameters\n----------\na : int\n    The a.\nb, c : str, optional\n    Both.\n\n    More.\n"

        found = parse_docstring(text + "\nReturns\n-------\nint\n    What it is.")

        assert found.text == "Find."
        assert found.parameters == {"a": "The a.", "b": "Both. More.", "c": "Both. More."}

    def test_of_plain_docstrings(self) -> None:
        assert parse_docstring("Note: this is text.\nArgs are text too").text == "Note: this is text. Args are text too"


class TestTheContext:
    def test_by_name(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def where(context) -> str:  # type: ignore[no-untyped-def] # as authors do
            """Say where."""
            return str(context.workspace.root)

        assert properties(registry) == {}
        assert call(registry, {}) == text_result("/project")

    def test_by_type(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def where(run: ToolContext, suffix: str) -> str:
            """Say where."""
            return run.workspace.root + suffix

        assert list(properties(registry)) == ["suffix"]
        assert call(registry, {"suffix": "!"}) == text_result("/project!")


class TestResults:
    def test_a_structured_value_is_json_and_details(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def origin() -> Point:
            """Give the origin."""
            return Point(0)

        assert call(registry, {}) == text_result('{"x":0,"y":0}', details={"x": 0, "y": 0})
        schema = only(registry).output_schema
        assert schema is not None
        assert schema["required"] == ["x"]

    def test_a_dictionary(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def counts() -> dict[str, int]:
            """Count."""
            return {"lines": 2}

        assert call(registry, {}).details == {"lines": 2}
        assert only(registry).output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}

    def test_a_tool_result(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def broken() -> ToolResult:
            """Fail."""
            return text_result("no", is_error=True)

        assert call(registry, {}).is_error
        assert only(registry).output_schema is None

    def test_nothing_is_an_error_that_says_what_to_return(self, registry: LoadedRegistry) -> None:
        @registry.api.tool
        async def silent() -> None:
            """Say nothing."""

        with pytest.raises(Exception, match="silent failed: TypeError: it returned None: return a text"):
            call(registry, {})


class TestRefused:
    @pytest.mark.parametrize(
        ("annotation", "reason"),
        [
            ("not a type", "has the type 'not a type', which cannot be read"),
            ("Missing", "has the type 'Missing', which cannot be read: name 'Missing' is not defined"),
            ("RecordedRun", "has the type RecordedRun, which has no JSON Schema: use str, int"),
            ("Node", "has the type Node, which contains itself: use dict"),
            ("dict[Colour, object]|Point|Size", "which has no JSON Schema"),
        ],
    )
    def test_types_without_a_schema(self, registry: LoadedRegistry, annotation: str, reason: str) -> None:
        async def look(what: str) -> str:
            """Look."""
            return what

        look.__annotations__["what"] = annotation

        with pytest.raises(RegistrationError) as caught:
            registry.api.tool(look)
        assert str(caught.value).startswith("tool look: parameter 'what' has the type ")
        assert reason in str(caught.value)

    def test_a_parameter_without_a_type(self, registry: LoadedRegistry) -> None:
        async def look(what) -> str:  # type: ignore[no-untyped-def] # as authors do
            """Look."""
            return str(what)

        with pytest.raises(RegistrationError, match="tool look: parameter 'what' has no type: write, for example, wh"):
            registry.api.tool(look)

    def test_any_number_of_arguments(self, registry: LoadedRegistry) -> None:
        async def look(*names: str) -> str:
            """Look."""
            return str(names)

        with pytest.raises(RegistrationError, match="cannot be an argument: use a parameter with a name"):
            registry.api.tool(look)

    def test_a_function_without_a_description(self, registry: LoadedRegistry) -> None:
        async def look() -> str:
            return ""

        with pytest.raises(RegistrationError, match="tool look has no description: add a docstring"):
            registry.api.tool(look)

    def test_a_function_that_is_not_async(self, registry: LoadedRegistry) -> None:
        def look() -> str:
            """Look."""
            return ""

        with pytest.raises(RegistrationError, match="tool 'look' is not an async function: write async def"):
            registry.api.tool(look)  # type: ignore[type-var] # as authors do

    def test_an_unknown_exposure(self, registry: LoadedRegistry) -> None:
        async def look() -> str:
            """Look."""
            return ""

        with pytest.raises(RegistrationError, match="invalid exposure 'secret': use default, deferred, hidden"):
            registry.api.tool(exposure="secret")(look)  # type: ignore[call-overload] # as authors do
