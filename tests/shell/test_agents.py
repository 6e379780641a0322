"""A tool that runs an agent: its context, workspace, budget, questions, events, and the ways in which it ends."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from kaa.core.budget import Budget
from kaa.core.events import AgentEnd, Event, MessageEnd, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from kaa.core.messages import AssistantMessage, Json
from kaa.ext.agents import AgentStatus
from kaa.ext.questions import AllowOnce, Approval, Confirmed
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.local import LocalWorkspace
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.agents import run
from tests.support.elsewhere import folder_elsewhere
from tests.support.hosts import conversing
from tests.support.model_script import CONTEXT_OVERFLOW, Answer, Fault, ScriptItem, call, say
from tests.support.person import Person
from tests.support.stage import Stage

_TOOLS = """
import msgspec
from kaa.ext.api import Budget, TypedTool, confirm, text_result

class Task(msgspec.Struct):
    task: str
    writable: list[str] = []
    tools: list[str] | None = None
    turns: int | None = None
    called: str = "helper"
    system: str | None = None
    asks: bool = True

async def delegate(task, context):
    budget = None if task.turns is None else Budget(turns=task.turns)
    result = await context.run_agent(
        task.task,
        name=task.called,
        writable=task.writable,
        tools=task.tools,
        budget=budget,
        system_prompt=task.system,
        asks=task.asks,
    )
    return text_result(f"{result.text} ({result.used.turns} requests)")

async def inquire(task, context):
    return text_result("yes" if await confirm(context.asker, task.task) else "no")

def extend(api):
    api.register_tool(TypedTool("delegate", "Give a task to an agent.", Task, delegate), risk="read")
    api.register_tool(TypedTool("inquire", "Ask the person.", Task, inquire), risk="read")
"""


@pytest.fixture(autouse=True)
def tools(stage: Stage) -> None:
    stage.install(_TOOLS)


def work(stage: Stage, options: ConversationOptions | None = None) -> tuple[AgentEnd, list[Event], Conversation]:
    """Let the model work; how it ended, and what was told of agents."""
    events: list[Event] = []

    async def scene(conversation: Conversation) -> tuple[AgentEnd, list[Event], Conversation]:
        conversation.subscribe_agents(events.append)
        end = await conversation.submit("work")
        assert isinstance(end, AgentEnd)
        return end, events, conversation

    return stage.play(scene, options or ConversationOptions(model="m", approvals="auto"))


def results(stage: Stage) -> Sequence[str]:
    """What tools told the conversation's own agent."""
    return [text for who, text in said_in(stage.server.requests[-1]) if who == "tool"]


def test_an_agent_begins_with_its_task_alone_and_its_last_reply_is_the_result(stage: Stage) -> None:
    stage.server.begin(
        [call("delegate", task="look", system="Be brief."), call("read", path="notes.txt"), say("milk"), say("Done.")]
    )

    end, _, _ = work(stage)

    first = said_in(stage.server.requests[1])
    assert [text for who, text in first if who == "user"] == ["look"]
    assert "Be brief." in stage.server.requests[1].json["messages"][0]["content"]
    assert end.reason == "done"
    assert results(stage) == ["milk (2 requests)"]


def test_its_events_carry_its_id_and_those_of_the_conversation_none(stage: Stage) -> None:
    stage.server.begin([call("delegate", task="look"), say("milk"), say("Done.")])

    end, events, _ = work(stage)

    (agent,) = {event.agent for event in events}
    assert agent is not None
    assert agent.startswith("helper-")
    assert end.agent is None
    assert [event.message.text for event in events if isinstance(event, MessageEnd)][-1] == "milk"
    assert isinstance(events[-1], AgentEnd)


def test_hooks_know_who_makes_a_call(stage: Stage) -> None:
    stage.install(
        """
from kaa.ext.api import text_result

def extend(api):
    async def look(call, result, context):
        return text_result(f"called by {context.caller.partition('-')[0] or 'the model'}")
    api.after_tool(look)
""",
        "callers",
    )
    stage.server.begin([call("delegate", task="look"), call("read", path="notes.txt"), say("milk"), say("Done.")])

    work(stage)

    agent = [text for who, text in said_in(stage.server.requests[2]) if who == "tool"]
    assert agent == ["called by helper"]
    assert results(stage) == ["called by the model"]


