"""What extensions can use of the conversation that they work in. They are loaded once for all conversations."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from kaa.core.arguments import ArgumentError
from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import Permit, Tool, ToolError, ToolResult, ToolRun
from kaa.ext.asking import Asker, NobodyToAskError
from kaa.ext.misuse import described, line_in
from kaa.ext.results import UnfitResultError, parse_result, shortened
from kaa.host.log import LOG
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.core.budget import Budget
    from kaa.ext.agents import AgentResult, AgentRunner
    from kaa.ext.costs import Costs

StateT = TypeVar("StateT")


class WorkspacePermit(Permit, frozen=True):
    """Lets one call use another workspace. Both are of the same project and share their background processes."""

    workspace: Workspace


class ConversationContext:
    """What an extension can use in a conversation.

    Args:
        workspace: the project.
        asker: asks the person.
        conversation_id: tells conversations of one process apart.

    Attributes:
        workspace: the project; files and commands go through this and nothing else.
        asker: asks the person (`kaa.ext.asking`, `kaa.ext.questions`).
        conversation_id: the id of the conversation, as questions and notices carry it.
        agents: gives what runs agents for tool calls; None where none can be run.
    """

    def __init__(self, workspace: Workspace, asker: Asker, conversation_id: str = "") -> None:
        self.workspace = workspace
        self.asker = asker
        self.conversation_id = conversation_id
        self.agents: Callable[[], AgentRunner] | None = None
        self._kept: dict[type[Any], Any] = {}  # any: each class maps to its own object

    def state(self, kind: type[StateT], make: Callable[[], StateT]) -> StateT:
        """The object of this class that the conversation keeps until it is closed; made where there is none yet."""
        if kind not in self._kept:
            self._kept[kind] = make()
        kept: StateT = self._kept[kind]
        return kept

    def asking(self, asker: Asker) -> "ConversationContext":
        """The same conversation with another way to ask."""
        context = copy(self)
        context.asker = asker
        return context

    def of_agent(
        self, workspace: Workspace, asker: Asker, agents: "Callable[[], AgentRunner]"
    ) -> "ConversationContext":
        """The same conversation for an agent that a tool runs."""
        context = self.asking(asker)
        context.workspace, context.agents = workspace, agents
        return context

    def of_call(self, run: ToolRun) -> "ToolContext":
        """What a tool call works with."""
        workspace = run.permit.workspace if isinstance(run.permit, WorkspacePermit) else self.workspace
        return ToolContext(self, workspace, run)

    def bind(self, tool: Tool["ToolContext"], owner: str = "", costs: "Costs | None" = None) -> Tool[ToolRun]:
        """A tool of an extension's as the loop uses it.

        Args:
            tool: the tool.
            owner: the extension, for errors; empty for kaa's own.
            costs: counts the tool's failures.
        """
        return _BoundTool(tool, self, owner, costs)


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
        super().__init__(workspace, context.asker, context.conversation_id)
        self._kept = context._kept
        self.agents = context.agents
        self.call_id = run.call_id
        self.update = run.update

    async def run_agent(
        self,
        prompt: str,
        *,
        name: str = "agent",
        system_prompt: str | None = None,
        model: str | None = None,
        tools: Sequence[str] | None = None,
        writable: Sequence[str] | None = (),
        hosts: Sequence[str] | None = (),
        budget: "Budget | None" = None,
    ) -> "AgentResult":
        """Run an agent with a context of its own to its end. Cancelling the call stops it.

        What it uses is paid from the conversation's budget. Its calls need the same approvals as the conversation's
        own; questions carry its id. Nobody can let its calls out of a narrowed workspace.

        Args:
            prompt: the task; all that it knows of the conversation.
            name: the beginning of its id: one line of printable characters, at most 64.
            system_prompt: replaces kaa's own.
            model: as `--model` takes it; None for the model in force.
            tools: names of tools; None for those active ones that work through the workspace.
            writable: directories that it may write, see `Workspace.narrowed`; by default none, None for all that the
                conversation may write.
            hosts: what its commands may reach, likewise.
            budget: limits of its own, besides those of the conversation.

        Raises:
            ValueError: the task is empty.
            TypeError: an argument has a wrong type.
            AgentError: it could not be run, or ended for another reason than that its work was done. As a `ToolError`
                it tells the model why.
        """
        from kaa.ext.agents import AgentError, AgentTask  # lazy: few tools run agents

        if not isinstance(prompt, str):
            raise TypeError(f"the prompt of run_agent is {prompt!r}: use a text")
        if not prompt.strip():
            raise ValueError("the prompt of run_agent is empty: give the agent a task")
        for argument, names in (("tools", tools), ("writable", writable), ("hosts", hosts)):
            if isinstance(names, str):
                raise TypeError(f"{argument} of run_agent is the text {names!r}: use a list, [{names!r}]")
        if self.agents is None:
            raise AgentError("No agent can be run here.")
        return await self.agents().run(
            AgentTask(prompt, self.call_id, name, system_prompt, model, tools, writable, hosts, budget)
        )


class _BoundTool:
    """A tool of an extension's in one conversation."""

    def __init__(
        self, tool: Tool[ToolContext], context: ConversationContext, owner: str, costs: "Costs | None"
    ) -> None:
        self._tool = tool
        self._context = context
        self._owner = owner
        self._costs = costs

    @property
    def schema(self) -> ToolSchema:
        return self._tool.schema

    @property
    def sequential(self) -> bool:
        return self._tool.sequential

    async def run(self, arguments: dict[str, Json], run: ToolRun) -> ToolResult:
        try:
            result: object = await self._tool.run(arguments, self._context.of_call(run))
        except (ToolError, ArgumentError):
            raise
        except NobodyToAskError as error:
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
