import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import msgspec
import pytest

from kaa.core import execution
from kaa.core.agent import AgentConfig
from kaa.core.events import (
    AgentEnd,
    MessageEnd,
    ToolArgumentsReplaced,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.hooks import Block, FixedHooks, Refuse, ReplaceArguments, RunAgain
from kaa.core.messages import ToolCall, ToolResultMessage
from kaa.core.tool import Permit, ToolError, ToolResult, ToolRun, TypedTool, text_result
from kaa.llm.scripted import reply
from tests.support.agents import Scene, echo_tool, run, say, tool


def results(end: AgentEnd) -> list[ToolResultMessage]:
    return [message for message in end.messages if isinstance(message, ToolResultMessage)]


def test_a_result_is_recorded_before_its_end_is_announced() -> None:
    scene = Scene([reply(tool_calls=[("echo", {"text": "x"})]), reply(text="ok")])

    run(scene.agent.run(say("go")))

    kinds = [type(event) for event in scene.events]
    recorded = max(
        index
        for index, event in enumerate(scene.events)
        if isinstance(event, MessageEnd) and isinstance(event.message, ToolResultMessage)
    )
    assert kinds.index(ToolExecutionStart) < recorded < kinds.index(ToolExecutionEnd)


def counting_tool(peak: list[int]) -> Callable[[ToolRun], Awaitable[ToolResult]]:
    running = 0

    async def work(_: ToolRun) -> ToolResult:
        nonlocal running
        running += 1
        peak.append(running)
        for _step in range(5):
            await asyncio.sleep(0)
        running -= 1
        return text_result("ok")

    return work


@pytest.mark.parametrize(("sequential", "limit", "expected"), [(False, 10, 6), (False, 2, 2), (True, 10, 1)])
def test_parallelism_is_bounded_and_a_sequential_tool_ends_it(sequential: bool, limit: int, expected: int) -> None:
    peak: list[int] = []
    scene = Scene(
        [reply(tool_calls=[("count", {})] * 6), reply(text="ok")],
        tool("count", counting_tool(peak), sequential=sequential),
        config=AgentConfig(max_parallel_tools=limit),
    )

    run(scene.agent.run(say("go")))

    assert max(peak) == expected
    assert len(peak) == 6


def test_live_updates_are_passed_on_while_the_tool_runs() -> None:
    async def chatty(run: ToolRun) -> ToolResult:
        run.update("one ")
        run.update("two", skipped_bytes=7)
        return text_result("done")

    scene = Scene([reply(tool_calls=[("chatty", {}, "call-9")]), reply(text="ok")], tool("chatty", chatty))

    run(scene.agent.run(say("go")))

    assert scene.of(ToolExecutionUpdate) == [
        ToolExecutionUpdate("call-9", "chatty", "one "),
        ToolExecutionUpdate("call-9", "chatty", "two", 7),
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(("nope", {}), "'nope' does not exist. Available tools: echo", id="unknown tool"),
        pytest.param(("echo", '{"text": "trunc'), "not a complete JSON object", id="truncated arguments"),
        pytest.param(("echo", "[1]"), "not a complete JSON object", id="no object"),
        pytest.param(("echo", {"times": 2}), "missing required argument: text", id="missing argument"),
        pytest.param(("echo", {"text": "a", "times": "many"}), "`$.times`", id="wrong type"),
    ],
)
def test_a_call_that_cannot_be_run_is_answered_with_what_to_do(call: tuple[str, str], expected: str) -> None:
    scene = Scene([reply(tool_calls=[call]), reply(text="ok")])

    end = run(scene.agent.run(say("go")))

    assert end.reason == "done"
    assert results(end)[0].is_error
    assert expected in results(end)[0].text


def test_a_hook_says_what_to_do_instead_of_calling_a_tool_that_does_not_exist() -> None:
    async def unknown(_: str) -> None:
        return None

    async def known(name: str) -> str:
        return f"Use echo instead of {name}."

    hooks = FixedHooks(missing_tool=(unknown, known))
    scene = Scene([reply(tool_calls=[("nope", {})]), reply(text="ok")], hooks=hooks)

    end = run(scene.agent.run(say("go")))

    assert results(end)[0].text == "Tool 'nope' does not exist. Use echo instead of nope."


