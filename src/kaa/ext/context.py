"""What extensions can use of the conversation that they work in. They are loaded once for all conversations."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kaa.core.arguments import ArgumentError
from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import Permit, Tool, ToolError, ToolResult, ToolRun, preparation_of
from kaa.ext.acting import ConversationActions, ConversationControl
from kaa.ext.asking import Asker
from kaa.ext.errors import CommandError
from kaa.ext.misuse import described, line_in
from kaa.ext.results import UnfitResultError, parse_result, shortened
from kaa.host.log import LOG
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.core.budget import Budget
    from kaa.ext.agents import AgentRunner
    from kaa.ext.scope import Scope
    from kaa.ext.showing import ConversationDisplay

StateT = TypeVar("StateT")

# Who makes calls that no model makes. No agent has such a name: those end with a random number.
OWN_CALLER = "kaa"
EXTENSION_CALLER = "extension "


class WorkspacePermit(Permit, frozen=True):
    """Lets one call use another workspace. Both are of the same project and share their background processes."""

    workspace: Workspace


class ConversationContext(ConversationActions):
    """What an extension can use in a conversation, and do with it.

    Args:
        workspace: the project.
        asker: asks the person.
        conversation_id: tells conversations of one process apart.

    Attributes:
        workspace: the project; files and commands go through this and nothing else.
        asker: asks the person (`kaa.ext.asking`, `kaa.ext.questions`).
        conversation_id: the id of the conversation, as questions and notices carry it.
        caller: who makes the calls that a hook sees: empty for the model of the conversation; the id of an agent; or
            `kaa` or an extension, for `call_tool`. The state of the conversation is the same for all of them.
    """

    def __init__(self, workspace: Workspace, asker: Asker, conversation_id: str = "") -> None:
        self.workspace = workspace
        self.asker = asker
        self.conversation_id = conversation_id
        self.caller = ""
        self.extension = ""
        self._control: Callable[[], ConversationControl] | None = None
        self._agents: Callable[[], AgentRunner] | None = None
        self._display: Callable[[], ConversationDisplay] | None = None
        self._scope: Scope | None = None
        self._untimed: Callable[[], AbstractContextManager[None]] = nullcontext
        self._call_id = ""
        self._is_apart = False
        self._show_work: Callable[[str], object] | None = None
        self._kept: dict[type[Any], Any] = {}  # any: each class maps to its own object

    @property
    def model_calls(self) -> bool:
        """Whether a model makes the calls that a hook sees, that of the conversation or an agent, and no extension."""
        return self.caller != OWN_CALLER and not self.caller.startswith(EXTENSION_CALLER)

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """The object of this class that the conversation keeps until it is closed; made where there is none yet."""
        if kind not in self._kept:
            self._kept[kind] = make()
        kept: StateT = self._kept[kind]
        return kept

    def attach(
        self,
        control: Callable[[], ConversationControl],
        agents: "Callable[[], AgentRunner]",
        display: "Callable[[], ConversationDisplay]",
    ) -> None:
        """Let extensions act on the conversation, now that it is there.

        Args:
            control: gives what carries out what they ask for.
            agents: gives what runs agents for them.
            display: gives what they show.
        """
        self._control, self._agents, self._display = control, agents, display

    def __copy__(self) -> Self:
        """Each hook gets one: without this, `copy` takes six times as long."""
        context = self.__class__.__new__(self.__class__)
        context.__dict__ = self.__dict__.copy()
        return context

    def of_extension(
        self, scope: "Scope", untimed: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> "ConversationContext":
        """The same conversation as one extension gets it.

        Args:
            scope: of the extension.
            untimed: stops the clock of its time limit, while it waits for a model.
        """
        context = copy(self)
        context._scope, context.extension, context._untimed = scope, scope.extension.key, untimed
        return context

    def asking(self, asker: Asker) -> "ConversationContext":
        """The same conversation with another way to ask."""
        context = copy(self)
        context.asker = asker
        return context

    def of_agent(
        self, workspace: Workspace, asker: Asker, agents: "Callable[[], AgentRunner]", caller: str
    ) -> "ConversationContext":
        """The same conversation for an agent that a tool runs, or for calls of an extension."""
        context = self.asking(asker)
        context.workspace, context._agents, context.caller = workspace, agents, caller
        return context

    def pooled(self, budget: "Budget") -> "ConversationContext":
        """See `ConversationActions`."""
        runner = self._runner().pooled(budget)
        return self.of_agent(self.workspace, self.asker, lambda: runner, self.caller)

    @asynccontextmanager
    async def in_worktree(self, name: str) -> "AsyncIterator[ConversationContext]":
        """See `ConversationActions`."""
        async with self._runner().in_worktree(name) as (workspace, runner):
            yield self.of_agent(workspace, self.asker, lambda: runner, self.caller)

    def of_call(self, run: ToolRun) -> "ToolContext":
        """What a tool call works with."""
        workspace = run.permit.workspace if isinstance(run.permit, WorkspacePermit) else self.workspace
        return ToolContext(self, workspace, run)

    async def call_tool(
        self, name: str, arguments: dict[str, Json], *, update: Callable[[str, int], object] | None = None
    ) -> ToolResult:
        """See `ConversationActions`."""
        control = self._controlled()
        if self._agents is not None and control.can_call(name):
            from kaa.ext.agents import ToolTask  # lazy: few extensions call tools

            own = self._scope is not None and self._scope.built_in
            with self._untimed():
                return await self._agents().call(
                    ToolTask("" if own else self.extension, self._call_id, name, arguments, update)
                )
        found, scope = control.hidden_tool(name)
        return await self.bind(found.tool, scope).run(arguments, _InnerRun(self._call_id, update))

    def bind(self, tool: Tool["ToolContext"], scope: "Scope | None" = None) -> Tool[ToolRun]:
        """A tool of an extension's as the loop uses it. `scope`: of the extension; None for none."""
        return _BoundTool(tool, self, scope)