def test_limits_are_those_of_the_next_run_and_of_the_session(stage: Stage) -> None:
    stage.install(
        """
async def tell(message, context):
    context.session.add_message("; ".join(limit.text for limit in context.limits))

def extend(api):
    api.on_user_message(tell)
""",
        "limits",
    )
    stage.server.begin([say("Hello."), say("Again.")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await conversation.submit("hello")

    stage.play(scene, ConversationOptions(model="m", budget=Budget(turns=3)))

    said = [text for who, text in said_in(stage.server.requests[-1]) if who == "user" and text != "hello"]
    assert said == ["0 requests of the 3 requests for this run"] * 2


def test_what_it_uses_is_counted_and_noted_with_its_id(stage: Stage) -> None:
    stage.server.begin([call("delegate", task="look"), say("milk"), say("Done.")])

    async def scene(conversation: Conversation) -> tuple[list[dict[str, Json]], int, int]:
        await conversation.submit("work")
        entries = [msgspec.json.decode(line) for _, line in conversation.entries()]
        return entries, conversation.budget.used("session").turns, conversation.usage.total.replies

    entries, turns, replies = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    (usage,) = [entry for entry in entries if entry["type"] == "usage"]
    assert usage["kind"] == "agent"
    assert str(usage["agent"]).startswith("helper-")
    assert not any("agent" in entry for entry in entries if entry["type"] == "message")
    assert (turns, replies) == (3, 3)


def test_its_workspace_is_read_only_unless_it_may_write(stage: Stage) -> None:
    stage.server.begin(
        [
            call("delegate", task="write"),
            call("write", path="a.txt", content="a"),
            say("blocked"),
            call("delegate", task="write", writable=["."]),
            call("write", path="b.txt", content="b"),
            say("written"),
            say("Done."),
        ]
    )

    end, _, _ = work(stage)

    assert end.reason == "done"
    assert [path for path in stage.workspace.files if path.endswith(("a.txt", "b.txt"))] == ["/project/b.txt"]


def test_the_kernel_holds_its_commands_and_nobody_can_let_them_out(stage: Stage) -> None:
    stage.asker = Person()  # is not asked
    script = [call("delegate", task="x"), call("bash", command="echo x > new.txt"), say("blocked"), say("Done.")]
    stage.server.begin(script)

    async def scenario(project: Path) -> str:
        workspace = LocalWorkspace.start(str(project), env=stage.environ)
        try:
            if not (await workspace.sandbox.status()).confined:
                pytest.skip("this machine cannot confine anything")
            options = ConversationOptions(model="m", approvals="auto")
            async with conversing(stage.host(), options, workspace) as conversation:
                events: list[Event] = []
                conversation.subscribe_agents(events.append)
                await conversation.submit("work")
                (result,) = [event.result for event in events if isinstance(event, ToolExecutionEnd)]
                return result.text
        finally:
            await workspace.close()

    with folder_elsewhere() as folder:
        (folder / "project").mkdir()
        stage.environ |= {"PATH": os.environ["PATH"], "HOME": str(folder)}
        told = run(scenario(folder / "project"))
        assert list((folder / "project").iterdir()) == []

    assert "beyond the workspace of this agent" in told


def test_its_tools_call_none_that_its_limits_do_not_hold_for(stage: Stage) -> None:
    relay = """

async def shout(task, context):
    return text_result("SHOUTED")

async def relay(task, context):
    return await context.call_tool("shout", {"task": "x"})

def both(api):
    extend_all(api)
    api.register_tool(TypedTool("shout", "Shout.", Task, shout), risk="granted")
    api.register_tool(TypedTool("relay", "Relay.", Task, relay), risk="read")

extend_all, extend = extend, both
"""
    stage.install(_TOOLS + relay)
    stage.server.begin(
        [
            call("relay", task="x"),
            call("delegate", task="x", tools=["relay"]),
            call("relay", task="x"),
            say("No."),
            say("Done."),
        ]
    )

    _, events, _ = work(stage)

    (inner,) = [
        event.result.text for event in events if isinstance(event, ToolExecutionEnd) and event.tool_name == "relay"
    ]
    assert inner == "shout was not run: the limits of this agent do not hold for it."
    assert "SHOUTED" in results(stage)[0]


def test_a_wider_workspace_or_an_unknown_tool_is_refused(stage: Stage) -> None:
    stage.server.begin(
        [call("delegate", task="x", writable=["/etc"]), call("delegate", task="x", tools=["magic"]), say("Done.")]
    )

    work(stage)

    wider, unknown = results(stage)
    assert "/etc cannot be chosen" in wider
    assert "no such tool: magic" in unknown


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\x1b[31mred", "turned\u202e", "x" * 65])
def test_a_name_that_is_not_one_plain_line_is_refused(stage: Stage, name: str) -> None:
    stage.server.begin([call("delegate", task="x", called=name), say("Done.")])

    _, events, _ = work(stage)

    assert "is no name for it. Use one line of at most 64 printable characters" in results(stage)[0]
    assert events == []


def test_its_questions_name_it_and_the_conversation(stage: Stage) -> None:
    person = stage.asker = Person(AllowOnce(), Confirmed(True))
    ask = ConversationOptions(model="m", approvals="ask")
    stage.server.begin(
        [
            call("delegate", task="write", writable=["."], tools=["write", "inquire"]),
            call("write", path="b.txt", content="b"),
            call("inquire", task="Go on?"),
            say("written"),
            say("Done."),
        ]
    )

    _, events, conversation = work(stage, ask)

    assert isinstance(person.questions[0], Approval)
    assert {question.agent for question in person.questions} == {event.agent for event in events}
    assert {question.conversation for question in person.questions} == {conversation.conversation_id}
    assert stage.workspace.files["/project/b.txt"] == b"b"


def test_without_questions_what_would_need_one_is_refused(stage: Stage) -> None:
    person = stage.asker = Person(AllowOnce())
    ask = ConversationOptions(model="m", approvals="ask")
    task = call("delegate", task="write", writable=["."], tools=["write"], asks=False)
    stage.server.begin([task, call("write", path="b.txt", content="b"), say("refused"), say("Done.")])

    work(stage, ask)

    assert person.questions == []
    assert "/project/b.txt" not in stage.workspace.files
    assert results(stage) == ["refused (2 requests)"]


def test_the_tool_shows_its_calls_while_it_works(stage: Stage) -> None:
    stage.server.begin([call("delegate", task="look"), call("read", path="notes.txt"), say("milk"), say("Done.")])

    async def scene(conversation: Conversation) -> list[str]:
        shown: list[str] = []

        def follow(event: Event) -> None:
            if isinstance(event, ToolExecutionUpdate):
                shown.append(event.delta)

        conversation.subscribe(follow)
        await conversation.submit("work")
        return shown

    assert stage.play(scene, ConversationOptions(model="m", approvals="auto"))[1:] == ["read notes.txt\n"]


def test_over_its_own_budget_it_ends_and_the_conversation_goes_on(stage: Stage) -> None:
    stage.server.begin([call("delegate", task="look", turns=1), call("read", path="notes.txt"), say("Done.")])

    end, _, _ = work(stage)

    assert end.reason == "done"
    assert "ended early (budget)" in results(stage)[0]


def test_it_cannot_use_more_than_the_conversation_may(stage: Stage) -> None:
    stage.server.begin([call("delegate", task="look"), call("read", path="notes.txt"), say("never asked")])

    end, events, _ = work(stage, ConversationOptions(model="m", approvals="auto", budget=Budget(turns=2)))

    assert end.reason == "budget"
    assert [event.reason for event in events if isinstance(event, AgentEnd)] == ["budget"]
    assert stage.server.remaining == 1


def test_agents_at_once_make_no_more_requests_than_the_conversation_may(stage: Stage) -> None:
    several = Answer(calls=tuple(call("delegate", task="look").calls[0] for _ in range(6)))
    stage.server.begin([several, *[call("read", path="notes.txt")] * 6])

    end, events, _ = work(stage, ConversationOptions(model="m", approvals="auto", budget=Budget(turns=3)))

    assert end.reason == "budget"
    assert [event.reason for event in events if isinstance(event, AgentEnd)] == ["budget"] * 6
    assert len(stage.server.requests) == 3


@pytest.mark.parametrize("when", ["before it", "while it runs"])
def test_rules_that_were_read_again_hold_for_it(stage: Stage, when: str) -> None:
    stage.server.begin(
        [
            call("delegate", task="touch", writable=["."]),
            call("bash", command="ls"),
            call("bash", command="touch a"),
            say("denied"),
            say("Done."),
        ]
    )

    async def scene(conversation: Conversation) -> None:
        async def read_again() -> None:
            (stage.home / "settings.json").write_text('{"approvals": {"deny": ["bash: touch *"]}}')
            await conversation.reload()

        async def command(_: CommandRequest) -> CommandResult:
            if when == "while it runs":
                await read_again()
            return CommandResult(0, None, b"", 0, 0)

        stage.commands = command
        if when == "before it":
            await read_again()
        await conversation.submit("work")

    stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    told = [text for who, text in said_in(stage.server.requests[3]) if who == "tool"]
    assert "bash: touch *" in told[-1]


def test_what_the_person_changed_between_two_calls_of_it_comes_back_after_it_reverted_that(stage: Stage) -> None:
    stage.server.begin(
        [
            call("delegate", task="work"),
            call("bash", command="make log"),
            call("bash", command="revert"),
            say("It is done."),
            say("Done."),
        ]
    )

    async def command(request: CommandRequest) -> CommandResult:
        if "revert" in request.argv[-1]:
            await stage.workspace.write("notes.txt", stage.files["notes.txt"])
        else:
            await stage.workspace.write("log", b"made")
        return CommandResult(0, None, b"", 0, 0)

    async def scene(conversation: Conversation) -> str:
        def change(event: Event) -> None:
            if isinstance(event, ToolExecutionStart) and "revert" in str(event.args):
                with suppress(StopIteration):  # it waits for nothing
                    stage.workspace.write("notes.txt", b"mine").send(None)

        conversation.subscribe_agents(change)
        await conversation.submit("work")
        assert stage.workspace.files["/project/notes.txt"] == stage.files["notes.txt"]
        said = await conversation.navigation.undo()
        assert stage.workspace.files["/project/notes.txt"] == b"mine"
        return said

    stage.commands = command

    said = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert said.splitlines()[1:3] == ["deleted log", "restored notes.txt"]


def test_stopping_the_conversation_stops_it(stage: Stage) -> None:
    stage.server.begin(
        [call("delegate", task="look"), Answer(text=("one", "two"), fault=Fault("stall")), say("never asked")]
    )
    events: list[Event] = []

    async def scene(conversation: Conversation) -> AgentEnd:
        begun = asyncio.Event()

        def note(event: Event) -> None:
            events.append(event)
            if event.agent is not None and not isinstance(event, MessageEnd):
                begun.set()

        conversation.subscribe_agents(note)
        running = asyncio.ensure_future(conversation.submit("work"))
        await begun.wait()
        await asyncio.to_thread(stage.server.wait_until_stalled)
        conversation.abort()
        end = await running
        assert isinstance(end, AgentEnd)
        return end

    end = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert end.reason == "aborted"
    assert isinstance(events[-1], AgentEnd)
    assert events[-1].reason == "aborted"
    assert stage.server.remaining == 1


def test_an_agent_can_run_an_agent(stage: Stage) -> None:
    stage.server.begin(
        [
            call("delegate", task="outer", tools=["delegate"]),
            call("delegate", task="inner"),
            say("inner"),
            say("outer"),
            say("Done."),
        ]
    )

    _, events, _ = work(stage)

    replies = [
        event for event in events if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage)
    ]
    assert len({event.agent for event in replies}) == 2
    assert results(stage) == ["outer (3 requests)"]


def test_the_roster_has_the_agents_of_agents_and_what_they_used(stage: Stage) -> None:
    script = [call("delegate", task="outer", tools=["delegate"]), call("delegate", task="inner\nmore"), say("inner")]
    stage.server.begin([*script, say("outer"), say("Done.")])

    async def scene(conversation: Conversation) -> tuple[list[AgentStatus], str]:
        await conversation.submit("work")
        agents = list(conversation.agents.list())
        return agents, conversation.agents.transcript(agents[-1].agent)

    (outer, inner), transcript = stage.play(scene, ConversationOptions(model="m", approvals="auto"))

    assert (outer.parent, inner.parent) == (None, outer.agent)
    assert (outer.task, inner.task) == ("outer", "inner")
    assert (outer.state, inner.state) == ("done", "done")
    assert (outer.used.turns, inner.used.turns) == (3, 1)
    assert "more" in transcript


def test_an_agent_that_becomes_too_long_is_compacted(stage: Stage) -> None:
    script: list[ScriptItem] = [call("delegate", task="look"), call("read", path="notes.txt"), CONTEXT_OVERFLOW]
    stage.server.begin([*script, say("A summary."), say("milk"), say("Done.")])

    end, _, _ = work(stage)

    assert end.reason == "done"
    assert results(stage) == ["milk (3 requests)"]
    assert any("A summary." in text for _, text in said_in(stage.server.requests[4]))
