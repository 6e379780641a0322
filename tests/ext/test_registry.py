import asyncio
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from kaa.core.events import AgentStart, CompactionEnd
from kaa.core.hooks import Block, Continue, GiveUp
from kaa.core.messages import AssistantMessage, ToolCall, Usage, UserMessage, user_message
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import (
    Command,
    CommandAction,
    CommandContext,
    CompactionRequest,
    CondensedText,
    ExtensionAPI,
    PromptContext,
    Reply,
    Suggestion,
)
from kaa.ext.asking import confirm
from kaa.ext.context import ConversationContext
from kaa.ext.errors import ExtensionError, MessageBlockedError, RegistrationError
from kaa.ext.hooks import NavigationRequest, Notification, SessionEnd, SessionStart
from kaa.ext.registry import joined_sections
from kaa.ext.scope import Scope
from kaa.ext.tools import RegisteredTool
from tests.support.agents import echo_tool, run, say, tool
from tests.support.extension_ids import named
from tests.support.person import yes_or_no
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def registry(reports: list[str]) -> LoadedRegistry:
    return LoadedRegistry(reports.append)


@pytest.fixture
def context() -> CommandContext:
    """A conversation that no command here asks anything of."""
    return cast("CommandContext", object())


async def nothing(_: object) -> ToolResult:
    return text_result("")


async def answer(_arguments: str, _context: CommandContext) -> CommandAction:
    return Reply("hello")


def names(registry: LoadedRegistry, *args: object, **kwargs: object) -> list[str]:
    return [item.name for item in registry.select_tools(*args, **kwargs)]  # type: ignore[arg-type]  # forwards


def test_tools_are_selected_by_default_by_name_and_by_exclusion(registry: LoadedRegistry) -> None:
    def built_in(api: ExtensionAPI) -> None:
        api.register_tool(tool("read", nothing))
        api.register_tool(tool("grep", nothing), exposure="deferred")

    registry.load("built-in", built_in, built_in=True)
    registry.load("other", lambda api: api.register_tool(echo_tool()))

    assert names(registry) == ["read", "echo"]
    assert names(registry, only=["grep", "echo"]) == ["grep", "echo"]
    assert names(registry, only=["+grep"]) == ["read", "grep", "echo"]
    assert names(registry, only=["+grep", "echo"]) == ["grep", "echo"]
    assert names(registry, only=[]) == []
    assert names(registry, without=["read"]) == ["echo"]
    assert names(registry, built_in=False) == ["echo"]
    assert names(registry, only=()) == []
    with pytest.raises(RegistrationError, match="no such tool: nope"):
        names(registry, only=["nope"])


def test_a_tool_that_declares_no_risk_may_do_anything(registry: LoadedRegistry) -> None:
    registry.api.register_tool(tool("read", nothing), risk="read")
    registry.api.register_tool(tool("mine", nothing))

    assert {item.name: item.risk for item in registry.tools} == {"read": "read", "mine": "outside"}
    with pytest.raises(RegistrationError, match="invalid risk 'none'"):
        registry.api.register_tool(echo_tool(), risk="none")  # type: ignore[arg-type]  # as authors of extensions do


@pytest.mark.parametrize("bad", ["", "no spaces", "ü", "x" * 65])
def test_names_that_no_vendor_accepts_are_refused(registry: LoadedRegistry, bad: str) -> None:
    with pytest.raises(RegistrationError, match="invalid tool name"):
        registry.api.register_tool(tool(bad, nothing))


def test_a_name_is_registered_once(registry: LoadedRegistry) -> None:
    registry.api.register_tool(echo_tool())
    registry.api.register_command("hello", "Say hello", answer)

    with pytest.raises(RegistrationError, match="already registered"):
        registry.api.register_tool(echo_tool())
    with pytest.raises(RegistrationError, match="already registered"):
        registry.api.register_command("hello", "Again", answer)
    with pytest.raises(RegistrationError, match="invalid command name"):
        registry.api.register_command("Say Hello", "No name", answer)


