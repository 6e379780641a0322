"""`kaa.testing`: an extension is tested without a terminal, a network and a sandbox."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from kaa.core.messages import Json
from kaa.ext.api import (
    Block,
    Choice,
    Chosen,
    CommandContext,
    ConversationContext,
    ExtensionAPI,
    Reply,
    SessionStart,
    ToolCall,
    ToolContext,
)
from kaa.ext.errors import ExtensionError
from kaa.ext.questions import AllowOnce
from kaa.testing import conversation, reply
from tests.test_import_budget import modules_after

_SOURCE = '''
def extend(kaa):
    @kaa.tool(risk="read")
    async def count_lines(path: str, context) -> str:
        """Count the lines of a text file."""
        return str((await context.workspace.read(path)).data.count(b"\\n"))
'''


def extend(kaa: ExtensionAPI) -> None:
    """Register a tool that shows something, a command that asks, and a hook that forbids."""

    @kaa.tool(risk="write")
    async def note(path: str, context: ToolContext) -> str:
        """Write a note."""
        await context.workspace.write(path, b"noted")
        context.show.notice("noted")
        return "written"

    @kaa.command
    async def deploy(arguments: str, context: CommandContext) -> Reply:
        """Deploy."""
        answer = await context.asker.ask(Choice("Where?", ("staging", "production")))
        return Reply(f"{arguments} to {answer.option}" if isinstance(answer, Chosen) else "nowhere")

    @kaa.before_tool
    async def forbid(call: ToolCall, context: ConversationContext) -> Block | None:
        return Block("No.") if call.name == "read" else None


def test_a_tool_of_a_file_is_called_by_the_scripted_model(tmp_path: Path) -> None:
    (tmp_path / "count_lines.py").write_text(_SOURCE)
    script = [reply(tool_calls=[("count_lines", {"path": "a.txt"})]), reply("2 lines")]

    with conversation(tmp_path / "count_lines.py", script, files={"a.txt": "1\n2\n"}) as kaa:
        assert kaa.say("How long is a.txt?") == "2 lines"
        assert kaa.results == ["2"]
        assert "count_lines" in {tool.name for tool in kaa.model.requests[0].tools}
        assert kaa.model.remaining == 0
        assert kaa.notices == []


def test_files_what_was_shown_and_events() -> None:
    with conversation(extend, [reply(tool_calls=[("note", {"path": "n.txt"})]), reply("done")]) as kaa:
        kaa.say("Note it.")

        assert kaa.workspace.files["/project/n.txt"] == b"noted"
        assert [change.text for change in kaa.shown if hasattr(change, "text")] == ["noted"]
        assert kaa.events


def test_a_command_gets_the_scripted_answers() -> None:
    with conversation(extend, answers=[Chosen("staging")]) as kaa:
        assert kaa.say("/deploy api") == "api to staging"
        assert kaa.asker.questions == ["Where?"]


def test_a_hook_blocks_a_call() -> None:
    with conversation(extend, [reply(tool_calls=[("read", {"path": "a.txt"})]), reply("ok")]) as kaa:
        kaa.say("Read a.txt")

        assert kaa.results == ["No. (extension tested)"]


def test_an_extension_that_cannot_be_loaded_is_an_error() -> None:
    def broken(kaa: ExtensionAPI) -> None:
        raise ValueError("bug")

    with pytest.raises(ExtensionError, match="ValueError: bug"), conversation(broken):
        pass


def test_a_script_and_answers_that_are_too_short_fail_the_test() -> None:
    with conversation(extend) as kaa, pytest.raises(AssertionError, match="the script has 0 items"):
        kaa.say("hi")
    with conversation(extend) as kaa, pytest.raises(AssertionError, match="no answer is left for the question 'Where"):
        kaa.say("/deploy api")


def test_a_question_at_the_start_of_the_session_needs_an_answer() -> None:
    def asking(kaa: ExtensionAPI) -> None:
        @kaa.on_session_start
        async def start(start: SessionStart, context: ConversationContext) -> None:
            await context.asker.ask(Choice("Which?", ("one", "two")))

    with pytest.raises(AssertionError, match="no answer is left for the question 'Which"), conversation(asking):
        pass


class _Settings(msgspec.Struct):
    server: str = "none"


def equipped(kaa: ExtensionAPI) -> None:
    """Register settings, a flag, a shortcut that stores them, and a service."""
    kaa.settings(_Settings)
    kaa.flag("level", "A level", kind=int, default=1)

    @kaa.shortcut("ctrl+alt+s", "Store")
    async def store(context: CommandContext) -> Reply:
        values: list[Json] = [context.settings(_Settings).server, context.flag("level")]
        await context.store("user").set("values", values)
        return Reply("stored")

    @kaa.service
    async def serve(context: ConversationContext) -> None:
        await asyncio.sleep(0)
        context.show.status("served", "serving")


def test_settings_flags_shortcuts_stores_and_services() -> None:
    with conversation(equipped, settings={"server": "ci"}, flags={"level": "3"}) as kaa:
        assert kaa.press("Ctrl+Alt+S") == "stored"
        assert kaa.stored("user") == {"values": ["ci", 3]}
        kaa.wait_until(lambda: bool(kaa.shown))

    with conversation(equipped) as kaa:
        assert kaa.say("/store") == "stored"
        assert kaa.stored("user") == {"values": ["none", 1]}
        with pytest.raises(AssertionError, match=r"no command has the key 'f7' \(keys: ctrl\+alt\+s\)"):
            kaa.press("f7")


def test_an_option_that_the_extension_does_not_have_is_an_error() -> None:
    with pytest.raises(ExtensionError, match="--speed"), conversation(equipped, flags={"speed": "1"}):
        pass


def test_a_tool_that_can_do_anything_is_asked_about() -> None:
    def outside(kaa: ExtensionAPI) -> None:
        @kaa.tool
        async def ring() -> str:
            """Ring the bell."""
            return "rung"

    script = [reply(tool_calls=[("ring", {})]), reply("done")]
    with conversation(outside, script, answers=[AllowOnce()], approvals="ask") as kaa:
        kaa.say("Ring.")

        assert kaa.results == ["rung"]
        assert len(kaa.asker.questions) == 1


def test_kaa_never_loads_it() -> None:
    assert "kaa.testing" not in modules_after("import kaa.frontends.headless, kaa.shell.opening, kaa.ext.api")
