"""Prompts of servers as slash commands."""

from base64 import b64decode

import msgspec
import pytest

from kaa.builtin.mcp import mcp_extension
from kaa.builtin.mcp.prompts import argument_at_end, arguments_in
from kaa.core.messages import UserMessage
from kaa.ext.api import CommandContext
from kaa.ext.errors import CommandError
from kaa.mcp.contents import ImagePart, PromptMessage, PromptResult, ResourcePart, TextPart
from kaa.mcp.manifest import PromptArgument, PromptInfo, ServerFeatures
from kaa.shell.conversation import CommandNotRun, CommandReply
from kaa.shell.host import HostedConversation
from tests.support.mcp_host import MemoryMcpHost, MemoryMcpServer, manifest, server
from tests.support.mcp_stage import play_with
from tests.support.model_script import say
from tests.support.registries import LoadedRegistry
from tests.support.rich_session import png
from tests.support.stage import Stage
from tests.support.tables import each

_REVIEW = PromptInfo(
    "review",
    description="Reviews\na change.",
    arguments=(PromptArgument("pr", "The number", required=True), PromptArgument("focus")),
)


def github(*prompts: PromptInfo, state: str = "known") -> MemoryMcpServer:
    offered = msgspec.structs.replace(
        manifest(), prompts=prompts or (_REVIEW,), capabilities=ServerFeatures(prompts=True, completions=True)
    )
    made = server("github", state=state, manifest=offered)  # type: ignore[arg-type]  # one of the states
    made.learned = offered
    made.prompts = {"review": PromptResult((PromptMessage("user", TextPart("Review it.")),))}
    return made


@each(
    ("text", "given"),
    [
        ("", {}),
        ("12", {"pr": "12"}),
        ("12 speed", {"pr": "12", "focus": "speed"}),
        ('12 "speed and size"', {"pr": "12", "focus": "speed and size"}),
        ("12 speed and size", {"pr": "12", "focus": "speed and size"}),
        ("focus=speed 12", {"pr": "12", "focus": "speed"}),
        ('focus="speed and size" pr=12', {"pr": "12", "focus": "speed and size"}),
        ("12 don't x=y", {"pr": "12", "focus": "don't x=y"}),
        ("C:\\x #1", {"pr": "C:\\x", "focus": "#1"}),
    ],
)
def test_values_stand_in_order_or_by_name(text: str, given: dict[str, str]) -> None:
    assert arguments_in(text, _REVIEW.arguments) == given


def test_a_quotation_mark_must_be_closed() -> None:
    with pytest.raises(CommandError, match="a quotation mark is not closed"):
        arguments_in('12 "speed', _REVIEW.arguments)


@each(
    ("text", "name", "value", "before"),
    [
        ("", "pr", "", ""),
        ("1", "pr", "1", ""),
        ("12 ", "focus", "", "12 "),
        ("12 sp", "focus", "sp", "12 "),
        ('12 "speed an', "focus", "speed an", "12 "),
        ("focus=sp", "focus", "sp", "focus="),
        ("focus=sp 1", "pr", "1", "focus=sp "),
    ],
)
def test_the_argument_that_is_typed_is_found(text: str, name: str, value: str, before: str) -> None:
    argument, typed, stands = argument_at_end(text, _REVIEW.arguments)

    assert argument is not None
    assert (argument.name, typed, stands) == (name, value, before)


def test_a_prompt_is_a_command_and_its_text_goes_to_the_model(stage: Stage) -> None:
    offered = github()

    async def scene(hosted: HostedConversation) -> None:
        stage.server.begin([say("Fine.")])
        await hosted.work.command('/github:review 12 "the tests"')
        [command] = [one for one in hosted.conversation.commands if one.name == "github:review"]
        assert (command.description, command.argument_hint) == ("Reviews a change.", "pr [focus]")
        [asked] = [message for message in hosted.conversation.messages if isinstance(message, UserMessage)]
        assert asked.text == "Review it."

    play_with(stage, MemoryMcpHost([offered]), scene)

    assert offered.filled == [{"pr": "12", "focus": "the tests"}]


def test_roles_images_and_resources_of_several_messages_are_kept(stage: Stage) -> None:
    offered = github()
    offered.prompts["review"] = PromptResult(
        (
            PromptMessage("user", TextPart("Look:")),
            PromptMessage("user", ImagePart(b64decode(png(4, 4)), "image/png")),
            PromptMessage("user", ResourcePart("pr://12", "text/plain", "the diff")),
            PromptMessage("assistant", TextPart("I will.")),
        )
    )

    async def scene(hosted: HostedConversation) -> None:
        stage.server.begin([say("Fine.")])
        await hosted.work.command("/github:review 12")
        [asked] = [message for message in hosted.conversation.messages if isinstance(message, UserMessage)]
        assert asked.text.startswith("User: Look:")
        assert "Assistant: I will." in asked.text
        assert "[@github:pr://12]\nthe diff" in asked.text
        assert len(asked.content) == 2

    play_with(stage, MemoryMcpHost([offered]), scene)


def test_what_is_missing_or_fails_is_said(stage: Stage) -> None:
    offered = github(_REVIEW, PromptInfo("gone"))

    async def scene(hosted: HostedConversation) -> None:
        missing = await hosted.work.command("/github:review")
        failed = await hosted.work.command("/github:gone")
        needless = await hosted.work.command("/github:gone now")
        assert missing == CommandReply("pr is missing: enter /github:review pr [focus]", refused=True)
        assert failed == CommandReply("/github:gone: no prompt 'gone'", refused=True)
        assert isinstance(needless, CommandNotRun)

    play_with(stage, MemoryMcpHost([offered]), scene)


def test_values_are_completed_by_the_server(stage: Stage) -> None:
    offered = github()
    offered.completes = lambda argument, typed, known: (f"{argument} {typed}", f"{known}")

    async def scene(hosted: HostedConversation) -> None:
        found = await hosted.conversation.complete_command("github:review", "12 sp")
        assert [one.text for one in found] == ['12 "focus sp"', "12 \"{'pr': '12'}\""]

    play_with(stage, MemoryMcpHost([offered]), scene)


def test_commands_come_and_go_with_the_manifest(stage: Stage) -> None:
    host = MemoryMcpHost([github()])

    async def scene(hosted: HostedConversation) -> None:
        host.change("github", manifest=msgspec.structs.replace(manifest(), prompts=(PromptInfo("new one"),)))
        names = [command.name for command in hosted.conversation.commands]
        assert "github:new_one" in names
        assert "github:review" not in names
        host.change("github", state="not approved")
        assert not [command for command in hosted.conversation.commands if command.name.startswith("github:")]

    play_with(stage, host, scene)


def test_a_name_that_is_taken_leaves_the_other_prompts(stage: Stage) -> None:
    twins = github(PromptInfo("a b"), PromptInfo("a_b"), _REVIEW)

    async def scene(hosted: HostedConversation) -> None:
        names = [command.name for command in hosted.conversation.commands]
        assert names.count("github:a_b") == 1
        assert "github:review" in names

    play_with(stage, MemoryMcpHost([twins]), scene)


def test_a_command_of_another_extension_stays() -> None:
    async def theirs(_arguments: str, _context: CommandContext) -> None:
        """Do nothing."""

    registry = LoadedRegistry()
    registry.api.register_command("github:review", "Theirs", theirs)

    host = MemoryMcpHost([github(_REVIEW, PromptInfo("other"))])

    registry.load("mcp", mcp_extension(host), built_in=True)
    host.change("github", state="started")

    assert registry.commands["github:review"].description == "Theirs"
    assert "github:other" in registry.commands
