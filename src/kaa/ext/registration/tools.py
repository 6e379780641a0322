"""Registers tools for the model."""

from typing import get_args

from kaa.core.tool import Tool
from kaa.ext.context import ToolContext
from kaa.ext.errors import RegistrationError
from kaa.ext.registration.base import NAME, Registrar
from kaa.ext.tools import RegisteredTool, Risk


class ToolRegistrations(Registrar):
    """Tools."""

    def register_tool(
        self, tool: Tool[ToolContext], *, snippet: str = "", default: bool = True, risk: Risk = "outside"
    ) -> None:
        """Add a tool for the model, at any time; it is there from the next request on.

        Args:
            tool: the tool, for example a `TypedTool`.
            snippet: one line for the system prompt.
            default: active unless the user chooses otherwise.
            risk: the most that a call can do. It decides when kaa asks the user, so it must be true: the sandbox
                confines what goes through the workspace, not the tool's own code.

        Raises:
            RegistrationError: the name is taken or invalid, the risk is unknown, or `tool` is not a tool.
        """
        scope = self._open_scope()
        if not isinstance(tool, Tool):
            raise RegistrationError(
                f"invalid tool {tool!r}: use TypedTool(name, description, arguments, function), or an object with"
                " schema, sequential and run"
            )
        name = tool.schema.name
        if not NAME.fullmatch(name):
            raise RegistrationError(f"invalid tool name {name!r}: use 1 to 64 letters, digits, _ and -")
        if name in scope.tools:
            raise RegistrationError(f"a tool named {name!r} is already registered")
        if risk not in get_args(Risk):
            raise RegistrationError(f"invalid risk {risk!r}: use {', '.join(get_args(Risk))}")
        self._registrations.require_free(scope, "tool", name)
        scope.tools[name] = RegisteredTool(tool, snippet, default, scope.author, risk)
        self._registrations.changed(scope)

    def unregister_tool(self, name: str) -> None:
        """Take back a tool of this extension; the model does not have it from the next request on.

        Raises:
            RegistrationError: this extension has no tool of this name.
        """
        scope = self._open_scope()
        if name not in scope.tools:
            raise RegistrationError(f"extension {scope.owner} has no tool named {name!r}")
        del scope.tools[name]
        self._registrations.changed(scope)
