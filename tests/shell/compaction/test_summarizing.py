"""Requests to models beside the conversation, and summaries of branches."""

from typing import Any

import pytest

from kaa.core.events import AgentEnd, Event, MessageEnd
from kaa.core.provider import SideRequest
from kaa.session.entries import BranchSummary
from kaa.shell.compaction.summarizing import ModelSummary, Summarizer, SummaryError, SummaryTooLongError
from kaa.shell.conversation import Conversation
from tests.support.model_script import CONTEXT_OVERFLOW, OVERLOADED, Answer, Call, ScriptItem, Tokens, say
from tests.support.stage import Stage


@pytest.fixture(autouse=True)
def _no_waiting(stage: Stage) -> None:
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "settings.json").write_text('{"retry": {"baseDelayMs": 0, "maxRetries": 2}}')


def summarizer_of(conversation: Conversation) -> Summarizer:
    return conversation.compaction._condensing._summarizer  # it has no door of its own: who needs it is given it


def ask(stage: Stage, *script: ScriptItem, max_tokens: int = 50) -> ModelSummary:
    stage.server.begin(script)
    return stage.play(lambda c: summarizer_of(c).ask("You name things.", "Name this.", max_tokens))


def asked(stage: Stage) -> list[dict[str, Any]]:
    return [request.json for request in stage.server.requests if request.method == "POST"]


def test_the_question_goes_alone_and_the_answer_comes_back_with_its_price(stage: Stage) -> None:
    answer = ask(stage, Answer(text=(" A ", "name\n"), usage=Tokens(prompt=20, output=3)))

    assert (answer.text, answer.model) == ("A name", "openai/m")
    assert (answer.usage.input, answer.usage.output) == (20, 3)
    (request,) = asked(stage)
    assert [message["content"] for message in request["messages"]] == ["You name things.", "Name this."]
    assert "tools" not in request
    assert 50 in (request.get("max_tokens"), request.get("max_completion_tokens"))


def test_it_leaves_no_trace_in_the_conversation(stage: Stage) -> None:
    stage.server.begin([say("1"), say("a name"), say("2")])

    async def scene(conversation: Conversation) -> list[Event]:
        events: list[Event] = []
        await conversation.submit("one?")
        conversation.subscribe(events.append)
        await summarizer_of(conversation).ask("system", "name it", 50)
        heard = list(events)
        assert isinstance(await conversation.submit("two?"), AgentEnd)
        return heard

    heard = stage.play(scene)

    assert not any(isinstance(event, MessageEnd) for event in heard)
    assert [message["content"] for message in asked(stage)[-1]["messages"][1:]] == ["one?", "1", "two?"]


def test_transient_errors_are_tried_again_as_always(stage: Stage) -> None:
    assert ask(stage, OVERLOADED, OVERLOADED, say("a name")).text == "a name"

    with pytest.raises(SummaryError):
        ask(stage, OVERLOADED, OVERLOADED, OVERLOADED)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(text=("half a na",), stop="length"), "cut off after 50"),
        (Answer(text=("  \n",)), "without any text"),
        (Answer(calls=(Call("read"),)), "without any text"),
    ],
)
def test_an_answer_that_is_none_is_an_error(stage: Stage, answer: Answer, error: str) -> None:
    with pytest.raises(SummaryError, match=error):
        ask(stage, answer)


def test_those_who_observe_are_told_of_each_try(stage: Stage) -> None:
    stage.server.begin([OVERLOADED, say("a name")])

    async def scene(conversation: Conversation) -> list[SideRequest]:
        told: list[SideRequest] = []
        summarizer_of(conversation)._agent.observe_asides(told.append)
        await summarizer_of(conversation).ask("system", "name it", 50)
        return told

    failed, answered = stage.play(scene)

    assert (failed.reply, failed.error_type) == (None, "OverloadedError")
    assert answered.reply is not None
    assert (answered.reply.text, answered.error_type) == ("a name", None)


def test_an_answer_without_end_is_cut_off(stage: Stage) -> None:
    endless = Answer(text=("again and " * 10_000,) * 25)

    with pytest.raises(SummaryError, match="did not end"):
        ask(stage, endless)

    assert len(asked(stage)) == 1


def test_a_question_that_is_too_long_says_so(stage: Stage) -> None:
    with pytest.raises(SummaryTooLongError):
        ask(stage, CONTEXT_OVERFLOW)


class TestBranches:
    def left(self, stage: Stage, instructions: str = "", *script: ScriptItem) -> BranchSummary | None:
        """What stands for all that was said, when one goes on from before it."""
        call = Answer(calls=(Call("read", '{"path": "notes.txt"}'),))
        stage.server.begin([call, say("it says milk"), *(script or (say("## Goal\nmilk"),))])

        async def scene(conversation: Conversation) -> BranchSummary | None:
            await conversation.submit("what is in the notes?")
            nodes = conversation.compaction._store.tree.path()
            return await summarizer_of(conversation).branch_summary(nodes, None, instructions)

        return stage.play(scene)

    def test_the_entry_tells_what_was_said_and_touched(self, stage: Stage) -> None:
        summary = self.left(stage)

        assert summary is not None
        assert summary.summary == "## Goal\nmilk\n\n<read-files>\nnotes.txt\n</read-files>"
        assert summary.from_id == "root"
        assert summary.usage is not None
        assert summary.details == {"readFiles": ["notes.txt"], "modifiedFiles": [], "model": "openai/m"}

    def test_the_model_is_shown_all_but_what_tools_said(self, stage: Stage) -> None:
        self.left(stage, "look at the milk")

        question = asked(stage)[-1]["messages"][1]["content"]
        assert "[User]: what is in the notes?" in question
        assert "it says milk" in question
        assert "remember the milk" not in question
        assert "look at the milk" in question

    def test_a_branch_on_which_nothing_was_said_needs_none(self, stage: Stage) -> None:
        stage.server.begin([])

        async def scene(conversation: Conversation) -> BranchSummary | None:
            return await summarizer_of(conversation).branch_summary([], "x")

        assert stage.play(scene) is None

    def test_of_a_long_branch_the_newest_part_is_shown(self, stage: Stage) -> None:
        (stage.home / "models.json").write_text(
            '{"providers": {"openai": {"models": [{"id": "m", "contextWindow": 8192, "maxTokens": 2048}]}}}'
        )
        stage.server.begin([*(Answer(text=(f"{n} " + "x" * 4000,), usage=None) for n in range(5)), say("summary")])

        async def scene(conversation: Conversation) -> None:
            (stage.home / "settings.json").write_text('{"compaction": {"enabled": false}}')
            await conversation.reload()
            for number in range(5):
                await conversation.submit(f"question {number}")
            nodes = conversation.compaction._store.tree.path()
            await summarizer_of(conversation).branch_summary(nodes, "t")

        stage.play(scene)

        question = asked(stage)[-1]["messages"][1]["content"]
        assert "question 4" in question
        assert "question 0" not in question