class ToolContext(ConversationContext):
    """What a tool call works with.

    Args:
        context: of the conversation.
        workspace: the sandboxed project, or for an approved call one that can do more.
        run: the call.

    Attributes:
        call_id: the id of the tool call.
        update: `update(delta, skipped_bytes=0)` shows more output while the tool runs; `skipped_bytes` were left out
            before it.
    """

    def __init__(self, context: ConversationContext, workspace: Workspace, run: ToolRun) -> None:
        self.__dict__.update(context.__dict__)
        self.workspace = workspace
        self.call_id = self._call_id = run.call_id
        self.update = self._show_work = run.update

    def apart(self, show: Callable[[str], object] | None = None) -> "ToolContext":
        """The same for work that outlives the call. `show`: gets what the card of the call would show."""
        context = copy(self)
        context.call_id = context._call_id = ""
        context._show_work = show
        context._is_apart = True
        return context


class _InnerRun:
    """The run of a tool that an extension calls."""

    permit = None

    def __init__(self, call_id: str, update: Callable[[str, int], object] | None) -> None:
        self.call_id = call_id
        self._update = update

    def update(self, delta: str, skipped_bytes: int = 0) -> None:
        """Whoever calls may watch."""
        if self._update is not None:
            self._update(delta, skipped_bytes)


class _BoundTool:
    """A tool of an extension's in one conversation."""

    def __init__(self, tool: Tool[ToolContext], context: ConversationContext, scope: "Scope | None") -> None:
        self._tool = tool
        self.prepare = preparation_of(tool)
        self._context = context
        self._scope = scope
        self._owner = "" if scope is None else scope.author
        self._costs = None if scope is None else scope.costs

    @property
    def schema(self) -> ToolSchema:
        return self._tool.schema

    @property
    def sequential(self) -> bool:
        return self._tool.sequential

    async def run(self, arguments: dict[str, Json], run: ToolRun) -> ToolResult:
        try:
            # Not before: the conversation is attached to its context after the first tools were bound.
            context = self._context if self._scope is None else self._context.of_extension(self._scope)
            result: object = await self._tool.run(arguments, context.of_call(run))
        except (ToolError, ArgumentError):
            raise
        except CommandError as error:
            raise ToolError(str(error)) from error
        except (Exception, SystemExit) as error:  # isolation boundary: a broken tool must not end the conversation
            LOG.exception("tool %s failed", self.schema.name)
            raise self._failure(f"failed: {described(error)}", line_in(self._owner, error)) from error
        if not isinstance(result, ToolResult):
            raise self._failure(f"returned {shortened(result)}: return a ToolResult, such as text_result(text)")
        try:
            return parse_result(result) if self._owner else result
        except UnfitResultError as error:
            raise self._failure(f"returned {shortened(result)}: {error}") from error

    def _failure(self, problem: str, line: str = "") -> ToolError:
        if self._costs is not None:
            self._costs.failed(f"tool {self.schema.name} {problem}")
        whose = f" (extension {self._owner}{f', {line}' if line else ''})" if self._owner else ""
        return ToolError(f"{self.schema.name} {problem}{whose}")
