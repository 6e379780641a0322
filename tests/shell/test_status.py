"""What a status line and the reports show."""

import asyncio

import pytest

from kaa.core.events import AgentEnd
from kaa.core.messages import Json, user_message
from kaa.ext.errors import CommandError
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from kaa.shell.status import Status
from tests.support.model_script import Answer, Call, Fault, Tokens, say
from tests.support.stage import Stage

AGAIN = ConversationOptions(model="m", session=ContinueSession())


def measured(prompt: int, cached: int, output: int) -> Answer:
    return Answer(text=("hi",), usage=Tokens(prompt, cached, output))


async def reported(conversation: Conversation, command: str) -> str:
    outcome = await conversation.submit(command)
    assert isinstance(outcome, CommandReply)
    return outcome.text


def test_a_new_conversation_has_used_nothing(stage: Stage) -> None:
    status = stage.play(lambda c: c.status())

    assert status.model.name == "openai/m"
    assert (status.cwd, status.session_name) == ("/project", None)
    assert (status.usage.total.cost, status.usage.total.cache_hit_rate) == (0.0, None)
    assert status.usage.context.tokens > 100  # prompt and tools
    assert not status.usage.context.measured
    assert (status.sandbox, status.sandbox_problem) == (None, None)


def test_tokens_are_those_of_the_turn_and_of_the_session(stage: Stage) -> None:
    stage.server.begin(
        [
            Answer(calls=(Call("read", '{"path": "notes.txt"}'),), usage=Tokens(100, 40, 10)),
            measured(200, 100, 20),
            measured(300, 0, 5),
        ]
    )

    async def scene(conversation: Conversation) -> Status:
        await conversation.submit("one")
        await conversation.submit("two")
        return await conversation.status()

    usage = stage.play(scene).usage

    assert (usage.turn.usage.input, usage.turn.usage.output) == (300, 5)
    assert (usage.total.usage.input, usage.total.usage.cache_read, usage.total.usage.output) == (460, 140, 35)
    assert usage.total.cost is None  # nobody knows what this model costs
    assert (usage.context.tokens, usage.context.measured) == (305, True)


def test_a_restart_forgets_no_cost(stage: Stage) -> None:
    stage.server.begin([measured(100, 0, 10), measured(200, 0, 20)])
    stage.play(lambda c: c.submit("one"))

    async def scene(conversation: Conversation) -> Json:
        before = conversation.usage
        await conversation.submit("two")
        return before, conversation.usage

    before, after = stage.play(scene, AGAIN)

    assert (before.total.usage.input, before.turn.usage.input, before.context.tokens) == (100, 0, 110)
    assert after.total.usage.input == 300


def test_what_waits_can_be_taken_back(stage: Stage) -> None:
    stage.server.begin([Answer(text=("a", "b"), fault=Fault("stall")), say("done")])

    async def scene(conversation: Conversation) -> list[str]:
        run = asyncio.ensure_future(conversation.submit("go"))
        await asyncio.to_thread(stage.server.wait_until_stalled)
        await conversation.steer(user_message("first"))
        await conversation.follow_up(user_message("second"))
        assert conversation.is_running
        taken = conversation.clear_queues()
        conversation.abort()
        await run
        return [message.text for message in taken]

    assert stage.play(scene) == ["first", "second"]


class TestCommands:
    def test_cost_says_what_is_not_known(self, stage: Stage) -> None:
        stage.server.begin([measured(1000, 750, 10)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("one")
            return await reported(conversation, "/cost")

        lines = [line.split() for line in stage.play(scene).splitlines()]

        assert lines[1:6] == [
            ["input", "250", "250"],
            ["output", "10", "10"],
            ["cache", "read", "750", "750"],
            ["cache", "write", "0", "0"],
            ["cost", "?", "?"],
        ]
        assert " ".join(lines[-2]) == "75% of the input came from the provider's cache."
        assert " ".join(lines[-1]) == "The price of 1 reply is not known."

    def test_context_adds_up_to_the_window(self, stage: Stage) -> None:
        stage.server.begin([measured(28_000, 0, 1_000)])

        async def scene(conversation: Conversation) -> str:
            await conversation.submit("one")
            return await reported(conversation, "/context")

        report = stage.play(scene)

        assert report.startswith("openai/m: 29,000 of 128,000 tokens, 23% (as the server counted")
        assert ["free", "99,000", "77.3%"] in [line.split() for line in report.splitlines()]

    def test_reload_applies_what_may_change_and_names_the_rest(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            (stage.home / "settings.json").write_text(
                '{"steeringMode": "all", "enabledModels": ["openai/*"], "sandbox": {"mode": "read-only"}}'
            )
            report = await reported(conversation, "/reload")
            assert conversation.models.scoped()
            return report

        stage.home.mkdir()
        report = stage.play(scene)

        assert "sandbox: changes take effect at the next start" in report.splitlines()

    def test_reload_of_a_mistake_changes_nothing(self, stage: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            for text in ('{"steeringMode": "some"}', '{"approvals": {"deny": ["no rule at all ("]}}'):
                (stage.home / "settings.json").write_text(text)
                with pytest.raises(CommandError, match="nothing was changed: "):
                    await conversation.reload()
            return await reported(conversation, "/reload")

        stage.home.mkdir()

        assert stage.play(scene).startswith("nothing was changed: ")


def test_rules_that_are_added_hold_from_the_next_call_on(stage: Stage) -> None:
    stage.home.mkdir()
    call = Answer(calls=(Call("read", '{"path": "notes.txt"}'),))
    stage.server.begin([call, say("seen"), call, say("not seen")])

    async def scene(conversation: Conversation) -> list[str]:
        first = await conversation.submit("read it")
        (stage.home / "settings.json").write_text('{"approvals": {"deny": ["read: notes.txt"]}}')
        await conversation.reload()
        second = await conversation.submit("read it again")
        return [outcome.reason for outcome in (first, second) if isinstance(outcome, AgentEnd)]

    assert stage.play(scene) == ["done", "denied"]
