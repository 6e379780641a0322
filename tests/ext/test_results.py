"""Extensions are not type-checked: what they return is parsed before kaa shows, stores or sends it."""

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

import pytest

from kaa.core.hooks import Block, Continue, GiveUp, Refuse, ReplaceArguments, ReplaceMessages, RunAgain
from kaa.core.messages import AssistantMessage, Json, TextContent, ToolCall, Usage, UserMessage
from kaa.core.provider import Request, ToolSchema
from kaa.core.tool import ToolError, ToolResult, text_result
from kaa.ext.api import CommandContext, PromptContext, Reply, Submit, Suggestion
from kaa.ext.commands import CopySession
from kaa.ext.context import ConversationContext, ToolContext
from kaa.ext.errors import CommandError, ExtensionError
from kaa.llm.scripted import reply
from tests.support.agents import Scene, run, say
from tests.support.person import yes_or_no
from tests.support.registries import LoadedRegistry
from tests.support.toolbox import RecordedRun

CALL = ToolCall("1", "bash", {})
REPLY = AssistantMessage((), "api", "provider", "m", Usage(), "stop", 1)


class Colour(Enum):
    RED = "red"


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def registry(reports: list[str]) -> LoadedRegistry:
    return LoadedRegistry(reports.append, asker=yes_or_no())


@pytest.fixture
def context() -> CommandContext:
    return cast("CommandContext", object())


def returning(value: object) -> Callable[..., Any]:
    async def function(*_: object) -> object:
        return value

    return function


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (Reply(5), "returned Reply(text=5, over_budget=False): expected `str`, got `int`"),  # type: ignore[arg-type]
        (Reply(b"x"), "expected `str`, got `bytes`"),  # type: ignore[arg-type]
        (Submit(5), "returned Submit(text=5): expected `str`, got `int`"),  # type: ignore[arg-type]
        (Submit(" "), "returned Submit(text=' '): return Submit with a text that is not empty"),
        (CopySession("p", before=5), "expected `str | null`, got `int`"),  # type: ignore[arg-type]
        (Reply(object()), "of type object is unsupported"),  # type: ignore[arg-type]
    ],
)
def test_a_command_that_returns_a_wrong_field_is_named(
    registry: LoadedRegistry, context: CommandContext, result: object, problem: str
) -> None:
    registry.api.register_command("odd", "", returning(result))

    with pytest.raises(ExtensionError, match=f"Extension mine: command /odd .*{re.escape(problem)}"):
        run(registry.run_command("odd", "", context))


def test_a_constant_of_an_enumeration_becomes_its_text(registry: LoadedRegistry, context: CommandContext) -> None:
    registry.api.register_command("odd", "", returning(Reply(Colour.RED)))  # type: ignore[arg-type]

    assert run(registry.run_command("odd", "", context)) == Reply("red")


def test_suggestions_that_are_no_text_complete_nothing(
    registry: LoadedRegistry, reports: list[str], context: CommandContext
) -> None:
    registry.api.register_command("odd", "", returning(None), complete=lambda _, __: [Suggestion(5, 6)])  # type: ignore[arg-type]

    assert run(registry.complete("odd", "r", context)) == ()
    assert "Extension mine: completion of /odd returned Suggestion(text=5, description=6): expected" in reports[0]


@pytest.mark.parametrize("demand", [Continue(7), Continue(""), GiveUp("")])  # type: ignore[arg-type]
def test_what_would_continue_or_end_a_run_must_be_a_text(
    registry: LoadedRegistry, reports: list[str], demand: Continue | GiveUp
) -> None:
    registry.api.before_end(returning(demand))

    async def ask() -> Continue | GiveUp | None:
        return await registry.run.before_end[0](REPLY)

    assert run(ask()) is None
    assert f"Extension mine: before_end hook returned {demand!r}: " in reports[0]


@pytest.mark.parametrize("answer", [UserMessage(5), UserMessage((5,)), Block(5), "text"])  # type: ignore[arg-type]
def test_a_message_hook_must_return_a_message(registry: LoadedRegistry, answer: object) -> None:
    registry.api.on_user_message(returning(answer))

    with pytest.raises(ExtensionError, match="Extension mine: on_user_message hook returned"):
        run(registry.run.user_message(say("hi")))


@pytest.mark.parametrize("verdict", [Block(5), ReplaceArguments(5), ReplaceArguments({"a": object()})])  # type: ignore[arg-type]
def test_a_wrong_verdict_before_a_tool_stops_the_call(
    registry: LoadedRegistry, reports: list[str], verdict: object
) -> None:
    registry.api.before_tool(returning(verdict))

    async def ask() -> object:
        return await registry.run.before[0](CALL)

    answer = run(ask())

    assert isinstance(answer, Block)
    assert "Extension mine: before_tool hook returned" in answer.reason
    assert len(reports) == 1


@pytest.mark.parametrize(
    "verdict",
    [ToolResult((TextContent(5),)), ToolResult("x"), Refuse(5), RunAgain(5), text_result("", details=object())],  # type: ignore[arg-type]
)
def test_a_wrong_verdict_after_a_tool_is_an_error_for_the_model(
    registry: LoadedRegistry, reports: list[str], verdict: object
) -> None:
    registry.api.after_tool(returning(verdict))

    async def ask() -> object:
        return await registry.run.after[0](CALL, text_result("done"))

    answer = run(ask())

    assert isinstance(answer, ToolResult)
    assert answer.is_error
    assert len(reports) == 1