def test_many_tools_are_replaced_as_one_change(registry: LoadedRegistry) -> None:
    registry.api.register_tool(tool("first", nothing))
    changes: list[None] = []
    registry.subscribe(lambda: changes.append(None))
    many = [RegisteredTool(tool(f"tool-{number}", nothing), "") for number in range(1000)]

    registry.api.replace_tools([], many)
    registry.api.replace_tools([one.name for one in many], [*many[:3], RegisteredTool(tool("last", nothing), "")])
    registry.api.replace_tools([], [])

    assert len(changes) == 2
    assert names(registry) == ["first", "tool-0", "tool-1", "tool-2", "last"]


def test_tools_that_cannot_all_be_registered_change_nothing(registry: LoadedRegistry) -> None:
    registry.api.register_tool(tool("old", nothing))
    registry.load("other", lambda api: api.register_tool(echo_tool()))

    for unfit in (tool("no spaces", nothing), echo_tool(), tool("new", nothing)):
        with pytest.raises(RegistrationError):
            registry.api.replace_tools(["old"], [RegisteredTool(tool("new", nothing), ""), RegisteredTool(unfit, "")])

    assert names(registry) == ["old", "echo"]


def test_prompt_sections_appear_in_order_and_can_be_replaced_or_silent(registry: LoadedRegistry) -> None:
    registry.api.add_prompt_section("one", lambda _: "first\n")
    registry.api.add_prompt_section("two", lambda _: None)
    registry.api.add_prompt_section("three", lambda context: f"in {context.cwd}")
    registry.api.add_prompt_section("one", lambda _: "replaced")

    context = PromptContext("/p", "2026-01-01")
    sections = registry.prompt_sections(context)
    assert sections == (("one", "replaced"), ("three", "in /p"))
    assert joined_sections(sections) == "replaced\n\nin /p"


def test_hooks_may_change_what_the_user_says(registry: LoadedRegistry) -> None:
    async def polite(message: UserMessage, _: object) -> UserMessage:
        assert not isinstance(message.content, str)
        return user_message(f"{message.content[0].text}, please")  # type: ignore[union-attr]  # a text message

    async def watching(_: UserMessage, __: object) -> None:
        return None

    registry.api.on_user_message(polite)
    registry.api.on_user_message(watching)

    changed = run(registry.run.user_message(say("go")))

    assert changed.content == user_message("go, please").content


def test_a_handler_that_fails_is_reported_and_switched_off(registry: LoadedRegistry, reports: list[str]) -> None:
    calls: list[str] = []

    def broken(_: object, __: object) -> None:
        calls.append("broken")
        raise RuntimeError("bug")

    registry.api.on_event(broken)
    registry.api.on_event(lambda _, __: calls.append("sound"))

    registry.notify(AgentStart())
    registry.notify(AgentStart())

    assert calls == ["broken", "sound", "sound"]
    assert reports == ["Extension mine: on_event handler failed: RuntimeError: bug; kaa does not call it again"]


def test_an_extension_that_raises_is_named(registry: LoadedRegistry) -> None:
    def broken(_: ExtensionAPI) -> None:
        raise ZeroDivisionError("oops")

    with pytest.raises(ExtensionError, match="Extension other failed to load: ZeroDivisionError: oops"):
        registry.load("other", broken)


