"""Which tools the model may call, kept in step with extensions that are unloaded and loaded again."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from kaa.core.agent import Agent
from kaa.core.tool import Tool, ToolRun
from kaa.ext.api import RegisteredTool
from kaa.ext.errors import RegistrationError
from kaa.ext.registry import Registry
from kaa.shell.prompt_profile import BriefTool


class ActiveTools:
    """The tools of one conversation.

    Args:
        registry: has all tools.
        select: the tools that are active by default or by the user's choice; asked again when extensions change.
        brief: tell the model no more of them than it needs.
    """

    def __init__(self, registry: Registry, select: Callable[[], Iterable[RegisteredTool]], *, brief: bool) -> None:
        self._registry = registry
        self._select = select
        self._names = [tool.name for tool in select()]
        self._brief = brief

    def bound(self) -> list[Tool[ToolRun]]:
        """The tools there are at the moment, as the loop uses them."""
        known = {tool.name: tool for tool in self._registry.tools}
        return [self._bind(known[name]) for name in self._names if name in known]

    def activate(self, name: str, agent: Agent) -> None:
        """Let the model call one more tool.

        Raises:
            RegistrationError: no such tool is registered.
        """
        self._registry.select_tools([name])
        if name not in self._names:
            self._names.append(name)
            self.refresh(agent)

    def refresh(self, agent: Agent) -> None:
        """Extensions have changed: from the next request on the model has the tools there are now."""
        with suppress(RegistrationError):  # a tool that the user chose is unloaded: nothing new is active
            self._names += [tool.name for tool in self._select() if tool.name not in self._names]
        agent.set_tools(self.bound())

    def _bind(self, registered: RegisteredTool) -> Tool[ToolRun]:
        bound = self._registry.context.bind(registered.tool, registered.owner)
        return BriefTool(bound) if self._brief else bound