def test_messages_of_a_request_are_messages_with_texts(registry: LoadedRegistry) -> None:
    registry.api.before_request(returning(ReplaceMessages((UserMessage(5),))))  # type: ignore[arg-type]

    async def ask() -> None:
        await registry.run.before_request[0](cast("Request", object()))

    with pytest.raises(ExtensionError, match="Extension mine: before_request hook returned"):
        run(ask())


def test_refusals_name_the_extension(registry: LoadedRegistry) -> None:
    registry.api.on_user_message(returning(Block("no")))
    registry.api.before_tool(returning(Block("no", denied=True, advice="Stop.")))
    registry.api.after_tool(returning(Refuse("no")))

    async def ask() -> tuple[object, object]:
        return await registry.run.before[0](CALL), await registry.run.after[0](CALL, text_result(""))

    with pytest.raises(CommandError, match=r"^no \(extension mine\)$"):
        run(registry.run.user_message(say("hi")))
    assert run(ask()) == (Block("no (extension mine)", denied=True, advice="Stop."), Refuse("no (extension mine)"))


class Odd:
    """A tool that is not type-checked."""

    schema = ToolSchema("odd", "", {})
    sequential = False

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work

    async def run(self, arguments: dict[str, Json], run: ToolContext) -> ToolResult:
        result: ToolResult = await self._work(run)
        return result


def used(registry: LoadedRegistry, work: Callable[..., Any]) -> ToolResult:
    registry.api.register_tool(Odd(work))
    (registered,) = registry.tools
    bound = registry.bound(registered.name)
    assert bound is not None
    return run(bound.run({}, RecordedRun()))


@pytest.mark.parametrize("result", [None, 5, ToolResult("x"), ToolResult((TextContent(5),)), Reply("x")])  # type: ignore[arg-type]
def test_a_tool_that_returns_no_result_is_named(registry: LoadedRegistry, result: object) -> None:
    with pytest.raises(ToolError, match=r"^odd returned .*\(extension mine\)$"):
        used(registry, returning(result))


def test_details_of_a_tool_stay_as_they_are(registry: LoadedRegistry) -> None:
    details = {"found": Suggestion("a")}

    assert used(registry, returning(text_result("ok", details=details))).details is details


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("",), "ValueError: the prompt of run_agent is empty"),
        ((5,), "TypeError: the prompt of run_agent is 5: use a text"),
        (("go", "pypi.org"), r"TypeError: hosts of run_agent is the text 'pypi.org': use a list, \['pypi.org'\]"),
    ],
)
def test_an_agent_needs_a_task(registry: LoadedRegistry, arguments: tuple[Any, ...], problem: str) -> None:
    async def work(context: ToolContext) -> ToolResult:
        prompt, *hosts = arguments
        await context.run_agent(prompt, hosts=hosts[0] if hosts else ())
        return text_result("")

    with pytest.raises(ToolError, match=rf"^odd failed: {problem}.*\(extension mine\)$"):
        used(registry, work)


def test_a_question_that_is_none_is_explained(registry: LoadedRegistry) -> None:
    async def work(context: ToolContext) -> ToolResult:
        await context.asker.ask("hello")  # type: ignore[arg-type]
        return text_result("")

    with pytest.raises(ToolError, match="ask got 'hello': use a question, such as Choice"):
        used(registry, work)


def test_a_prompt_section_must_be_a_text(registry: LoadedRegistry, reports: list[str]) -> None:
    registry.api.add_prompt_section("odd", lambda _: 5)  # type: ignore[type-var]

    assert registry.prompt_sections(PromptContext("/p", "2026-01-01")) == ()
    assert reports == ["Extension mine: prompt section 'odd' returned 5: return str or None"]


def test_a_failure_names_the_line_of_the_extension(reports: list[str]) -> None:
    registry = LoadedRegistry(reports.append)
    code = compile("async def broken(*_):\n    1 / 0\n", "/x/mine.py", "exec")
    defined: dict[str, Any] = {}
    exec(code, defined)
    registry.load("/x/mine.py", lambda api: api.on_session_start(defined["broken"]))
    registry.load("/x", lambda api: api.before_end(defined["broken"]))

    async def ask() -> None:
        await registry.session.started(cast("Any", ConversationContext))
        await registry.run.before_end[0](REPLY)

    run(ask())

    assert "ZeroDivisionError: division by zero (line 2; KAA_LOG=FILE logs the traceback)" in reports[0]
    assert "(mine.py, line 2; " in reports[1]


def test_the_hook_that_continues_a_run_is_named_when_the_limit_ends_it(registry: LoadedRegistry) -> None:
    registry.api.before_end(returning(Continue("more")))
    scene = Scene([reply(text="done")] * 20, hooks=registry.run)

    end = run(scene.agent.run(say("go")))

    assert end.error == "stopped after hooks continued the run 10 times, the limit (last: extension mine)"
