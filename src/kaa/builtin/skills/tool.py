"""The tool `skill`: gives the model the instructions of a skill, or has an agent carry them out."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from kaa.builtin.skills.instructions import instructions
from kaa.components.skill import SkillFile
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.context import ToolContext

if TYPE_CHECKING:
    from kaa.components.agent_definition import AgentDefinition, ModelRole

SKILL_TOOL: Final = "skill"

# Names of the skills that the agents around a call carry out; tasks inherit it.
_CARRIED_OUT: ContextVar[tuple[str, ...]] = ContextVar("_CARRIED_OUT", default=())


class SkillArguments(msgspec.Struct, frozen=True):
    """Which skill to use."""

    name: str
    arguments: Annotated[str, Meta(description="What the skill is to work on, if it takes arguments")] = ""


def skill_tool(
    skills: Mapping[str, SkillFile], definitions: "Mapping[str, AgentDefinition]", models: "Mapping[ModelRole, str]"
) -> TypedTool[SkillArguments, ToolContext]:
    """The tool.

    Args:
        skills: those that the model may use by itself, by name.
        definitions: of agents that carry skills out, by name.
        models: the user's, as `--model` takes them, by what they are for.
    """

    async def use(given: SkillArguments, context: ToolContext) -> ToolResult:
        name = _full_name(given.name.strip().lstrip("/$").removeprefix("skill:"), skills)
        if (file := skills.get(name)) is None:
            raise ToolError(f"There is no skill {given.name!r}. Skills: {', '.join(skills)}.")
        if name in (within := _CARRIED_OUT.get()):
            raise ToolError(f"You carry out the skill {name} already: follow its instructions yourself.")
        text = await instructions(file, given.arguments, context)
        if not file.skill.forks:
            return text_result(text)
        from kaa.builtin.skills.forking import carried_out  # lazy: few skills have agents of their own

        before = _CARRIED_OUT.set((*within, name))
        try:
            return await carried_out(file.skill, text, definitions, models, context)
        finally:
            _CARRIED_OUT.reset(before)

    return TypedTool(SKILL_TOOL, "Get the instructions of a skill.", SkillArguments, use)


def _full_name(name: str, skills: Mapping[str, SkillFile]) -> str:
    """The name of a skill with that of its plugin, if it was given without and only one plugin has such a skill."""
    if name in skills:
        return name
    found = [one for one in skills if one.endswith(f":{name}")]
    return found[0] if len(found) == 1 else name
