"""Skills that an agent carries out (`context: fork`): which one, with which tools and which model."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from kaa.builtin.agents.running import definition_named, job_of, run_job, with_edits
from kaa.components.agent_definition import AgentDefinition, ModelRole
from kaa.components.agent_definition.models import model_choice, queries_for, thinking_level
from kaa.components.agent_definition.tools import listed_tools
from kaa.components.skill import Skill
from kaa.core.tool import ToolResult, text_result
from kaa.ext.context import ToolContext


async def carried_out(
    skill: Skill,
    text: str,
    definitions: Mapping[str, AgentDefinition],
    models: Mapping[ModelRole, str],
    context: ToolContext,
) -> ToolResult:
    """Have an agent carry a skill out. The result is its last message.

    Args:
        definitions: of agents, by name.
        models: the user's, by what they are for.

    Raises:
        ToolError: the agent could not be run or did not finish.
    """
    level = thinking_level(skill.effort)
    definition = definition_named(skill.agent, definitions) if skill.agent else None
    if skill.agent and definition is None:
        context.show.notice(f"The skill {skill.name} wants an agent {skill.agent}, which is not there: another does it")
    if definition is not None:
        job = job_of(definition.name, text, definitions, context)
        own = msgspec.structs.replace(
            job.definition,
            model=model_choice(skill.model) if skill.model else definition.model,
            thinking=level or definition.thinking,
        )
        tools = [tool for tool in job.tools if tool not in _excluded(skill, job.tools)]
        return await run_job(msgspec.structs.replace(job, definition=own, tools=tools), models, context)
    active = with_edits(context.active_tools)
    excluded = _excluded(skill, active)
    result = await context.run_agent(
        text,
        name=f"skill {skill.name}",
        model=queries_for(model_choice(skill.model), models),
        thinking=level,
        tools=[tool for tool in active if tool not in excluded] if excluded else None,
        writable=None,
        hosts=None,
    )
    return text_result(result.text)


def _excluded(skill: Skill, tools: Sequence[str]) -> list[str]:
    """The tools that the skill does not want. One of which it does not want some calls is left out as a whole."""
    unwanted = listed_tools(None, [name.partition("(")[0] for name in skill.excluded_tools], "claude").excluded
    return [tool for tool in tools if any(fnmatchcase(tool, pattern) for pattern in unwanted)]
