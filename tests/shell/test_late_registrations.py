"""Tools and commands that come and go while conversations are open."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from kaa.core.messages import Json
from kaa.core.tool import ToolResult
from kaa.ext.api import CommandAction, CommandContext, ExtensionAPI, Reply, ToolContext, TypedTool, text_result
from kaa.ext.errors import ExtensionError, RegistrationError
from kaa.ext.tools import RegisteredTool
from kaa.shell.host import Host
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.extension_ids import named
from tests.support.model_script import call, say
from tests.support.model_server import Received
from tests.support.person import Person
from tests.support.stage import Stage

_OPTIONS = ConversationOptions(model="m", approvals="never")


class Nothing(msgspec.Struct):
    """No arguments."""


def tool(name: str, act: Callable[[], None] = lambda: None) -> TypedTool[Nothing, ToolContext]:
    """A tool that does `act`."""

    async def see(_arguments: Nothing, _context: ToolContext) -> ToolResult:
        act()
        return text_result(f"{name} ran")

    return TypedTool(name, f"Described as {name}.", Nothing, see)


class Extension:
    """Registers something later, as one does that waits for a server."""

    api: ExtensionAPI

    def __call__(self, api: ExtensionAPI) -> None:
        """Remember the interface."""
        self.api = api


def tools_of(request: Received) -> list[str]:
    """The tools that the model was told of."""
    offered = cast("list[dict[str, dict[str, str]]]", request.json["tools"])
    return [one["function"]["name"] for one in offered]


def prompt_of(request: Received) -> Json:
    """The system prompt of a request."""
    messages = cast("list[dict[str, Json]]", request.json["messages"])
    return messages[0]["content"]


async def answer(_arguments: str, _context: CommandContext) -> CommandAction:
    return Reply("hello")


class TestNames:
    def test_of_another_extension_are_refused_after_loading_too(self, stage: Stage) -> None:
        stage.asker = person = Person()
        extension = Extension()
        run_late: list[str] = []

        async def scenario() -> str:
            host = stage.host()
            workspace = MemoryWorkspace(stage.files)
            conversation = (await host.open(ConversationOptions(model="m", approvals="ask"), workspace)).conversation
            host.extensions.load(named("late"), extension)
            with pytest.raises(
                RegistrationError, match=r"a tool named 'read' is already registered by kaa.builtin.tools"
            ):
                extension.api.register_tool(tool("read", lambda: run_late.append("read")))
            with pytest.raises(
                RegistrationError, match=r"a command named 'model' is already registered by kaa.builtin"
            ):
                extension.api.register_command("model", "Take the name.", answer)
            extension.api.register_tool(tool("other"))  # whoever takes the tools anew
            stage.server.begin([call("read", path="notes.txt"), say("done")])
            await conversation.submit("go")
            await host.close()
            return json.dumps(stage.server.requests[-1].json)

        assert "remember the milk" in run(scenario())
        assert not run_late
        assert not person.questions

    def test_that_the_model_could_mean_for_tools_of_kaa_or_of_servers_are_refused(self, stage: Stage) -> None:
        extension = Extension()

        async def scenario() -> None:
            host = stage.host()
            await host.open(ConversationOptions(model="m"), MemoryWorkspace(stage.files))
            host.extensions.load(named("late"), extension)
            for name in ("Bash", "READ", "mcp", "Mcp", "mcp__lab__sh", "MCP__lab__sh"):
                with pytest.raises(RegistrationError, match=r"is already registered by kaa|are tools of MCP servers"):
                    extension.api.register_tool(tool(name))
            for name in ("mcpx", "read_all", "my_mcp__tool", "MCPX"):  # names of its own are the extension's to choose
                extension.api.register_tool(tool(name))
            extension.api.replace_tools(["read_all"], [RegisteredTool(tool("READ_all"), "")])
            with pytest.raises(ExtensionError, match="'bash' is already registered by kaa"):
                host.extensions.load(named("early"), lambda api: api.register_tool(tool("Bash")))
            await host.close()

        run(scenario())

    def test_of_an_extension_of_all_conversations_are_refused_to_those_of_one(self, stage: Stage) -> None:
        stage.install(
            "import msgspec\nfrom kaa.ext.api import TypedTool\nclass N(msgspec.Struct): pass\n"
            "def extend(api): api.register_tool(TypedTool('look', '', N, None))\n"
        )

        async def scenario(host: Host) -> None:
            host.extensions.load(named("mcp:a"), lambda api: api.register_tool(tool("look")))
            await host.open(_OPTIONS, MemoryWorkspace())
            await host.close()

        run(scenario(stage.host()))

        assert any("a tool named 'look' is already registered by mcp:a" in notice for notice in stage.notices)


class TestTools:
    def test_of_an_extension_that_is_loaded_later_are_in_all_conversations(self, stage: Stage) -> None:
        async def scenario() -> None:
            host = stage.host()
            before = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            host.extensions.load(named("mcp:a"), lambda api: api.register_tool(tool("mcp_a"), risk="read"))
            after = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            assert "mcp_a" in before.active_tools
            assert "mcp_a" in after.active_tools

            host.extensions.unload(named("mcp:a"))
            assert "mcp_a" not in before.active_tools
            assert "mcp_a" not in after.active_tools
            await host.close()

        run(scenario())

    def test_come_and_go_one_by_one(self, stage: Stage) -> None:
        extension = Extension()
        changes: list[tuple[bool, bool]] = []

        async def scenario() -> None:
            host = stage.host()
            host.extensions.load(named("mcp:a"), extension)
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            conversation.on_registrations(
                lambda: changes.append(
                    ("look" in conversation.active_tools, any(one.name == "late" for one in conversation.commands))
                )
            )
            extension.api.register_tool(tool("look"), risk="read")
            extension.api.register_command("late", "Say hello.", answer)
            extension.api.unregister_tool("look")
            with pytest.raises(RegistrationError, match="extension mcp:a has no tool named 'read'"):
                extension.api.unregister_tool("read")
            await host.close()

        run(scenario())

        assert changes[:3] == [(True, False), (True, True), (False, True)]

    def test_that_were_not_chosen_stay_out(self, stage: Stage) -> None:
        async def scenario() -> tuple[str, ...]:
            host = stage.host()
            options = msgspec.structs.replace(_OPTIONS, tools=("read",))
            conversation = (await host.open(options, MemoryWorkspace())).conversation
            host.extensions.load(named("mcp:a"), lambda api: api.register_tool(tool("mcp_a")))
            await host.close()
            return conversation.active_tools

        assert run(scenario()) == ("read",)


class TestPrompt:
    def test_changes_between_runs_only(self, stage: Stage) -> None:
        extension = Extension()

        def add() -> None:
            extension.api.register_tool(tool("second"), snippet="SECOND", risk="read")

        async def scenario() -> list[Received]:
            host = stage.host()
            host.extensions.load(named("mcp:a"), extension)
            extension.api.register_tool(tool("first", add), snippet="FIRST", risk="read")
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            stage.server.begin([call("first"), say("done")])
            await conversation.submit("go")
            sent = list(stage.server.requests)
            stage.server.begin([say("done")])
            await conversation.submit("again")
            sent += stage.server.requests
            host.extensions.unload(named("mcp:a"))
            stage.server.begin([say("done")])
            await conversation.submit("again")
            sent += stage.server.requests
            await host.close()
            return sent

        sent = run(scenario())

        told = [[snippet in str(prompt_of(one)) for snippet in ("FIRST", "SECOND")] for one in sent]
        assert told == [[True, False], [True, False], [True, True], [False, False]]
        assert [[name in tools_of(one) for name in ("first", "second")] for one in sent] == [
            [True, False],
            [True, True],
            [True, True],
            [False, False],
        ]
        assert prompt_of(sent[0]) == prompt_of(sent[1])

    def test_keeps_the_text_of_a_section_that_fails(self, stage: Stage, tmp_path: Path) -> None:
        broken = tmp_path / "broken"

        def extend(api: ExtensionAPI) -> None:
            def section(_: object) -> str:
                if broken.exists():
                    raise ValueError("bug")
                return "SECTION"

            api.add_prompt_section("mine", section)

        async def scenario() -> Json:
            host = stage.host()
            host.extensions.load(named("mine"), extend)
            conversation = (await host.open(_OPTIONS, MemoryWorkspace())).conversation
            broken.touch()
            host.extensions.load(named("mcp:a"), lambda api: api.register_tool(tool("look"), snippet="LOOK"))
            stage.server.begin([say("done")])
            await conversation.submit("go")
            await host.close()
            return prompt_of(stage.server.requests[-1])

        prompt = str(run(scenario()))

        assert "SECTION" in prompt
        assert "look: LOOK" in prompt
        assert any("prompt section 'mine' failed: ValueError: bug" in notice for notice in stage.notices)
