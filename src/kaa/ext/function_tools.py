"""Makes a tool from an async function: its type hints give the JSON Schema, its docstring the descriptions."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from kaa.core.arguments import parse_arguments, schema_of, schema_of_type
from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import ToolResult, text_result
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError

ToolFunction: TypeAlias = Callable[..., Awaitable[object]]

_CONTEXT = "context"
_USABLE = (
    "use str, int, float, bool, list, dict, Literal, an Enum, a msgspec.Struct, a dataclass, a TypedDict, or a union"
)
# Annotations may name these although the module imports them only for type checkers.
_KNOWN: Mapping[str, object] = {"ToolContext": ToolContext, "ToolResult": ToolResult}


class FunctionTool:
    """A tool whose arguments are the parameters of a function.

    Args:
        function: async. Its parameter `context`, or the one of type `ToolContext`, gets the context of the call.
        name: as the model calls it; empty for the name of the function.
        description: for the model; empty for the docstring without its sections.
        sequential: see `kaa.core.tool.Tool`.
        names: what the annotations can name besides the globals of the function.

    Attributes:
        schema: name, description and JSON Schema.
        sequential: whether a batch with this tool may not run in parallel.
        output_schema: JSON Schema of a structured result; None for a text.

    Raises:
        RegistrationError: the function is not async, has no description, or has a parameter without a schema.
    """

    def __init__(
        self,
        function: ToolFunction,
        *,
        name: str = "",
        description: str = "",
        sequential: bool = False,
        names: Mapping[str, object] | None = None,
    ) -> None:
        self._function = function
        self._name = name or getattr(function, "__name__", "")
        if not inspect.iscoroutinefunction(function):
            raise RegistrationError(f"tool {self._name or function!r} is not an async function: write async def")
        self._names = {**_KNOWN, **(names or {})}
        docstring = parse_docstring(inspect.cleandoc(function.__doc__ or ""))
        if not (description or docstring.text):
            raise RegistrationError(
                f"tool {self._name} has no description: add a docstring, which tells the model what the tool does"
            )
        self._context: str | None = None
        self._arguments = self._read_parameters(docstring.parameters)
        self.sequential = sequential
        self.schema = ToolSchema(self._name, description or docstring.text, schema_of(self._arguments))
        self.output_schema = self._read_result()

    async def run(self, arguments: dict[str, Json], run: ToolContext) -> ToolResult:
        """Coerce and validate the arguments, call the function, and make a result of what it returns."""
        parsed = parse_arguments(arguments, self._arguments)
        given = {field: getattr(parsed, field) for field in parsed.__struct_fields__}
        if self._context is not None:
            given[self._context] = run
        return _result(await self._function(**given))

    def _read_parameters(self, descriptions: Mapping[str, str]) -> type[msgspec.Struct]:
        """A struct with a field for each parameter."""
        fields: list[tuple[str, object, object]] = []
        for parameter in inspect.signature(self._function).parameters.values():
            name, kind = parameter.name, parameter.kind
            if kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self._error(f"parameter {parameter}", "cannot be an argument: use a parameter with a name")
            hint = self._hint(name, parameter.annotation) if name != _CONTEXT else ToolContext
            if hint is ToolContext:
                self._context = name
            else:
                described = _described(hint, descriptions.get(name, ""))
                self._require_schema(f"parameter {name!r}", hint, described)
                fields.append((name, described, _default(parameter.default, hint)))
        return msgspec.defstruct(self._name, cast("Any", fields), kw_only=True, frozen=True)  # any: msgspec's own type

    def _read_result(self) -> dict[str, Json] | None:
        annotation = inspect.signature(self._function).return_annotation
        if annotation is inspect.Signature.empty:
            return None
        hint = self._hint("return", annotation)
        if any(one in (str, ToolResult, NoneType, object, Any) for one in _alternatives(hint)):
            return None
        return self._require_schema("the returned value", hint, hint)

    def _hint(self, name: str, annotation: object) -> object:
        """The type that an annotation means, also as text."""
        if annotation is inspect.Parameter.empty:
            raise self._error(f"parameter {name!r}", f"has no type: write, for example, {name}: str")
        place = "the returned value" if name == "return" else f"parameter {name!r}"
        holder = SimpleNamespace(__annotations__={name: annotation})
        try:
            found = get_type_hints(holder, getattr(self._function, "__globals__", {}), self._names, include_extras=True)
        except (NameError, AttributeError, TypeError, SyntaxError) as error:
            raise self._error(place, f"has the type {annotation!r}, which cannot be read: {error}") from error
        return found[name]

    def _require_schema(self, place: str, hint: object, described: object) -> dict[str, Json]:
        try:
            return schema_of_type(described)
        except (TypeError, ValueError) as error:
            reason = f"has the type {_shown(hint)}, which has no JSON Schema: {_USABLE}"
            raise self._error(place, reason) from error
        except RecursionError as error:
            raise self._error(place, f"has the type {_shown(hint)}, which contains itself: use dict") from error

    def _error(self, place: str, reason: str) -> RegistrationError:
        return RegistrationError(f"tool {self._name}: {place} {reason}")


def _described(hint: object, description: str) -> object:
    """A type with the description of its parameter, unless the annotation has one; a text in it is a description."""
    metadata: tuple[object, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *given = get_args(hint)
        metadata = tuple(msgspec.Meta(description=one) if isinstance(one, str) else one for one in given)
    if description and not any(isinstance(one, msgspec.Meta) and one.description for one in metadata):
        metadata = (*metadata, msgspec.Meta(description=description))
    for one in metadata:
        hint = Annotated[hint, one]
    return hint


def _alternatives(hint: object) -> tuple[object, ...]:
    """The types that a union lists, or the type itself."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _default(default: object, hint: object) -> object:
    """What a field has without an argument. A parameter that can be None is optional."""
    if default is inspect.Parameter.empty:
        return None if NoneType in _alternatives(hint) else msgspec.NODEFAULT
    if isinstance(default, list | dict | set):
        return msgspec.field(default_factory=lambda: type(default)(default))
    return default