def test_errors_of_tools_and_crashes_become_results() -> None:
    async def refuses(_: ToolRun) -> ToolResult:
        raise ToolError("no such file: a.py. Use ls to see what is there.")

    async def crashes(_: ToolRun) -> ToolResult:
        raise KeyError("oops")

    async def forgets(_: ToolRun) -> ToolResult:
        return None  # type: ignore[return-value]  # as authors of extensions do

    scene = Scene(
        [reply(tool_calls=[("refuses", {}), ("crashes", {}), ("forgets", {})]), reply(text="ok")],
        tool("refuses", refuses),
        tool("crashes", crashes),
        tool("forgets", forgets),
    )

    end = run(scene.agent.run(say("go")))

    assert [(result.text, result.is_error) for result in results(end)] == [
        ("no such file: a.py. Use ls to see what is there.", True),
        ("crashes failed: KeyError: 'oops'", True),
        ("forgets failed: TypeError: None is not a ToolResult", True),
    ]


def test_an_error_of_a_tool_can_carry_details() -> None:
    async def refuses(_: ToolRun) -> ToolResult:
        raise ToolError("x is hidden", {"blocked": [{"kind": "read", "what": "x"}]})

    scene = Scene([reply(tool_calls=[("refuses", {})]), reply(text="ok")], tool("refuses", refuses))

    end = run(scene.agent.run(say("go")))

    assert results(end)[0].details == {"blocked": [{"kind": "read", "what": "x"}]}


@pytest.mark.parametrize("calls", [1, 2])
def test_a_tool_that_cancels_itself_does_not_end_the_run(calls: int) -> None:
    async def confused(_: ToolRun) -> ToolResult:
        raise asyncio.CancelledError

    scene = Scene([reply(tool_calls=[("confused", {})] * calls), reply(text="ok")], tool("confused", confused))

    end = run(scene.agent.run(say("go")))

    assert end.reason == "done"
    assert [result.text for result in results(end)] == ["confused cancelled itself. It may have had effects."] * calls


def test_a_call_that_is_stopped_before_it_begins_had_no_effects() -> None:
    async def ask(_: ToolCall) -> None:
        scene.agent.abort()
        await asyncio.sleep(1000)

    scene = Scene([reply(tool_calls=[("echo", {"text": "x"})])], hooks=FixedHooks(before=(ask,)))

    end = run(scene.agent.run(say("go")))

    assert end.reason == "aborted"
    assert [result.text for result in results(end)] == ["Stopped by the user before it began. It had no effects."]


def test_how_long_somebody_was_asked_is_no_time_of_the_tool() -> None:
    async def ask(_: ToolCall) -> Block:
        await asyncio.sleep(0.02)
        return Block("no")

    scene = Scene([reply(tool_calls=[("echo", {"text": "x"})]), reply(text="ok")], hooks=FixedHooks(before=(ask,)))

    run(scene.agent.run(say("go")))

    assert [event.duration_ms for event in scene.of(ToolExecutionEnd)] == [0]


