"""The index of skills in the system prompt: all that a model knows of a skill before it uses one.

Models do not use 56 % of the skills that would help them (Vercel, 2026), so the index is always in the prompt, and one
sentence says when to use it.
"""

from collections.abc import Sequence

from kaa.builtin.skills.tool import SKILL_TOOL
from kaa.components.skill import Skill
from kaa.ext.api import PromptContext

_SENTENCE = "Skills: instructions for special tasks. When one fits the task, call `skill` with its name first."
# Descriptions together; a hundred skills then have about 15 tokens each with their names.
_ALL_CHARACTERS = 4_000
_LEAST_CHARACTERS = 48
_MOST_CHARACTERS = 240
CHARACTERS_PER_TOKEN = 4  # as in `kaa.core.usage`


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
