"""A single call of a model by an extension: the answer, the budget, the figures."""

import msgspec
import pytest

from kaa.core.budget import Budget
from kaa.core.events import AgentEnd
from kaa.core.messages import AssistantMessage, Usage, user_message
from kaa.ext.api import CommandContext, ConversationContext, ExtensionAPI
from kaa.ext.completions import CompletionError
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from tests.shell.acting.test_messages import entries, say_it
from tests.support.extended import in_a_command, play
from tests.support.model_script import Refusal
from tests.support.model_server import call, say
from tests.support.stage import Stage


def test_the_model_gets_the_prompt_alone(stage: Stage) -> None:
    stage.server.begin([say("milk")])
    answers: list[str] = []

    async def work(context: CommandContext) -> None:
        answer = await context.complete("What is in the notes?", system="Be brief.", max_tokens=50)
        answers.append(f"{answer.text} ({answer.model})")

    in_a_command(stage, work)

    request = stage.server.requests[0].json
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "Be brief." in str(request["messages"][0])
    assert "tools" not in request
    assert answers == ["milk (openai/m)"]


def test_messages_of_a_conversation_can_be_given(stage: Stage) -> None:
    stage.server.begin([say("milk")])
    reply = AssistantMessage((), "openai-completions", "openai", "m", Usage(), "stop")

    async def work(context: CommandContext) -> None:
        await context.complete([user_message("one"), reply, user_message("two")])

    in_a_command(stage, work)

    texts = [message["content"] for message in stage.server.requests[0].json["messages"] if message["role"] == "user"]
    assert [text if isinstance(text, str) else text[0]["text"] for text in texts] == ["one", "two"]


def test_the_session_counts_it_with_the_name_of_the_extension(stage: Stage) -> None:
    stage.server.begin([say("milk")])
    purposes: list[object] = []

    async def work(context: CommandContext) -> None:
        await context.complete("What?")
        purposes.extend((await context.accounting.spending()).by_purpose)

    in_a_command(stage, work)

    (entry,) = [entry for entry in entries(stage) if entry["type"] == "usage"]
    assert entry["kind"] == "extension:ci"
    assert purposes == ["extension"]


def test_hooks_within_a_run_can_ask_a_model(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("a list"), say("Done.")])
    answers: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            answers.append((await context.complete("What is it?")).text)

        kaa.after_tool(after)

    play(stage, say_it, extend)

    assert answers == ["a list"]


def test_an_exhausted_budget_pays_for_no_call(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("Done.")])
    problems: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def after(_call: object, _result: object, context: ConversationContext) -> None:
            with pytest.raises(CompletionError) as refused:
                await context.complete("What is it?")
            problems.append(str(refused.value))

        kaa.after_tool(after)

    options = ConversationOptions(model="m", approvals="auto", budget=Budget(turns=1))
    play(stage, say_it, extend, options=options)

    assert "the budget is used up" in problems[0]
    assert len(stage.server.requests) == 1


def test_a_failure_names_the_model(stage: Stage) -> None:
    stage.server.begin([Refusal(400)])

    async def work(context: CommandContext) -> None:
        with pytest.raises(CompletionError, match="400"):
            await context.complete("What?")
        with pytest.raises(CompletionError, match="nowhere"):
            await context.complete("What?", model="nowhere")
        with pytest.raises(ValueError, match="the prompt of complete is empty"):
            await context.complete(" ")

    in_a_command(stage, work)


def test_commands_and_hooks_can_run_agents(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt"), say("milk"), say("Done."), say("cheese")])
    found: list[str] = []

    def extend(kaa: ExtensionAPI) -> None:
        async def act(_arguments: str, context: CommandContext) -> None:
            found.append((await context.run_agent("Read the notes.")).text)

        async def end(_reply: object, context: ConversationContext) -> None:
            found.append((await context.run_agent("Check that.")).text)

        kaa.register_command("act", "Act", act)
        kaa.before_end(end)

    async def scene(hosted: HostedConversation) -> AgentEnd:
        await hosted.work.command("/act")
        end = await hosted.work.submit(user_message("go"))
        assert isinstance(end, AgentEnd)
        return end

    assert play(stage, scene, extend).reason == "done"
    assert found == ["milk", "cheese"]


def test_a_hook_that_runs_for_the_calls_of_its_own_agents_is_limited(stage: Stage) -> None:
    stage.server.begin([call("read", path="notes.txt")] * 10)

    def extend(kaa: ExtensionAPI) -> None:
        async def before(_call: object, context: ConversationContext) -> None:
            await context.run_agent("Look.", name="deep")

        kaa.before_tool(before)

    play(stage, say_it, extend)

    assert any("the limit is 5" in notice for notice in stage.notices)


class _Draft(msgspec.Struct):
    subject: str
    files: list[str] = []


class TestAStructuredAnswer:
    def test_is_a_value_of_the_type(self, stage: Stage) -> None:
        stage.server.begin([say('```json\n{"subject": "Add tests", "files": ["a.py"]}\n```')])
        drafts: list[_Draft] = []

        async def work(context: CommandContext) -> None:
            drafts.append(await context.complete("What changed?", system="Be brief.", schema=_Draft))

        in_a_command(stage, work)

        system = str(stage.server.requests[0].json["messages"][0])
        assert "Be brief." in system
        assert '"required":["subject"]' in system.replace("\\", "")
        assert drafts == [_Draft("Add tests", ["a.py"])]

    def test_that_does_not_fit_is_asked_for_once_more(self, stage: Stage) -> None:
        stage.server.begin([say('{"files": []}'), say('{"subject": "Add tests"}')])
        drafts: list[_Draft] = []

        async def work(context: CommandContext) -> None:
            drafts.append(await context.complete("What changed?", schema=_Draft))

        in_a_command(stage, work)

        assert "missing required field `subject`" in str(stage.server.requests[1].json["messages"])
        assert drafts == [_Draft("Add tests")]
        assert len([entry for entry in entries(stage) if entry["type"] == "usage"]) == 2

    def test_that_does_not_fit_twice_is_an_error_that_says_why(self, stage: Stage) -> None:
        stage.server.begin([say("no idea"), say('{"subject": ["x"]}')])

        async def work(context: CommandContext) -> None:
            with pytest.raises(CompletionError, match=r"openai/m does not fit the schema: Expected `str`.*subject"):
                await context.complete("What changed?", schema=_Draft)

        in_a_command(stage, work)

    def test_of_a_type_without_a_schema_is_refused(self, stage: Stage) -> None:
        async def work(context: CommandContext) -> None:
            with pytest.raises(TypeError, match="which has no JSON Schema"):
                await context.complete("What changed?", schema=complex)

        in_a_command(stage, work)

        assert stage.server.requests == []
