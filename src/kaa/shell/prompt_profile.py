"""How many words kaa makes to the model: the full texts, or short ones where the window is small.

Decided when a conversation is opened and kept until it is closed, also when another model answers: what was sent must
not change.
"""

import re
from typing import Literal, TypeAlias

from kaa.core.messages import Json
from kaa.core.provider import ToolSchema
from kaa.core.tool import Tool, ToolResult, ToolRun, preparation_of
from kaa.llm.models.discovery import SMALL_WINDOW

PromptProfile: TypeAlias = Literal["full", "short"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def profile_for(wanted: Literal["auto", "full", "short"], window: int) -> PromptProfile:
    """The profile in force for a model with a window of so many tokens."""
    if wanted != "auto":
        return wanted
    return "short" if window < SMALL_WINDOW else "full"


class BriefTool:
    """A tool of which the model is told no more than it needs: one sentence, and names and types of the arguments."""

    def __init__(self, tool: Tool[ToolRun]) -> None:
        self._tool = tool
        self.prepare = preparation_of(tool)
        full = tool.schema
        first = _SENTENCE_END.split(full.description, maxsplit=1)[0]
        parameters = _undescribed(full.parameters)
        assert isinstance(parameters, dict)
        self.schema = ToolSchema(full.name, first, parameters)

    @property
    def sequential(self) -> bool:
        return self._tool.sequential

    async def run(self, arguments: dict[str, Json], run: ToolRun) -> ToolResult:
        return await self._tool.run(arguments, run)


def _undescribed(schema: Json) -> Json:
    """The schema without its descriptions; an argument may itself be called `description`."""
    if not isinstance(schema, dict):
        return schema
    brief: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            brief[key] = {name: _undescribed(item) for name, item in value.items()}
        elif key in ("items", "additionalProperties"):
            brief[key] = _undescribed(value)
        elif key in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            brief[key] = [_undescribed(item) for item in value]
        elif key != "description":
            brief[key] = value
    return brief
