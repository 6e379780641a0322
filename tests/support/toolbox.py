"""The built-in tools over some workspace, called the way the loop calls them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from kaa.builtin.tools import extend
from kaa.core.messages import Json, Message, TextContent
from kaa.core.tool import Permit, ToolError, ToolResult
from kaa.ext.command_reading import CommandReading
from kaa.ext.features import Features
from kaa.ext.showing import ConversationDisplay
from kaa.shell.approvals.grammar import read
from kaa.shell.approvals.reach import reach
from kaa.workspace.protocol import Workspace
from tests.support.registries import LoadedRegistry

if TYPE_CHECKING:
    from kaa.ext.acting import ConversationControl
    from kaa.ext.agents import AgentRunner


class RecordedRun:
    """A run of a tool that remembers its updates."""

    call_id = "call-1"

    def __init__(self, permit: Permit | None = None) -> None:
        self.permit = permit
        self.updates: list[tuple[str, int]] = []

    def update(self, delta: str, skipped_bytes: int = 0) -> None:
        """Remember it."""
        self.updates.append((delta, skipped_bytes))


class _NewSession:
    """A session in which nothing was said."""

    messages: Sequence[Message] = ()


class _Control:
    """Of a conversation that has just begun: what tools ask of one."""

    features = Features()

    def session(self, _extension: str) -> _NewSession:
        """That of the conversation."""
        return _NewSession()

    def read_command(self, command: str) -> CommandReading:
        """As approvals read it."""
        found = reach(read(command))
        redirections = tuple(text for simple in found.simple for text in simple.redirections)
        return CommandReading(found.commands, redirections, found.complete)


class Toolbox:
    """All built-in tools, by name."""

    def __init__(self, workspace: Workspace) -> None:
        registry = LoadedRegistry(workspace=workspace)
        self._context = registry.context
        display = ConversationDisplay("", None, lambda _failure: None)
        self._context.attach(
            lambda: cast("ConversationControl", _Control()), lambda: cast("AgentRunner", None), lambda: display
        )
        registry.load("tools", extend, built_in=True)
        self.registered = {tool.name: tool for tool in registry.tools}

    async def call(self, name: str, run: RecordedRun | None = None, **arguments: Json) -> ToolResult:
        """The result of one call."""
        return await self._context.bind(self.registered[name].tool).run(arguments, run or RecordedRun())

    async def text(self, name: str, **arguments: Json) -> str:
        """The text of a call that succeeds."""
        result = await self.call(name, **arguments)
        assert not result.is_error
        return text_of(result)

    async def failure(self, name: str, **arguments: Json) -> str:
        """What the model is told by a call that fails."""
        try:
            result = await self.call(name, **arguments)
        except ToolError as error:
            return str(error)
        assert result.is_error
        return text_of(result)


def text_of(result: ToolResult) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
