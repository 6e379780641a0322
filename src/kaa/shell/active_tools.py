"""Which tools the model may call, and what its prompt says, kept in step with extensions and their tools.

The full texts, or short ones where the window is small: decided when a conversation is opened and kept until it is
closed, also when another model answers, because what was sent must not change.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Literal, TypeAlias

import msgspec

from kaa.core.agent import Agent
from kaa.core.messages import Json
from kaa.core.provider import TOOL_SEARCH, ToolSchema
from kaa.core.tool import Tool, ToolResult, ToolRun, preparation_of
from kaa.core.usage import size_of_schema
from kaa.ext.api import ContextFile, PromptContext, RegisteredTool
from kaa.ext.errors import RegistrationError
from kaa.ext.registry import Registry, joined_sections
from kaa.ext.scope import Scope
from kaa.llm.models.discovery import SMALL_WINDOW

# Deferred definitions cost nothing but the way to the server, which takes 32 MB at most; these are about 1 MB. Other
# tools are found as text.
_MOST_FINDABLE_TOKENS = 250_000
PromptProfile: TypeAlias = Literal["full", "short"]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


class ActiveTools:
    """The tools of one conversation.

    Args:
        select: the tools that are active by default or by the user's choice; asked again when extensions change.
        prompt: what the system prompt is made from, besides the tools.
        excluded: names of tools that the user does not want: no extension gets them, for itself or for the model.

    Attributes:
        prompt: what the system prompt is made from, besides the tools.
        sections: the system prompt, each section with its name.
        deactivated: names of tools that an extension took from the model.
    """

    def __init__(
        self,
        registry: Registry,
        select: Callable[[], Iterable[RegisteredTool]],
        prompt: PromptContext,
        excluded: Iterable[str] = (),
    ) -> None:
        self._registry = registry
        self._select = select
        self._names = [tool.name for tool in select()]
        self._excluded = frozenset(excluded)
        self.deactivated: set[str] = set()
        self.prompt = prompt
        self.sections = self._made_sections()

    def bound(self) -> list[Tool[ToolRun]]:
        """The tools there are at the moment, as the loop uses them; with the search, those that it can find."""
        found = list(self._registry.all_bound(self._names))
        if self.prompt.profile == "short":
            found = [BriefTool(tool) for tool in found]
        return [*found, *self._findable()]

    def _findable(self) -> Iterator[Tool[ToolRun]]:
        size = 0
        for tool in self._registry.all_bound(self.deferred()) if TOOL_SEARCH in self._names else ():
            size += size_of_schema(tool.schema)
            if size > _MOST_FINDABLE_TOKENS:
                return
            yield _FindableTool(tool)

    def deferred(self) -> dict[str, RegisteredTool]:
        """The deferred tools that are not active, by name."""
        unavailable = self._excluded.union(self._names)
        return {
            tool.name: tool
            for tool in self._registry.tools
            if tool.exposure == "deferred" and tool.name not in unavailable
        }

    def hidden(self, name: str) -> tuple[RegisteredTool, Scope]:
        return self._registry.hidden_tool(name)

    def activate(self, name: str, agent: Agent) -> None:
        """Let the model call one more tool.

        Raises:
            RegistrationError: no such tool is registered, or the user excluded it.
        """
        if name in self._excluded:
            raise RegistrationError(f"the user excluded the tool {name}: leave it inactive")
        self._registry.select_tools([name])
        self.deactivated.discard(name)
        if name not in self._names:
            self._names.append(name)
            self.refresh(agent)

    def deactivate(self, name: str, agent: Agent) -> None:
        """Take a tool from the model. It does not come back when extensions change."""
        if name in self._names:
            self._names.remove(name)
            self.deactivated.add(name)
            self.refresh(agent)

    def instruct(self, files: tuple[ContextFile, ...], agent: Agent) -> None:
        """Quote other files in the prompt, from the next run on."""
        self.prompt = msgspec.structs.replace(self.prompt, context_files=files)
        self.refresh(agent)

    def refresh(self, agent: Agent) -> None:
        """Extensions changed: new tools are in force from the next request on, a new prompt from the next run on.

        A section that fails is reported, and stays as it is.
        """
        with suppress(RegistrationError):  # a tool that the user chose is unloaded: nothing new is active
            known = self.deactivated.union(self._names)
            self._names += [tool.name for tool in self._select() if tool.name not in known]
        agent.set_tools(self.bound())
        self.sections = self._made_sections()
        agent.set_system_prompt(joined_sections(self.sections))

    def _present(self) -> list[RegisteredTool]:
        return [tool for tool in map(self._registry.tool, self._names) if tool is not None]

    def _made_sections(self) -> tuple[tuple[str, str], ...]:
        return self._registry.prompt_sections(msgspec.structs.replace(self.prompt, tools=tuple(self._present())))


class _FindableTool:
    """A deferred tool: a model calls it when it has found it."""

    def __init__(self, tool: Tool[ToolRun]) -> None:
        self._tool = tool
        self.prepare = preparation_of(tool)
        self.schema = msgspec.structs.replace(tool.schema, deferred=True)

    @property
    def sequential(self) -> bool:
        return self._tool.sequential

    async def run(self, arguments: dict[str, Json], run: ToolRun) -> ToolResult:
        return await self._tool.run(arguments, run)


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