def test_a_question_after_the_tool_is_no_time_of_it_either(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    runs: list[ToolCall] = []

    async def ask(call: ToolCall, _: ToolResult) -> RunAgain | None:
        seconds[0] += 5.0
        runs.append(call)
        return RunAgain() if len(runs) == 1 else None

    scene = Scene([reply(tool_calls=[("echo", {"text": "x"})]), reply(text="ok")], hooks=FixedHooks(after=(ask,)))

    run(scene.agent.run(say("go")))

    assert (len(runs), [event.duration_ms for event in scene.of(ToolExecutionEnd)]) == (2, [0])


def test_arguments_nested_without_end_are_refused() -> None:
    bottomless = '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"
    scene = Scene([reply(tool_calls=[("echo", bottomless)]), reply(text="ok")])

    end = run(scene.agent.run(say("go")))

    assert end.reason == "done"
    assert "nested too deeply" in results(end)[0].text


def test_many_braces_in_a_text_are_no_nesting() -> None:
    text = "{[" * 1_000
    scene = Scene([reply(tool_calls=[("echo", {"text": text})]), reply(text="ok")])

    assert results(run(scene.agent.run(say("go"))))[0].text == text


class _Path(msgspec.Struct, frozen=True):
    path: str


class TestHooks:
    def test_a_hook_can_block_a_call(self) -> None:
        async def no(call: ToolCall) -> Block:
            return Block(f"{call.name} is not for today")

        scene = Scene([reply(tool_calls=[("echo", {"text": "x"})]), reply(text="ok")], hooks=FixedHooks(before=(no,)))

        end = run(scene.agent.run(say("go")))

        assert (results(end)[0].text, results(end)[0].is_error) == ("echo is not for today", True)
        assert end.reason == "done"

    def test_a_denied_call_never_ends_in_success(self) -> None:
        async def deny(_: ToolCall) -> Block:
            return Block("writing needs a yes", denied=True)

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "x"})]), reply(text="All done!")], hooks=FixedHooks(before=(deny,))
        )

        end = run(scene.agent.run(say("go")))

        assert end.reason == "denied"
        assert end.error == "not permitted: echo: writing needs a yes"

    def test_hooks_and_observers_see_the_arguments_under_their_own_names(self) -> None:
        seen: list[object] = []

        async def look(call: ToolCall) -> None:
            seen.append(call.arguments)

        async def read(arguments: _Path, _run: ToolRun) -> ToolResult:
            return text_result(arguments.path)

        named = TypedTool(
            "read", "", _Path, read, prepare=lambda given: {"path": given.get("path") or given["file_path"]}
        )
        scene = Scene(
            [reply(tool_calls=[("read", {"file_path": "a"})]), reply(text="ok")],
            named,
            hooks=FixedHooks(before=(look,)),
        )

        end = run(scene.agent.run(say("go")))

        started = [event.args for event in scene.events if isinstance(event, ToolExecutionStart)]
        assert (results(end)[0].text, seen, started) == ("a", [{"path": "a"}], [{"path": "a"}])

    def test_arguments_that_cannot_be_repaired_fail_their_own_call_only(self) -> None:
        async def read(arguments: _Path, _run: ToolRun) -> ToolResult:
            return text_result(arguments.path)

        named = TypedTool(
            "read", "", _Path, read, prepare=lambda given: {"path": given.get("path") or given["file_path"]}
        )
        scene = Scene([reply(tool_calls=[("read", {}), ("read", {"file_path": "a"})]), reply(text="ok")], named)

        end = run(scene.agent.run(say("go")))

        assert [one.is_error for one in results(end)] == [True, False]

    def test_hooks_can_change_arguments_and_results(self) -> None:
        async def shout(call: ToolCall) -> ReplaceArguments:
            return ReplaceArguments({**call.arguments, "text": call.arguments["text"].upper()})

        async def sign(_call: ToolCall, result: ToolResult) -> ToolResult:
            return text_result(f"{result.content[0].text} -- signed")  # type: ignore[union-attr]  # a text result

        async def watch(_call: ToolCall, _result: ToolResult) -> None:
            return None

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "hey"})]), reply(text="ok")],
            echo_tool(),
            hooks=FixedHooks(before=(shout,), after=(sign, watch)),
        )

        end = run(scene.agent.run(say("go")))

        assert results(end)[0].text == "HEY -- signed"
        (replaced,) = [event for event in scene.events if isinstance(event, ToolArgumentsReplaced)]
        assert replaced.args == {"text": "HEY"}

    def test_a_hook_that_crashes_blocks_the_call(self) -> None:
        ran: list[bool] = []

        async def work(_: ToolRun) -> ToolResult:
            ran.append(True)
            return text_result("ran")

        async def broken(_: ToolCall) -> None:
            raise RuntimeError("bug")

        scene = Scene(
            [reply(tool_calls=[("work", {})]), reply(text="ok")], tool("work", work), hooks=FixedHooks(before=(broken,))
        )

        end = run(scene.agent.run(say("go")))

        assert ran == []
        assert results(end)[0].text.startswith("work was not run")
        assert "RuntimeError: bug" in results(end)[0].text

    def test_a_hook_that_answers_nonsense_blocks_the_call(self) -> None:
        async def confused(_: ToolCall) -> None:
            return "no!"  # type: ignore[return-value]  # as authors of extensions do

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "x"})]), reply(text="ok")], hooks=FixedHooks(before=(confused,))
        )

        end = run(scene.agent.run(say("go")))

        assert results(end)[0].text.startswith("echo was not run")

    def test_a_hook_that_crashes_on_a_result_hides_it_and_says_that_the_tool_ran(self) -> None:
        async def broken(_call: ToolCall, _result: ToolResult) -> None:
            raise RuntimeError("bug")

        scene = Scene(
            [reply(tool_calls=[("echo", {"text": "secret"})]), reply(text="ok")], hooks=FixedHooks(after=(broken,))
        )

        end = run(scene.agent.run(say("go")))

        assert results(end)[0].is_error
        assert results(end)[0].text.startswith("echo was run, but its result cannot be shown")
        assert "secret" not in results(end)[0].text


