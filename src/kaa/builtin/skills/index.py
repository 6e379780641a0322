"""Skills for the model: the index in the system prompt, and the tool `skill`, which gives it the instructions of one.

Models do not use 56 % of the skills that would help them (Vercel, 2026), so the index is always in the prompt, and one
sentence says when to use it. Some skills are carried out by an agent.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from kaa.builtin.skills.instructions import instructions
from kaa.components.skill import Skill, SkillFile
from kaa.core.tool import ToolError, ToolResult, TypedTool, text_result
from kaa.ext.api import PromptContext
from kaa.ext.context import ToolContext

if TYPE_CHECKING:
    from kaa.components.agent_definition import AgentDefinition, ModelRole

_SENTENCE = "Skills: instructions for special tasks. When one fits the task, call `skill` with its name first."
# Descriptions together; a hundred skills then have about 15 tokens each with their names.
_ALL_CHARACTERS = 4_000
_LEAST_CHARACTERS = 48
_MOST_CHARACTERS = 240
CHARACTERS_PER_TOKEN = 4  # as in `kaa.core.usage`
SKILL_TOOL: Final = "skill"
# Names of the skills that the agents around a call carry out; tasks inherit it.
_CARRIED_OUT: ContextVar[tuple[str, ...]] = ContextVar("_CARRIED_OUT", default=())


class SkillIndex:
    """The index.

    Args:
        skills: those that the model may use by itself.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        room = min(max(_ALL_CHARACTERS // max(len(skills), 1), _LEAST_CHARACTERS), _MOST_CHARACTERS)
        self._text = "\n".join([_SENTENCE, *(_line(skill, room) for skill in skills)])

    @property
    def tokens(self) -> int:
        """What it costs in each request, about."""
        return len(self._text) // CHARACTERS_PER_TOKEN

    def section(self, context: PromptContext) -> str | None:
        """The section of the prompt; none for an agent that has not the tool."""
        return self._text if any(tool.name == SKILL_TOOL for tool in context.tools) else None


def _line(skill: Skill, room: int) -> str:
    about = f"({', '.join(skill.paths)}) {skill.description}" if skill.paths else skill.description
    return f"- {skill.name}: {shortened(about, room)}"


def shortened(text: str, room: int) -> str:
    """A text of at most so many characters, cut between words."""
    if len(text) <= room:
        return text
    return f"{text[: room - 1].rpartition(' ')[0].rstrip(',;:.') or text[: room - 1]}…"


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
