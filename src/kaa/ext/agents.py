"""What an extension has kaa run: agents (`run_agent`) and tools (`call_tool`), and what came of them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

import msgspec

from kaa.core.budget import Budget, BudgetUsage
from kaa.core.events import RunEndReason
from kaa.core.messages import Json
from kaa.core.provider import ThinkingLevel
from kaa.core.tool import ToolError, ToolResult
from kaa.workspace.protocol import Workspace

if TYPE_CHECKING:
    from kaa.session.transcript import Transcript


class AgentTask(msgspec.Struct, frozen=True):
    """What an agent is to do, and with what; the fields are the arguments of `ToolContext.run_agent`.

    `reports`: it outlives the call that began it, and a message brings its report.
    """

    prompt: str
    call_id: str
    name: str
    system_prompt: str | None
    model: str | Sequence[str] | None
    thinking: ThinkingLevel | None
    tools: Sequence[str] | None
    writable: Sequence[str] | None
    hosts: Sequence[str] | None
    budget: Budget | None
    asks: bool
    update: Callable[[str], object] | None = None
    resume: str | None = None
    only: Sequence[str] = ()
    denied: Sequence[str] = ()
    isolated: bool = False
    reports: bool = False


class ToolTask(msgspec.Struct, frozen=True):
    """A tool call that an extension asks for.

    Attributes:
        extension: its name, which events and questions carry; empty for a part of kaa.
        call_id: the call of a tool in which it asks; empty if there is none.
        name: of the tool.
        arguments: of the call.
        update: gets the output of the call while it runs, and how many bytes were left out before it.
    """

    extension: str
    call_id: str
    name: str
    arguments: dict[str, Json]
    update: Callable[[str, int], object] | None = None


class AgentResult(msgspec.Struct, frozen=True):
    """What came of it.

    Attributes:
        agent: its id, which its events, questions and entries carry.
        text: its last reply.
        used: by it and the agents that its tools ran.
        reason: why it ended.
        changed: the files that its tools `edit` and `write` changed.
        worktree: the worktree that has its changes; empty if it worked in the project, or changed nothing.
        unmerged: what no merge of the worktree takes over, because git ignores or cannot add it.
    """

    agent: str
    text: str
    used: BudgetUsage
    reason: RunEndReason
    changed: tuple[str, ...] = ()
    worktree: str = ""
    unmerged: tuple[str, ...] = ()


class AgentError(ToolError):
    """The agent did not finish its work, or could not begin; as a tool's error it tells the model why.

    Args:
        message: why.
        result: what came of it; None if it did not begin.
    """

    def __init__(self, message: str, result: AgentResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class AgentStatus(msgspec.Struct, frozen=True):
    """An agent that works, or has worked, for a conversation.

    Attributes:
        agent: its id.
        parent: the id of the agent that called for it; None for the conversation's own.
        task: the first line of what it is to do.
        session: the file of its session; None where none is kept.
        state: `working`; or why it ended, as `RunEndReason` has it; `interrupted` if kaa ended before.
        doing: its last call, for people, while it works.
        used: by it and the agents that its tools ran, since it began or went on.
        seconds: how long it took, or takes already.
    """

    agent: str
    parent: str | None
    task: str
    session: str | None
    state: str
    doing: str = ""
    used: BudgetUsage = BudgetUsage()
    seconds: float = 0.0


class AgentControl(Protocol):
    """The agents of a conversation, for those who watch over them."""

    def list(self) -> Sequence[AgentStatus]:
        """All of them, in the order in which they first began."""

    def steer(self, agent_id: str, text: str) -> None:
        """Tell an agent something, as its user: it gets it when its present calls are done.

        Raises:
            AgentError: it is not at work.
        """

    def stop(self, agent_id: str) -> None:
        """Stop an agent; whoever called for it is told.

        Raises:
            AgentError: it is not at work.
        """

    def transcript(self, agent_id: str) -> str:
        """What it was told, said and did until now, as Markdown.

        Raises:
            AgentError: there is no such agent, or its session cannot be read.
        """

    def entries(self, agent_id: str) -> "Transcript":
        """What is shown of its session until now, entry by entry.

        Raises:
            AgentError: there is no such agent, or its session cannot be read.
        """


class AgentRunner(Protocol):
    """Runs agents, and tools for extensions; kaa has one for each conversation and for each agent in it.

    Attributes:
        control: shows, steers and stops the agents of the conversation.
    """

    @property
    def control(self) -> AgentControl:
        """See above."""

    async def run(self, task: AgentTask) -> AgentResult:
        """Run an agent to its end. Cancelling the call stops it.

        Raises:
            AgentError: it did not finish.
        """

    async def call(self, task: ToolTask) -> ToolResult:
        """Run a tool as a call of the model's: between the same hooks and approvals. Cancelling the call stops it.

        Raises:
            AgentError: it was not run, because too many calls are within each other.
        """

    def pooled(self, budget: Budget) -> "AgentRunner":
        """What runs agents that pay from one budget. See `ConversationActions.pooled`."""

    def in_worktree(self, name: str) -> "AbstractAsyncContextManager[tuple[Workspace, AgentRunner]]":
        """A worktree, and what runs agents and tools in it. See `ConversationActions.in_worktree`."""