class Grant(Permit, frozen=True):
    """A permit that says what it is for."""

    what: str


class Locked:
    """A tool that needs a permit, and what it was given each time it ran."""

    def __init__(self) -> None:
        self.grants: list[object] = []

    async def work(self, run: ToolRun) -> ToolResult:
        self.grants.append(run.permit.what if isinstance(run.permit, Grant) else None)
        return text_result("done" if run.permit else "locked", details={"locked": run.permit is None})

    def play(self, hooks: FixedHooks) -> AgentEnd:
        scene = Scene([reply(tool_calls=[("work", {})]), reply(text="ok")], tool("work", self.work), hooks=hooks)
        return run(scene.agent.run(say("go")))


class TestPermits:
    def test_a_permit_reaches_the_tool_and_no_other_call(self) -> None:
        async def first_only(call: ToolCall) -> Permit | None:
            return Grant("key") if call.id == "a" else None

        locked = Locked()
        scene = Scene(
            [reply(tool_calls=[("work", {}, "a"), ("work", {}, "b")]), reply(text="ok")],
            tool("work", locked.work, sequential=True),
            hooks=FixedHooks(before=(first_only,)),
        )
        run(scene.agent.run(say("go")))

        assert locked.grants == ["key", None]

    def test_changed_arguments_void_a_permit(self) -> None:
        async def permit(_: ToolCall) -> Permit:
            return Grant("key")

        async def change(_: ToolCall) -> ReplaceArguments:
            return ReplaceArguments({})

        locked = Locked()
        locked.play(FixedHooks(before=(permit, change)))

        assert locked.grants == [None]

    def test_a_hook_can_have_the_tool_run_again_with_a_permit(self) -> None:
        seen: list[str] = []

        async def watch(_call: ToolCall, result: ToolResult) -> None:
            seen.append(result.content[0].text)  # type: ignore[union-attr]  # a text result

        async def unlock(_call: ToolCall, result: ToolResult) -> RunAgain | None:
            return RunAgain(Grant("key")) if result.details == {"locked": True} else None

        locked = Locked()
        end = locked.play(FixedHooks(after=(watch, unlock, watch)))

        assert locked.grants == [None, "key"]
        assert seen == ["locked", "done", "done"], "hooks see every result, whoever wanted it"
        assert (results(end)[0].text, end.reason) == ("done", "done")

    def test_running_again_without_a_permit_keeps_the_one_there_is(self) -> None:
        async def permit(_: ToolCall) -> Permit:
            return Grant("key")

        async def once_more(_call: ToolCall, _result: ToolResult) -> RunAgain | None:
            return RunAgain() if len(locked.grants) < 2 else None

        locked = Locked()
        locked.play(FixedHooks(before=(permit,), after=(once_more,)))

        assert locked.grants == ["key", "key"]

    def test_a_hook_that_always_wants_another_run_does_not_get_it(self) -> None:
        async def again(_call: ToolCall, _result: ToolResult) -> RunAgain:
            return RunAgain()

        locked = Locked()
        end = locked.play(FixedHooks(after=(again,)))

        assert len(locked.grants) == 5
        assert (results(end)[0].is_error, end.reason) == (True, "denied")
        assert "run 5 times" in results(end)[0].text

    def test_a_refused_result_is_an_error_with_the_reason_and_the_run_no_success(self) -> None:
        async def refuse(_call: ToolCall, _result: ToolResult) -> Refuse:
            return Refuse("nobody unlocked it")

        end = Locked().play(FixedHooks(after=(refuse,)))

        assert results(end)[0].text == "locked\nnobody unlocked it"
        assert (results(end)[0].is_error, results(end)[0].details) == (True, {"locked": True})
        assert (end.reason, end.error) == ("denied", "not permitted: work: nobody unlocked it")


def test_calls_that_share_an_id_get_ids_of_their_own() -> None:
    scene = Scene([reply(tool_calls=[("echo", {"text": "a"}, "x"), ("echo", {"text": "b"}, "x")]), reply(text="ok")])

    end = run(scene.agent.run(say("go")))

    assert [(result.tool_call_id, result.text) for result in results(end)] == [("x", "a"), ("x_2", "b")]
