from typing import cast

import pytest

from kaa.core.events import AgentStart
from kaa.core.messages import UserMessage, user_message
from kaa.core.tool import ToolResult, text_result
from kaa.ext.api import (
    CommandAction,
    CommandContext,
    CompactionRequest,
    CondensedText,
    ExtensionAPI,
    PromptContext,
    RegistrationError,
    Reply,
)
from kaa.ext.registry import ExtensionError, Registry, joined_sections
from tests.support.agents import echo_tool, run, say, tool


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def registry(reports: list[str]) -> Registry:
    return Registry(reports.append)


@pytest.fixture
def context() -> CommandContext:
    """A conversation that no command here asks anything of."""
    return cast("CommandContext", object())


async def nothing(_: object) -> ToolResult:
    return text_result("")


async def answer(_arguments: str, _context: CommandContext) -> CommandAction:
    return Reply("hello")


def names(registry: Registry, *args: object, **kwargs: object) -> list[str]:
    return [item.name for item in registry.select_tools(*args, **kwargs)]  # type: ignore[arg-type]  # forwards


def test_tools_are_selected_by_default_by_name_and_by_exclusion(registry: Registry) -> None:
    def built_in(api: ExtensionAPI) -> None:
        api.register_tool(tool("read", nothing))
        api.register_tool(tool("grep", nothing), default=False)

    registry.load("built-in", built_in, built_in=True)
    registry.load("mine", lambda api: api.register_tool(echo_tool()))

    assert names(registry) == ["read", "echo"]
    assert names(registry, only=["grep", "echo"]) == ["grep", "echo"]
    assert names(registry, without=["read"]) == ["echo"]
    assert names(registry, built_in=False) == ["echo"]
    assert names(registry, only=()) == []
    with pytest.raises(RegistrationError, match="no such tool: nope"):
        names(registry, only=["nope"])


def test_a_tool_that_declares_no_risk_may_do_anything(registry: Registry) -> None:
    registry.register_tool(tool("read", nothing), risk="read")
    registry.register_tool(tool("mine", nothing))

    assert {item.name: item.risk for item in registry.tools} == {"read": "read", "mine": "outside"}
    with pytest.raises(RegistrationError, match="'none' is no risk"):
        registry.register_tool(echo_tool(), risk="none")  # type: ignore[arg-type]  # as authors of extensions do


@pytest.mark.parametrize("bad", ["", "no spaces", "ü", "x" * 65])
def test_names_that_no_vendor_accepts_are_refused(registry: Registry, bad: str) -> None:
    with pytest.raises(RegistrationError, match="no tool name"):
        registry.register_tool(tool(bad, nothing))


def test_a_name_is_registered_once(registry: Registry) -> None:
    registry.register_tool(echo_tool())
    registry.register_command("hello", "Say hello", answer)

    with pytest.raises(RegistrationError, match="already registered"):
        registry.register_tool(echo_tool())
    with pytest.raises(RegistrationError, match="already registered"):
        registry.register_command("hello", "Again", answer)
    with pytest.raises(RegistrationError, match="no command name"):
        registry.register_command("Say Hello", "No name", answer)


def test_prompt_sections_appear_in_order_and_can_be_replaced_or_silent(registry: Registry) -> None:
    registry.add_prompt_section("one", lambda _: "first\n")
    registry.add_prompt_section("two", lambda _: None)
    registry.add_prompt_section("three", lambda context: f"in {context.cwd}")
    registry.add_prompt_section("one", lambda _: "replaced")

    context = PromptContext("/p", "2026-01-01")
    sections = registry.prompt_sections(context)
    assert sections == (("one", "replaced"), ("three", "in /p"))
    assert joined_sections(sections) == "replaced\n\nin /p"


def test_hooks_may_change_what_the_user_says(registry: Registry) -> None:
    async def polite(message: UserMessage) -> UserMessage:
        assert not isinstance(message.content, str)
        return user_message(f"{message.content[0].text}, please")  # type: ignore[union-attr]  # a text message

    async def watching(_: UserMessage) -> None:
        return None

    registry.on_user_message(polite)
    registry.on_user_message(watching)

    changed = run(registry.user_message(say("go")))

    assert changed.content == user_message("go, please").content


