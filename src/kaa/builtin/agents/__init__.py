"""The tool `agent`: another agent does a task in a context of its own, and its last message is the result."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from kaa.core.tool import ToolResult, TypedTool
from kaa.ext.api import CommandContext, ConversationContext, Extension, ExtensionAPI, Reply, ToolContext

if TYPE_CHECKING:
    from kaa.components.agent_definition import AgentDefinition, ModelRole
    from kaa.components.skill import SkillFile

AGENT_TOOL: Final = "agent"

BUILT_IN: Final = {
    "explore": "searches, changes nothing",
    "general": "works as you do",
    "review": "finds problems in changes",
}
"""kaa's own agents, and what they are for; `running.py` has the rest."""

RUNNING_AGENT: Final[ContextVar[str]] = ContextVar("RUNNING_AGENT", default="")
"""The name of the definition whose agent works; tasks inherit it."""


class AgentEnds(msgspec.Struct):
    """What looks at the end of agents.

    Attributes:
        objection: gets the id of an agent, the name of its definition, its last message and the conversation, and
            returns why it may not end yet; empty if it may.
    """

    objection: Callable[[str, str, str, ConversationContext], Awaitable[str]] | None = None


_DESCRIPTION = """\
Have an agent do a search or side task; you get only its last message. Calls in one reply run at the same time.\
"""
# Descriptions together, and of one.
_ALL_CHARACTERS = 4_000
_LEAST_CHARACTERS = 40
_MOST_CHARACTERS = 200


def agents_extension(
    definitions: "Sequence[AgentDefinition]", models: "Mapping[ModelRole, str]", skills: "Sequence[SkillFile]" = ()
) -> Extension:
    """The extension for the agents of a conversation.

    Args:
        definitions: of the user and the project, each name once. They take the place of kaa's own of the same name.
        models: the user's, as `--model` takes them, by what they are for.
        skills: those of the conversation, for definitions that name some.
    """
    usable = {file.skill.name: file for file in skills if file.skill.for_model}
    named = {one.name: one for one in definitions}
    room = min(max(_ALL_CHARACTERS // max(len(named), 1), _LEAST_CHARACTERS), _MOST_CHARACTERS)
    about = {**BUILT_IN, **{one.name: one.description[:room] for one in definitions}}
    told: list[str] = []
    characters = 0
    for name, text in about.items():
        told.append(f"{name}: {text}")
        characters += len(told[-1])
        if characters > _ALL_CHARACTERS and len(told) < len(about):
            told.append(f"and {len(about) - len(told)} more, which the user can name")
            break
    arguments = msgspec.defstruct(
        "AgentArguments",
        [
            ("agent", Annotated[str, Meta(description="; ".join(told))]),
            ("task", Annotated[str, Meta(description="All it needs: it sees nothing of this conversation")]),
            ("background", Annotated[bool, Meta(description="Continue meanwhile: its report comes later")], False),
            ("worktree", Annotated[bool, Meta(description="It changes a copy of the project")], False),
        ],
        frozen=True,
    )

    async def run(given: msgspec.Struct, context: ToolContext) -> ToolResult:
        from kaa.builtin.agents.running import job_of, run_job  # lazy: few conversations run agents

        fields = msgspec.structs.asdict(given)
        job = job_of(fields["agent"], fields["task"], named, context, isolated=fields["worktree"], skills=usable)
        if not (fields["background"] or job.definition.background):
            return await run_job(job, models, context)
        from kaa.builtin.agents.beside import run_beside  # lazy, as above

        return run_beside(job, models, context)

    async def show(arguments: str, context: CommandContext) -> Reply:
        from kaa.builtin.agents.listing import answer  # lazy, as above

        return Reply(answer(arguments, context.agents, named))

    def extend(api: ExtensionAPI) -> None:
        api.register_tool(
            TypedTool(AGENT_TOOL, _DESCRIPTION, arguments, run),
            risk="read",
            title="{agent}: {task}",
            lasting=True,
        )
        api.register_command(
            "agents",
            "Show the agents that work or have worked, what one said and did; stop one, or tell it something",
            show,
            argument_hint="[ID|stop ID|tell ID TEXT]",
            while_running=True,
        )

    return extend
