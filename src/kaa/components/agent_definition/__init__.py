"""Definitions of agents: a prompt with the tools, the model and the permissions that an agent shall have.

What seven other agents and kaa call by different names is one `AgentDefinition`. It asks; it grants nothing: whoever
runs an agent gives it at most what the conversation that starts it has.
"""

from typing import Literal, TypeAlias

import msgspec

from kaa.components.tool_names import ToolDialect, ToolPattern
from kaa.core.provider import ThinkingLevel

ModelRole: TypeAlias = Literal["inherit", "large", "small"]
"""A model by its purpose. `inherit`: that of the conversation."""

Permission: TypeAlias = Literal["read-only", "ask", "auto"]
"""What an agent may do, the narrowest first: change nothing; what is approved, and ask the user for the rest; what the
approval mode of kaa allows. None of them goes beyond what the conversation has."""


class AgentModel(msgspec.Struct, frozen=True):
    """The model that a definition wants.

    Attributes:
        role: which one it is; with a reference, which one is the next best if the user does not have that.
        reference: an exact model, as the file names it, with or without its provider; empty: by role alone.
    """

    role: ModelRole = "inherit"
    reference: str = ""


class AgentDefinition(msgspec.Struct, frozen=True):
    """An agent.

    Attributes:
        name: how it is called; letters, digits, `-`, `_`, `.` and `:`.
        description: what it is for; one line.
        tools: kaa's names, and `mcp__SERVER__*` for those of a server; None: all tools.
        excluded_tools: those that it shall not have, in the same form.
        only: for tools with entries here, the calls that it is limited to. What cannot judge calls leaves the tool out.
        denied: calls that it shall not make. What cannot judge calls leaves the tool out.
        agents: the definitions whose agents it may start; None: all, if it has the tool `agent`.
        thinking: which thinking level it wants; None: that of the conversation.
        permission: what it may do; None: as the conversation, but without asking the user.
        background: it does not keep the conversation waiting.
        worktree: it works in a worktree of its own.
        max_turns: after how many turns it ends; None: the definition has no limit.
        skills: names of skills that it has from the beginning.
        mcp_servers: names of the MCP servers that it wants, with those that it defines.
        servers: entries of the MCP servers that it defines, by name, as JSON; empty for none.
        hooks: its hooks, as JSON; empty for none.
        notes: what kaa does not use or understand of it, as the ends of sentences.
    """

    name: str
    description: str
    prompt: str
    dialect: ToolDialect
    tools: tuple[str, ...] | None = None
    excluded_tools: tuple[str, ...] = ()
    only: tuple[ToolPattern, ...] = ()
    denied: tuple[ToolPattern, ...] = ()
    agents: tuple[str, ...] | None = None
    model: AgentModel = AgentModel()
    thinking: ThinkingLevel | None = None
    permission: Permission | None = None
    background: bool = False
    worktree: bool = False
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    servers: str = ""
    hooks: str = ""
    notes: tuple[str, ...] = ()