def test_a_handler_that_fails_is_reported_and_switched_off(registry: Registry, reports: list[str]) -> None:
    calls: list[str] = []

    def broken(_: object) -> None:
        calls.append("broken")
        raise RuntimeError("bug")

    registry.on_event(broken)
    registry.on_event(lambda _: calls.append("sound"))

    registry.notify(AgentStart())
    registry.notify(AgentStart())

    assert calls == ["broken", "sound", "sound"]
    assert reports == ["an event handler failed and was switched off: RuntimeError: bug"]


def test_an_extension_that_raises_is_named(registry: Registry) -> None:
    def broken(_: ExtensionAPI) -> None:
        raise ZeroDivisionError("oops")

    with pytest.raises(ExtensionError, match="Extension mine failed to load: ZeroDivisionError: oops"):
        registry.load("mine", broken)


class TestBrokenExtensions:
    def test_a_prompt_section_is_named(self, registry: Registry) -> None:
        registry.add_prompt_section("mine", lambda context: str(1 // len(context.tools)))

        with pytest.raises(ExtensionError, match="'mine' failed: ZeroDivisionError"):
            registry.prompt_sections(PromptContext("/project", "2026-11-20"))

    def test_a_message_is_not_sent_unchecked(self, registry: Registry) -> None:
        async def check(_: UserMessage) -> None:
            raise RuntimeError("bug")

        registry.on_user_message(check)

        with pytest.raises(ExtensionError, match="RuntimeError: bug"):
            run(registry.user_message(say("hi")))

    def test_a_message_is_replaced_by_messages_only(self, registry: Registry) -> None:
        async def shorten(_: UserMessage) -> UserMessage | None:
            return "hi"  # type: ignore[return-value]  # as authors of extensions do

        registry.on_user_message(shorten)

        with pytest.raises(ExtensionError, match="no UserMessage"):
            run(registry.user_message(say("hi")))

    def test_a_command_is_named(self, registry: Registry, context: CommandContext) -> None:
        async def crash(_arguments: str, _context: CommandContext) -> None:
            raise RuntimeError("bug")

        async def mumble(_arguments: str, _context: CommandContext) -> CommandAction:
            return "hello"  # type: ignore[return-value]  # as authors of extensions do

        registry.register_command("crash", "", crash)
        registry.register_command("mumble", "", mumble)

        with pytest.raises(ExtensionError, match="/crash failed: RuntimeError: bug"):
            run(registry.run_command("crash", "", context))
        with pytest.raises(ExtensionError, match="/mumble returned 'hello'"):
            run(registry.run_command("mumble", "", context))


def test_a_text_to_be_carried_over_needs_a_name_the_model_can_be_told() -> None:
    registry = Registry(lambda _: None)

    with pytest.raises(RegistrationError):
        registry.carry_through_compaction("no name", lambda: "x")


def test_a_text_that_cannot_be_had_is_reported_and_the_others_are_carried() -> None:
    reports: list[str] = []
    registry = Registry(reports.append)
    registry.carry_through_compaction("broken", lambda: str(1 / 0))
    registry.carry_through_compaction("empty", lambda: None)
    registry.carry_through_compaction("blank", lambda: " ")
    registry.carry_through_compaction("odd", lambda: ["milk"])  # type: ignore[arg-type,return-value]  # as authors do
    registry.carry_through_compaction("plan", lambda: "milk")

    assert registry.carried() == {"plan": "milk"}
    assert len(reports) == 2
    assert "'broken'" in reports[0]
    assert "'odd'" in reports[1]
    assert "not str" in reports[1]


@pytest.mark.parametrize("text", ["", " ", None, 5])
def test_a_summary_that_says_nothing_is_reported_and_left_to_kaa(text: str) -> None:
    reports: list[str] = []
    registry = Registry(reports.append)

    async def condense(_: CompactionRequest) -> CondensedText | None:
        return CondensedText(text)

    registry.register_compactor(condense)

    assert run(registry.condense(CompactionRequest((), "", "", "manual", 1))) is None
    assert "no summary" in reports[0]