def _result(returned: object) -> ToolResult:
    """The result of a call; a structured value is JSON for the model and stays readable in `details`."""
    match returned:
        case ToolResult():
            return returned
        case str():
            return text_result(returned)
        case None:
            raise TypeError("it returned None: return a text for the model, a structured value or a ToolResult")
        case _:
            details: Json = msgspec.to_builtins(returned, str_keys=True)
            return text_result(msgspec.json.encode(details).decode(), details=details)


def _shown(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)


_PARAMETERS = ("args", "arguments", "parameters", "other parameters")
_SECTIONS = (
    *_PARAMETERS,
    *("returns", "return", "yields", "yield", "raises", "raise", "warns", "warnings", "warning", "attributes"),
    *("example", "examples", "note", "notes", "references", "see also", "todo"),
)


class _Docstring(msgspec.Struct, frozen=True):
    """A docstring in parts.

    Attributes:
        text: everything before the first section, one line for each paragraph.
        parameters: descriptions by the name of the parameter.
    """

    text: str
    parameters: dict[str, str]


def parse_docstring(docstring: str) -> _Docstring:
    """Divide a docstring, without its indentation (`inspect.cleandoc`), into its parts."""
    text: list[str] = []
    parameters: dict[str, str] = {}
    section: str | None = None
    body: list[str] = []
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        title = _title(line, following)
        if title is None:
            (text if section is None else body).append(line)
            continue
        _read_section(section, body, parameters)
        section, body = title, []
    _read_section(section, body, parameters)
    return _Docstring(_paragraphs(text), parameters)


def _title(line: str, following: str) -> str | None:
    """The section that a line begins; None for a line of text."""
    name = line.strip().lower()
    if line[:1].isspace() or name.removesuffix(":") not in _SECTIONS:
        return None
    underlined = following != "" and set(following) == {"-"}
    return name.removesuffix(":") if name.endswith(":") or underlined else None


def _read_section(section: str | None, body: list[str], parameters: dict[str, str]) -> None:
    """Add what the body of a section describes: entries at its smallest indentation, their texts indented further."""
    if section not in _PARAMETERS:
        return
    lines = [line for line in body if line.strip() and set(line.strip()) != {"-"}]
    margin = min((_indentation(line) for line in lines), default=0)
    names: list[str] = []
    for line in lines:
        if _indentation(line) > margin:
            more = [line.strip()]
        else:
            names, more = _described_names(line.strip())
        for name in names:
            parameters[name] = " ".join([*filter(None, [parameters.get(name, "")]), *filter(None, more)])


def _described_names(line: str) -> tuple[list[str], list[str]]:
    """The names that a line describes, and the description if it is on this line.

    Google's style has `name (type): description`, NumPy's `name, name : type`.
    """
    head, separator, rest = line.partition(":")
    if separator and head.endswith(" "):  # NumPy's: behind it is the type
        rest = ""
    names = [name.partition("(")[0].strip().lstrip("*") for name in head.partition("(")[0].split(",")]
    return names, [rest.strip()]


def _paragraphs(lines: list[str]) -> str:
    paragraphs = "\n".join(line.strip() for line in lines).strip().split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
