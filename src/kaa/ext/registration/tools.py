"""Registers tools for the model."""

import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar, get_args, overload

import msgspec

from kaa.core.messages import Json
from kaa.core.tool import Tool
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.registration.base import NAME, Registrar, require_function
from kaa.ext.tools import Exposure, RegisteredTool, Risk

# Of a `Tool`. `isinstance` with a protocol takes 25 µs before Python 3.12, and servers of MCP may have 2,000 tools.
_MEMBERS = ("schema", "sequential", "run")
_OF_SERVERS = re.compile(r"mcp(?:__|\Z)", re.IGNORECASE)
_RISKS, _EXPOSURES = get_args(Risk), get_args(Exposure)

ToolFunctionT = TypeVar("ToolFunctionT", bound=Callable[..., Awaitable[object]])


class ToolRegistrations(Registrar):
    """Tools."""

    @overload
    def tool(self, function: ToolFunctionT, /) -> ToolFunctionT: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str = "",
        description: str = "",
        snippet: str = "",
        title: str = "",
        exposure: Exposure = "default",
        risk: Risk = "outside",
        sequential: bool = False,
        lasting: bool = False,
        output_schema: dict[str, Json] | None = None,
    ) -> Callable[[ToolFunctionT], ToolFunctionT]: ...

    def tool(
        self,
        function: ToolFunctionT | None = None,
        /,
        *,
        name: str = "",
        description: str = "",
        snippet: str = "",
        title: str = "",
        exposure: Exposure = "default",
        risk: Risk = "outside",
        sequential: bool = False,
        lasting: bool = False,
        output_schema: dict[str, Json] | None = None,
    ) -> ToolFunctionT | Callable[[ToolFunctionT], ToolFunctionT]:
        """Add an async function as a tool: `@kaa.tool` or `@kaa.tool(risk="read")`.

        The type hints of the parameters give the JSON Schema, and the docstring the descriptions; a parameter `context`
        or of type `ToolContext` gets the context of the call. The function returns a text, a structured value
        (`msgspec.Struct`, dataclass, dict, list), which the model gets as JSON, or a `ToolResult`.

        Args:
            function: async.
            name: as the model calls it; empty for the name of the function.
            description: for the model; empty for the docstring without its sections.
            snippet: as for `register_tool`.
            title: likewise.
            exposure: likewise.
            risk: likewise.
            sequential: the calls of a reply that contains a call of this tool run one after another.
            lasting: as for `register_tool`.
            output_schema: JSON Schema of a structured result; None for that of the annotated type.

        Raises:
            RegistrationError: as for `register_tool`; the function is not async, has no description, or has a parameter
                without a schema.
        """
        names = sys._getframe(1).f_locals  # what annotations that are texts can name besides globals

        def register(function: ToolFunctionT) -> ToolFunctionT:
            from kaa.ext.function_tools import FunctionTool  # lazy: kaa's own tools do not need it

            require_function(function)
            made = FunctionTool(function, name=name, description=description, sequential=sequential, names=names)
            self.register_tool(
                made,
                snippet=snippet,
                title=title,
                exposure=exposure,
                risk=risk,
                lasting=lasting,
                output_schema=made.output_schema if output_schema is None else output_schema,
            )
            return function

        return register if function is None else register(function)

    def register_tool(
        self,
        tool: Tool[ToolContext],
        *,
        snippet: str = "",
        title: str = "",
        exposure: Exposure = "default",
        risk: Risk = "outside",
        lasting: bool = False,
        output_schema: dict[str, Json] | None = None,
    ) -> None:
        """Add a tool for the model, at any time; it is there from the next request on.

        Args:
            tool: the tool, for example a `TypedTool`.
            snippet: one line for the system prompt.
            title: what the user sees of a call behind the name of the tool, instead of its arguments as JSON: text with
                names of parameters, such as `{path} ({count})`.
            exposure: `default`: the model has it. `deferred`: the model has it after the user or an extension activated
                it. `hidden`: only extensions can call it.
            risk: the most that a call can do. It decides when kaa asks the user, so it must be true: the sandbox
                confines what goes through the workspace, not the tool's own code.
            lasting: its results stay as they are where kaa shortens old results: they instruct the model, or hold
                words of the user.
            output_schema: JSON Schema of `details` in its results, for other extensions; the model does not get it.

        Raises:
            RegistrationError: the name is taken (in any case of its letters), invalid or for tools of MCP servers; the
                risk or the exposure is unknown, `title` names no parameter, or `tool` is not a tool.
        """
        self.replace_tools(
            (), [RegisteredTool(tool, snippet, exposure, "", risk, output_schema, title, lasting=lasting)]
        )

    def unregister_tool(self, name: str) -> None:
        """Take back a tool of this extension; the model does not have it from the next request on.

        Raises:
            RegistrationError: this extension has no tool of this name.
        """
        scope = self._open_scope()
        if name not in scope.tools:
            raise RegistrationError(f"extension {scope.extension} has no tool named {name!r}")
        self.replace_tools([name], ())

    def replace_tools(self, old: Iterable[str], new: Iterable[RegisteredTool]) -> None:
        """Take back tools of this extension and add others, as one change, however many they are.

        Args:
            old: names; one that this extension does not have is ignored.
            new: what is added. The fields are the arguments of `register_tool`; `owner` is filled in.

        Raises:
            RegistrationError: as for `register_tool`; then nothing has changed.
        """
        scope = self._open_scope()
        gone = set(old)
        tools = {name: tool for name, tool in scope.tools.items() if name not in gone}
        for registered in new:
            _check(registered)
            name = registered.name
            if not scope.built_in and _OF_SERVERS.match(name):
                raise RegistrationError(f"invalid tool name {name!r}: `mcp` and `mcp__…` are tools of MCP servers")
            if name in tools:
                raise RegistrationError(f"a tool named {name!r} is already registered")
            if name not in scope.tools:
                self._registrations.require_free(scope, "tool", name)
            tools[name] = msgspec.structs.replace(registered, owner=scope.author)
        if tools != scope.tools or list(tools) != list(scope.tools):
            scope.tools = tools
            self._registrations.changed(scope)


def _check(registered: RegisteredTool) -> None:
    """Refuse what is no tool, or what is said of one that cannot be."""
    tool, risk, exposure = registered.tool, registered.risk, registered.exposure
    if not all(hasattr(tool, name) for name in _MEMBERS):
        raise RegistrationError(
            f"invalid tool {tool!r}: use @kaa.tool for a function, TypedTool(name, description, arguments,"
            " function), or an object with schema, sequential and run"
        )
    if not NAME.fullmatch(tool.schema.name):
        raise RegistrationError(f"invalid tool name {tool.schema.name!r}: use 1 to 64 letters, digits, _ and -")
    if risk not in _RISKS:
        raise RegistrationError(f"invalid risk {risk!r}: use {', '.join(_RISKS)}")
    if exposure not in _EXPOSURES:
        raise RegistrationError(f"invalid exposure {exposure!r}: use {', '.join(_EXPOSURES)}")
    if registered.title:
        from kaa.ext.call_titles import checked_title  # lazy: kaa's own tools have none

        checked_title(registered.title, tool.schema.parameters)