class TestBrokenExtensions:
    def test_a_prompt_section_is_named_and_left_out(self, registry: LoadedRegistry, reports: list[str]) -> None:
        registry.api.add_prompt_section("mine", lambda context: str(1 // len(context.tools)))
        registry.api.add_prompt_section("other", lambda _: "text")

        assert registry.prompt_sections(PromptContext("/project", "2026-11-20")) == (("other", "text"),)
        assert "Extension mine: prompt section 'mine' failed: ZeroDivisionError" in reports[0]

    def test_a_message_is_not_sent_unchecked(self, registry: LoadedRegistry) -> None:
        async def check(_: UserMessage, __: object) -> None:
            raise RuntimeError("bug")

        registry.api.on_user_message(check)

        with pytest.raises(ExtensionError, match="RuntimeError: bug"):
            run(registry.run.user_message(say("hi")))

    def test_a_message_is_replaced_by_messages_only(self, registry: LoadedRegistry) -> None:
        async def shorten(_: UserMessage, __: object) -> UserMessage | None:
            return "hi"  # type: ignore[return-value]  # as authors of extensions do

        registry.api.on_user_message(shorten)

        with pytest.raises(ExtensionError, match="return UserMessage, Block or None"):
            run(registry.run.user_message(say("hi")))

    def test_a_command_is_named(self, registry: LoadedRegistry, context: CommandContext) -> None:
        async def crash(_arguments: str, _context: CommandContext) -> None:
            raise RuntimeError("bug")

        async def mumble(_arguments: str, _context: CommandContext) -> CommandAction:
            return 5  # type: ignore[return-value]  # as authors of extensions do

        registry.api.register_command("crash", "", crash)
        registry.api.register_command("mumble", "", mumble)

        with pytest.raises(ExtensionError, match="/crash failed: RuntimeError: bug"):
            run(registry.run_command("crash", "", context))
        with pytest.raises(ExtensionError, match="/mumble returned 5"):
            run(registry.run_command("mumble", "", context))


def test_a_text_to_be_carried_over_needs_a_name_the_model_can_be_told() -> None:
    registry = LoadedRegistry()

    with pytest.raises(RegistrationError):
        registry.api.carry_through_compaction("no name", lambda _: "x")


def test_a_text_that_cannot_be_had_is_reported_and_the_others_are_carried() -> None:
    reports: list[str] = []
    registry = LoadedRegistry(reports.append)
    registry.api.carry_through_compaction("broken", lambda _: str(1 / 0))
    registry.api.carry_through_compaction("empty", lambda _: None)
    registry.api.carry_through_compaction("blank", lambda _: " ")
    registry.api.carry_through_compaction("odd", lambda _: ["milk"])  # type: ignore[type-var]  # as authors do
    registry.api.carry_through_compaction("plan", lambda _: "milk")

    assert registry.session.carried() == {"plan": "milk"}
    assert len(reports) == 2
    assert "'broken'" in reports[0]
    assert "'odd'" in reports[1]
    assert "return str or None" in reports[1]


@pytest.mark.parametrize("text", ["", " ", None, 5])
def test_a_summary_that_says_nothing_is_reported_and_left_to_kaa(text: str) -> None:
    reports: list[str] = []
    registry = LoadedRegistry(reports.append)

    async def condense(_: CompactionRequest) -> CondensedText | None:
        return CondensedText(text)

    registry.api.register_compactor(condense)

    assert run(registry.session.condense(CompactionRequest((), "", "", "manual", 1))) is None
    assert "returned CondensedText" in reports[0]


class TestUnloading:
    """Whoever registers something owns it."""

    def test_everything_is_taken_back(self, registry: LoadedRegistry) -> None:
        closed: list[str] = []

        async def hook(*_: object) -> None:
            return None

        async def told(*_: object) -> None:
            closed.append("told")

        async def occasions() -> None:
            await registry.session.started(SessionStart("startup", "id", None))
            await registry.session.before_compaction(CompactionRequest((), "", "", "manual", 1))
            await registry.session.after_compaction(CompactionEnd("manual"))
            await registry.session.before_navigation(NavigationRequest("new", None))
            await registry.session.ended(SessionEnd("quit", "id", None))

        def extend(api: ExtensionAPI) -> None:
            api.register_tool(echo_tool())
            api.register_command("hello", "Say hello", answer)
            api.add_prompt_section("mine", lambda _: "text")
            api.before_tool(hook)
            api.after_tool(hook)
            api.before_end(hook)
            api.missing_tool(hook)
            api.on_user_message(hook)
            api.before_request(hook)
            api.on_session_start(told)
            api.on_session_end(told)
            api.before_compaction(told)
            api.after_compaction(told)
            api.before_navigation(told)
            api.on_event(lambda _, __: closed.append("event"))
            api.on_notification(lambda _, __: closed.append("notification"))
            api.carry_through_compaction("plan", lambda _: "text")
            api.on_close(lambda: closed.append("first"))
            api.on_close(lambda: closed.append("last"))

        registry.load("other", extend)
        hooks = (registry.run.before, registry.run.after, registry.run.before_end, registry.run.before_request)
        loaded = (registry.tools, registry.commands, registry.run.missing_tool, *hooks)
        registry.extensions.unload(named("other"))
        registry.notify(AgentStart())
        registry.session.announce(Notification("notice", "hello"))
        run(occasions())

        assert all(loaded)
        assert not registry.tools
        assert not registry.commands
        assert not [*registry.run.before, *registry.run.after, *registry.run.before_end, *registry.run.before_request]
        assert not registry.run.missing_tool
        assert registry.prompt_sections(PromptContext("/p", "2026-01-01")) == ()
        assert registry.session.carried() == {}
        assert closed == ["last", "first"]

    def test_an_extension_that_failed_half_way_leaves_nothing(self, registry: LoadedRegistry) -> None:
        closed: list[str] = []

        def broken(api: ExtensionAPI) -> None:
            api.register_command("hello", "Say hello", answer)
            api.on_close(lambda: closed.append("closed"))
            raise RuntimeError("bug")

        with pytest.raises(ExtensionError):
            registry.load("other", broken)

        assert not registry.commands
        assert closed == ["closed"]

    def test_an_extension_that_exits_does_not_end_kaa(self, registry: LoadedRegistry) -> None:
        with pytest.raises(ExtensionError, match="other failed to load: SystemExit: 3"):
            registry.load("other", lambda _: sys.exit(3))

    def test_an_extension_that_is_a_coroutine_says_so(self, registry: LoadedRegistry) -> None:
        async def extend(_: ExtensionAPI) -> None:
            raise AssertionError

        with pytest.raises(ExtensionError, match="extend must be a plain function, not async"):
            registry.load("other", extend)  # type: ignore[arg-type]  # as authors of extensions do

    def test_loading_again_replaces(self, registry: LoadedRegistry) -> None:
        changes: list[int] = []
        registry.subscribe(lambda: changes.append(len(registry.tools)))

        for _ in range(2):
            registry.load("other", lambda api: api.register_tool(echo_tool()))
        registry.extensions.unload(named("other"))

        assert changes == [1, 1, 0]

    def test_a_name_of_another_extension_is_refused_with_its_owner(self, registry: LoadedRegistry) -> None:
        registry.load("first", lambda api: api.register_command("hello", "", answer))

        with pytest.raises(ExtensionError, match="'hello' is already registered by first"):
            registry.load("second", lambda api: api.register_command("hello", "", answer))

    def test_what_fails_while_unloading_is_reported(self, registry: LoadedRegistry, reports: list[str]) -> None:
        def fail() -> None:
            reports.remove("nothing")

        def extend(kaa: ExtensionAPI) -> None:
            kaa.on_close(fail)

        registry.load("other", extend)

        registry.extensions.unload(named("other"))

        assert reports == ["extension other failed during unloading: ValueError: list.remove(x): x not in list"]

    def test_an_unloaded_extension_cannot_register(self, registry: LoadedRegistry) -> None:
        registry.extensions.unload(named("mine"))

        with pytest.raises(RegistrationError, match="mine is unloaded"):
            registry.api.on_event(lambda _, __: None)


class TestMisuse:
    """A mistake in the use of the API is answered with what is valid."""

    @pytest.mark.parametrize(
        ("extend", "expected"),
        [
            (
                lambda api: api.registerTool(),
                "has no attribute 'registerTool': use add_prompt_section, ",
            ),
            (lambda api: api.register_command("x"), r"call register_command\(name, description, handler, \*, "),
            (lambda api: api.register_tool(echo_tool(), danger="high"), "'danger': call register_tool"),
            (lambda api: api.register_tool(nothing), "invalid tool <function nothing"),
            (lambda api: api.before_tool(None), "None is not a function"),
            (lambda api: api.register_command("x", "", "y"), "'y' is not a function"),
            (lambda api: api.add_prompt_section("x", "text"), "'text' is not a function"),
        ],
    )
    def test_while_an_extension_registers(
        self, registry: LoadedRegistry, extend: Callable[[Any], None], expected: str
    ) -> None:
        with pytest.raises(ExtensionError, match=f"Extension other failed to load: .*{expected}"):
            registry.load("other", extend)

    def test_of_the_context_of_a_hook(self, registry: LoadedRegistry) -> None:
        async def broken(_: UserMessage, context: Any) -> None:
            context.worksapce()

        registry.api.on_user_message(broken)

        with pytest.raises(ExtensionError, match="the context of a hook has no attribute 'worksapce': use workspace, "):
            run(registry.run.user_message(say("hi")))

    def test_of_the_context_of_a_tool(self, registry: LoadedRegistry) -> None:
        async def broken(context: Any) -> ToolResult:
            return text_result(context.worksapce)

        bound = registry.context.bind(tool("look", broken), Scope(named("mine.py")))

        with pytest.raises(ToolError) as caught:
            run(bound.run({}, RecordedRun()))

        assert str(caught.value).startswith("look failed: AttributeError: the context of a tool has no attribute 'work")
        assert str(caught.value).endswith("(extension mine.py)")

    def test_a_hook_that_is_not_async(self, registry: LoadedRegistry) -> None:
        def plain(message: UserMessage, _: object) -> UserMessage:
            return message

        with pytest.raises(RegistrationError, match="plain must be an async function: write async def"):
            registry.api.on_user_message(plain)  # type: ignore[type-var]  # as authors do

    def test_a_handler_that_is_async(self, registry: LoadedRegistry, reports: list[str]) -> None:
        async def late(*_: object) -> None:
            raise AssertionError

        registry.api.on_event(late)  # type: ignore[type-var]  # as authors do
        registry.notify(AgentStart())

        assert "on_event handler failed: TypeError: it must be a plain function, not async" in reports[0]


class TestToolHooks:
    """The model and the user learn which extension failed."""

    @pytest.mark.parametrize("answer", ["no verdict", ValueError("bug")], ids=["returns", "raises"])
    def test_a_call_is_blocked_and_its_result_hidden(
        self, registry: LoadedRegistry, reports: list[str], answer: object
    ) -> None:
        async def broken(*_: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        registry.api.before_tool(broken)
        registry.api.after_tool(broken)
        call = ToolCall("1", "look", {})

        async def judged() -> tuple[object, object]:
            (before,), (after,) = registry.run.before, registry.run.after
            return await before(call), await after(call, text_result("seen"))

        blocked, hidden = run(judged())

        assert isinstance(blocked, Block)
        assert blocked.reason.startswith("look was not run: Extension mine: before_tool hook")
        assert isinstance(hidden, ToolResult)
        assert hidden.is_error
        assert str(hidden.content[0]).count("Extension mine: after_tool hook") == 1
        assert [report.partition(" hook")[0] for report in reports] == [
            "Extension mine: before_tool",
            "Extension mine: after_tool",
        ]


def test_failures_are_notifications_too(registry: LoadedRegistry, reports: list[str]) -> None:
    def broken(*_: object) -> None:
        raise ValueError("bug")

    told: list[Notification] = []
    registry.api.on_event(broken)
    registry.api.on_notification(lambda notification, _: told.append(notification))

    registry.notify(AgentStart())

    assert told == [Notification("notice", text) for text in reports]
    assert "Extension mine: on_event handler failed" in told[0].text


class TestHooks:
    def test_a_message_can_be_blocked(self, registry: LoadedRegistry) -> None:
        async def refuse(_: UserMessage, __: ConversationContext) -> Block:
            return Block("no secrets, please")

        registry.api.on_user_message(refuse)

        with pytest.raises(MessageBlockedError, match="no secrets, please"):
            run(registry.run.user_message(say("hi")))

    def test_a_hook_before_the_end_that_fails_is_reported_and_the_next_is_asked(
        self, registry: LoadedRegistry, reports: list[str]
    ) -> None:
        async def broken(*_: object) -> Continue:
            raise RuntimeError("bug")

        async def unfinished(*_: object) -> Continue:
            return Continue("the tests fail")

        registry.api.before_end(broken)
        registry.api.before_end(unfinished)
        (hook,) = registry.run.before_end

        async def demand() -> Continue | GiveUp | None:
            return await hook(AssistantMessage((), "api", "provider", "m", Usage(), "stop", 1))

        assert run(demand()) == Continue("the tests fail", source="extension mine")
        assert reports == ["Extension mine: before_end hook failed: RuntimeError: bug"]

    def test_the_first_hook_that_knows_a_missing_tool_explains_it(
        self, registry: LoadedRegistry, reports: list[str]
    ) -> None:
        async def broken(*_: object) -> str:
            raise RuntimeError("bug")

        async def knows(name: str, _: ConversationContext) -> str | None:
            return "Use new." if name == "old" else None

        async def never(*_: object) -> str:
            return "not reached"

        for missing in (broken, knows, never):
            registry.api.missing_tool(missing)
        (hook,) = registry.run.missing_tool

        async def explain() -> str | None:
            return await hook("old")

        assert run(explain()) == "Use new. (extension mine)"
        assert reports == ["Extension mine: missing_tool hook failed: RuntimeError: bug"]

    def test_the_person_may_take_as_long_as_it_takes(self) -> None:
        person = yes_or_no(True)
        registry = LoadedRegistry(asker=person)

        async def ask(message: UserMessage, context: ConversationContext) -> None:
            assert await confirm(context.asker, "Send this?")

        registry.api.on_user_message(ask)

        run(registry.run.user_message(say("hi")))

        assert [question.title for question in person.questions] == ["Send this?"]


def test_a_command_says_what_can_follow_it_and_whether_it_can_be_used(
    registry: LoadedRegistry, reports: list[str], context: CommandContext
) -> None:
    api = registry.api
    api.register_command("deploy", "", answer, complete=lambda typed, _: [Suggestion(f"{typed}ing")])
    api.register_command("plain", "", answer, available=lambda _: "not here", while_running=True)
    api.register_command("mumble", "", answer, complete=lambda _, __: ["text"], available=lambda _: 3)  # type: ignore[arg-type, list-item, return-value]
    api.register_command("crash", "", answer, complete=lambda _, __: 1 / 0, available=lambda _: 1 / 0)  # type: ignore[arg-type, return-value]

    assert run(registry.complete("deploy", "stag", context)) == (Suggestion("staging"),)
    assert run(registry.complete("plain", "", context)) == run(registry.complete("nonsense", "", context)) == ()
    assert run(registry.complete("mumble", "", context)) == run(registry.complete("crash", "", context)) == ()
    assert "completion of /mumble returned ('text',)" in reports[0]
    assert "completion of /crash failed: ZeroDivisionError" in reports[1]

    assert registry.obstacle("deploy", context, is_running=False) is None
    assert "cannot run while the agent works" in str(registry.obstacle("deploy", context, is_running=True))
    assert registry.obstacle("plain", context, is_running=True) == "not here"
    for name in ("mumble", "crash"):
        registry.extensions.enable(named("mine"))  # it failed often
        with pytest.raises(ExtensionError, match=f"Extension mine: availability of /{name}"):
            registry.obstacle(name, context, is_running=False)


def test_a_completion_may_wait_until_something_else_is_typed(registry: LoadedRegistry, context: CommandContext) -> None:
    never = asyncio.Event()

    async def complete(typed: str, _: CommandContext) -> list[Suggestion]:
        await (never.wait() if typed == "s" else asyncio.sleep(0))
        return [Suggestion(typed)]

    registry.api.register_command("deploy", "", answer, complete=complete)

    async def type_on() -> list[tuple[Suggestion, ...]]:
        return await asyncio.gather(*(registry.complete("deploy", typed, context) for typed in ("s", "st")))

    assert run(type_on()) == [(), (Suggestion("st"),)]


def test_a_failure_of_a_completion_that_waits_is_reported(
    registry: LoadedRegistry, reports: list[str], context: CommandContext
) -> None:
    async def complete(typed: str, _: CommandContext) -> list[Suggestion]:
        raise TimeoutError(f"no answer for {typed}")

    registry.api.register_command("deploy", "", answer, complete=complete)

    assert run(registry.complete("deploy", "s", context)) == ()
    assert "completion of /deploy failed: TimeoutError: no answer for s" in reports[0]


def test_mentions_are_completed_by_all_that_know_some(
    registry: LoadedRegistry, reports: list[str], context: CommandContext
) -> None:
    before = registry.completes_mentions

    async def notes(typed: str, _: CommandContext) -> list[Suggestion]:
        return [Suggestion(f"note:{typed}")]

    @registry.api.complete_mentions
    def people(typed: str, _: CommandContext) -> list[Suggestion]:
        return [Suggestion(f"person:{typed}")]

    @registry.api.complete_mentions
    def broken(typed: str, _: CommandContext) -> list[Suggestion]:
        raise ValueError(typed)

    registry.api.complete_mentions(notes)

    found = [run(registry.complete_mention(typed, context)) for typed in ("a", "an")]

    assert (before, registry.completes_mentions) == (False, True)
    assert [[one.text for one in each] for each in found] == [["person:a", "note:a"], ["person:an", "note:an"]]
    assert ["completion of mentions failed: ValueError" in report for report in reports] == [True]


def test_commands_are_replaced_as_one_change(registry: LoadedRegistry) -> None:
    changes: list[None] = []
    registry.subscribe(lambda: changes.append(None))
    registry.api.replace_commands((), [Command("one", "", answer), Command("two", "", answer)])

    registry.api.replace_commands(["one", "none"], [Command("three", "", answer)])
    registry.api.replace_commands(["three"], [Command("three", "", answer)])
    with pytest.raises(RegistrationError, match="already registered"):
        registry.api.replace_commands(["two"], [Command("four", "", answer), Command("three", "", answer)])

    assert list(registry.commands) == ["two", "three"]
    assert len(changes) == 2


def test_a_failing_completion_is_reported_once_until_it_works_again(
    registry: LoadedRegistry, reports: list[str], context: CommandContext
) -> None:
    broken = [True]

    def complete(typed: str, _: CommandContext) -> list[Suggestion]:
        if broken[0]:
            raise ValueError("no list")
        return [Suggestion(typed)]

    registry.api.register_command("deploy", "", answer, complete=complete)

    for typed in ("s", "st"):
        assert run(registry.complete("deploy", typed, context)) == ()
    broken[0] = False
    assert run(registry.complete("deploy", "sta", context)) == (Suggestion("sta"),)
    assert len(reports) == 1
    broken[0] = True
    run(registry.complete("deploy", "stag", context))

    assert len(reports) == 2
