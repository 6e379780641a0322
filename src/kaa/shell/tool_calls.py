"""Gives each tool call its context: the workspace it may use, a way to ask, the conversation's state."""

from collections.abc import Callable
from typing import Any, TypeVar

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import Tool, ToolResult, ToolRun
from kaa.ext.api import ToolContext, WorkspacePermit
from kaa.ext.asking import Asker
from kaa.shell.prompt_profile import BriefTool
from kaa.workspace.protocol import Workspace

StateT = TypeVar("StateT")


class ToolCalls:
    """What the tool calls of one conversation share.

    Args:
        workspace: the sandboxed project.
        asker: asks the person.
        brief: tell the model no more of tools than it needs.
    """

    def __init__(self, workspace: Workspace, asker: Asker, *, brief: bool = False) -> None:
        self.workspace = workspace
        self.asker = asker
        self._brief = brief
        self._state: dict[type[Any], Any] = {}  # any: each class maps to its own object

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """See `ConversationContext.state`."""
        if kind not in self._state:
            self._state[kind] = make()
        kept: StateT = self._state[kind]
        return kept

    def bind(self, tool: Tool[ToolContext]) -> Tool[ToolRun]:
        """The tool as the loop uses it."""
        bound = _BoundTool(tool, self)
        return BriefTool(bound) if self._brief else bound


class _BoundTool:
    """A tool of an extension's in one conversation."""

    def __init__(self, tool: Tool[ToolContext], calls: ToolCalls) -> None:
        self._tool = tool
        self._calls = calls

    @property
    def schema(self) -> ToolSchema:
        return self._tool.schema

    @property
    def sequential(self) -> bool:
        return self._tool.sequential

    async def run(self, arguments: dict[str, Json], run: ToolRun) -> ToolResult:
        return await self._tool.run(arguments, _Call(run, self._calls))


class _Call:
    """The context of one call (`ToolContext`)."""

    def __init__(self, run: ToolRun, calls: ToolCalls) -> None:
        self._calls = calls
        permit = run.permit
        self.workspace = permit.workspace if isinstance(permit, WorkspacePermit) else calls.workspace
        self.asker = calls.asker
        self.call_id = run.call_id
        self.update = run.update

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        return self._calls.state(kind, make)
