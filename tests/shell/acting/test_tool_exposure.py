"""Deferred tools are listed until they are active; hidden tools are called by extensions only."""

import pytest

from kaa.ext.api import CommandContext, ExtensionAPI, RegistrationError, ToolContext, text_result
from kaa.shell.options import ConversationOptions
from tests.support.extended import in_a_command
from tests.support.stage import Stage


def tools(kaa: ExtensionAPI) -> None:
    """Register one deferred and one hidden tool."""

    @kaa.tool(exposure="deferred")
    async def weather(city: str) -> str:
        """Forecast the weather.

        For three days.
        """
        return city

    @kaa.tool(exposure="hidden")
    async def secret(context: ToolContext, name: str) -> str:
        """Read a file."""
        return (await context.workspace.read(name)).data.decode()


def test_deferred_tools_are_listed_until_they_are_active(stage: Stage) -> None:
    seen: list[tuple[bool, bool]] = []

    async def work(context: CommandContext) -> None:
        assert context.deferred_tools["weather"].tool.schema.description.startswith("Forecast the weather.")
        seen.append(("weather" in context.deferred_tools, "weather" in context.active_tools))
        context.activate_tool("weather")
        seen.append(("weather" in context.deferred_tools, "weather" in context.active_tools))

    in_a_command(stage, work, tools)

    assert seen == [(True, False), (False, True)]


def test_a_tool_that_the_user_excluded_is_neither_listed_nor_activated_nor_called(stage: Stage) -> None:
    async def work(context: CommandContext) -> None:
        assert "weather" not in context.deferred_tools
        with pytest.raises(RegistrationError, match="the user excluded the tool weather"):
            context.activate_tool("weather")
        with pytest.raises(RegistrationError, match="no such hidden tool: weather"):
            await context.call_tool("weather", {"city": "Oslo"})

    in_a_command(stage, work, tools, options=ConversationOptions(model="m", exclude_tools=("weather",)))


def test_hidden_tools_are_called_by_extensions_and_nothing_else(stage: Stage) -> None:
    results: list[object] = []

    async def work(context: CommandContext) -> None:
        results.append(await context.call_tool("secret", {"name": "notes.txt"}))
        assert "secret" not in context.active_tools
        with pytest.raises(RegistrationError, match="no such tool: secret"):
            context.activate_tool("secret")
        with pytest.raises(RegistrationError, match=r"no such hidden tool: sing \(hidden tools: secret\)"):
            await context.call_tool("sing", {})
        results.append("done")

    in_a_command(stage, work, tools)

    assert results == [text_result("remember the milk\n"), "done"]
