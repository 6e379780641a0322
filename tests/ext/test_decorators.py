"""Registrations as decorators: they return the function, take names and descriptions from it, and preserve types."""

import subprocess
import sys
from pathlib import Path

import pytest

from kaa.core.events import AgentStart, Event, TurnStart
from kaa.core.messages import ImageContent, TextContent, UserMessage, user_message
from kaa.ext.api import CommandContext, ConversationContext, ExtensionAPI, PromptContext, Reply
from kaa.ext.errors import ExtensionError, RegistrationError
from tests.support.agents import run
from tests.support.registries import LoadedRegistry


@pytest.fixture
def registry() -> LoadedRegistry:
    return LoadedRegistry()


class TestCommands:
    def test_have_name_and_description_of_the_function(self, registry: LoadedRegistry) -> None:
        @registry.api.command
        async def todo(arguments: str, context: CommandContext) -> Reply:
            """List the TODOs
            of the project.

            More for readers of the code.
            """
            return Reply(arguments + context.conversation_id)

        assert registry.commands["todo"].description == "List the TODOs of the project."
        assert registry.commands["todo"].handler is todo

    def test_take_the_arguments_of_register_command(self, registry: LoadedRegistry) -> None:
        @registry.api.command(name="to-do", description="List.", argument_hint=None, while_running=True, key="alt+f8")
        async def todo(arguments: str, context: CommandContext) -> Reply:
            return Reply(arguments + context.conversation_id)

        command = registry.commands["to-do"]
        assert (command.description, command.argument_hint, command.while_running) == ("List.", None, True)
        assert command.key == "alt+f8"

    def test_need_a_description(self, registry: LoadedRegistry) -> None:
        async def todo(arguments: str, context: CommandContext) -> None: ...

        with pytest.raises(RegistrationError, match="command todo has no description: add a docstring"):
            registry.api.command(todo)


def test_a_prompt_section_and_a_hook_return_the_function(registry: LoadedRegistry) -> None:
    @registry.api.add_prompt_section("rules")
    def rules(context: PromptContext) -> str:
        return f"Rules of {context.cwd}."

    @registry.api.on_close
    def close() -> None: ...

    assert registry.prompt_sections(PromptContext("/p", "2026-01-01", ())) == (("rules", "Rules of /p."),)
    assert rules(PromptContext("/q", "2026-01-01", ())) == "Rules of /q."
    assert close is not None


class TestEvents:
    def test_of_one_class(self, registry: LoadedRegistry) -> None:
        seen: list[Event] = []

        @registry.api.on_event(TurnStart)
        def follow(event: TurnStart, context: ConversationContext) -> None:
            seen.append(event)

        registry.notify(AgentStart())
        registry.notify(TurnStart(turn=1))

        assert seen == [TurnStart(turn=1)]
        assert follow.__name__ == "follow"

    def test_of_several_classes_and_of_all(self, registry: LoadedRegistry) -> None:
        some: list[Event] = []
        every: list[Event] = []
        registry.api.on_event(TurnStart, AgentStart)(lambda event, _: some.append(event))
        registry.api.on_event(lambda event, _: every.append(event))

        for event in (AgentStart(), TurnStart(turn=1)):
            registry.notify(event)

        assert some == every == [AgentStart(), TurnStart(turn=1)]

    def test_of_a_class_that_is_no_event(self, registry: LoadedRegistry) -> None:
        with pytest.raises(RegistrationError, match="is not a class of events"):
            registry.api.on_event(str)  # type: ignore[type-var] # as authors do


class TestInput:
    def test_texts_are_transformed_in_order_and_the_rest_stays(self, registry: LoadedRegistry) -> None:
        @registry.api.transform_input
        async def expand(text: str, context: ConversationContext) -> str | None:
            return text.replace(":name:", context.workspace.root) if ":name:" in text else None

        @registry.api.transform_input
        async def shout(text: str, _: ConversationContext) -> str:
            return text.upper()

        image = ImageContent("aGk=", "image/png")
        message = user_message("look at :name:", (image,))
        changed = run(registry.run.user_message(message))

        assert changed.content == (TextContent("LOOK AT /PROJECT"), image)
        assert (changed.timestamp, changed.origin) == (message.timestamp, "person")

    def test_a_text_that_a_command_submits_stays(self, registry: LoadedRegistry) -> None:
        @registry.api.transform_input
        async def shout(text: str, _: ConversationContext) -> str:
            return text.upper()

        message = user_message("hi", origin="command")
        assert run(registry.run.user_message(message)) == message

    def test_another_result_is_a_failure(self, registry: LoadedRegistry) -> None:
        async def wrong(text: str, _: ConversationContext) -> int:
            return len(text)

        registry.api.transform_input(wrong)  # type: ignore[type-var] # as authors do

        with pytest.raises(ExtensionError, match="transform_input returned 2: return a text or None"):
            run(registry.run.user_message(UserMessage("hi")))


class TestExposure:
    def test_only_default_tools_are_active_and_hidden_ones_cannot_be(self, registry: LoadedRegistry) -> None:
        async def nothing() -> str:
            """Do nothing."""
            return ""

        def extend(kaa: ExtensionAPI) -> None:
            kaa.tool(name="a")(nothing)
            kaa.tool(name="b", exposure="deferred")(nothing)
            kaa.tool(name="c", exposure="hidden")(nothing)

        registry.load("other", extend)

        assert [tool.name for tool in registry.select_tools()] == ["a"]
        assert [tool.name for tool in registry.select_tools(["b"])] == ["b"]
        with pytest.raises(RegistrationError, match=r"no such tool: c \(known: a, b\)"):
            registry.select_tools(["c"])


_TYPED = '''
from kaa.ext.api import Block, CommandContext, ConversationContext, ExtensionAPI, Reply, ToolCall, ToolContext, events


def extend(kaa: ExtensionAPI) -> None:
    @kaa.tool
    async def count(path: str, context: ToolContext) -> dict[str, int]:
        """Count."""
        return {path: 1}

    @kaa.tool(risk="read")
    async def again(path: str, context: ToolContext) -> int:
        """Count again."""
        return (await count(path, context))[path]

    @kaa.command(while_running=True)
    async def todo(arguments: str, context: CommandContext) -> Reply:
        """List."""
        return Reply(arguments)

    @kaa.before_tool
    async def check(call: ToolCall, context: ConversationContext) -> Block | None:
        return Block(call.name)

    @kaa.on_event(events.TurnEnd)
    def end(event: events.TurnEnd, context: ConversationContext) -> None:
        print(event.message)

    @kaa.on_event(events.TurnEnd, events.TurnStart)
    def both(event: events.TurnEnd | events.TurnStart, context: ConversationContext) -> None:
        print(event)

    @kaa.transform_input
    async def shout(text: str, context: ConversationContext) -> str:
        return text.upper()
'''

_MISTYPED = """
from kaa.ext.api import Block, ConversationContext, ExtensionAPI, events


def extend(kaa: ExtensionAPI) -> None:
    @kaa.before_tool
    async def check(call: str, context: ConversationContext) -> Block | None:
        return Block(call)

    @kaa.on_event(events.TurnEnd)
    def end(event: events.TurnStart, context: ConversationContext) -> None:
        print(event.turn)
"""


def test_strict_type_checkers_see_the_types_of_functions_and_mistakes(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "typed.py").write_text(_TYPED)
    (tmp_path / "mistyped.py").write_text(_MISTYPED)

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "typed.py", "mistyped.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    places = [line.split(": error")[0] for line in done.stdout.splitlines() if ": error" in line]
    assert places == ["mistyped.py:6", "mistyped.py:10"], done.stdout
