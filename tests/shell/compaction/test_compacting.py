"""Condensing conversations, by themselves and on request, and taking that back."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kaa.core.events import AgentEnd, CompactionEnd, CompactionStart, Event, WorkStart
from kaa.core.messages import ImageContent, user_message
from kaa.ext.errors import CommandError
from kaa.session.entries import Entry
from kaa.session.errors import SessionWriteError
from kaa.session.recorder import SessionRecorder
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.model_script import CONTEXT_OVERFLOW, Answer, Call, Fault, Refusal, ScriptItem, Tokens, say
from tests.support.stage import Stage

AGAIN = ConversationOptions(model="m", session=ContinueSession())
# The window of a model that is not known has 128,000 tokens, of which 16,384 are reserved.
LONG = Tokens(prompt=120_000)
READ = Answer(calls=(Call("read", '{"path": "notes.txt"}'),))
LONG_READ = Answer(calls=(Call("read", '{"path": "notes.txt"}'),), usage=LONG)


@pytest.fixture(autouse=True)
def _small_sizes(stage: Stage) -> None:
    configure(stage, keepRecentTokens=1)


def configure(stage: Stage, **compaction: Any) -> None:
    stage.home.mkdir(parents=True, exist_ok=True)
    settings = {"compaction": compaction, "retry": {"baseDelayMs": 0}}
    (stage.home / "settings.json").write_text(json.dumps(settings))


def asked(stage: Stage) -> list[dict[str, Any]]:
    """What was asked of the model, the oldest first."""
    return [request.json for request in stage.server.requests if request.method == "POST"]


def told(request: dict[str, Any]) -> list[str]:
    """What the messages of a request say, but for the system prompt."""
    return [message["content"] or "" for message in request["messages"][1:]]


class Ear:
    """Hears a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.events: list[Event] = []
        conversation.subscribe(self.events.append)

    @property
    def ends(self) -> list[CompactionEnd]:
        return [event for event in self.events if isinstance(event, CompactionEnd)]


async def outcome(conversation: Conversation, *texts: str) -> tuple[AgentEnd, Ear]:
    """Say something, and hear what happens."""
    ear = Ear(conversation)
    end: object = None
    for text in texts:
        end = await conversation.submit(text)
    assert isinstance(end, AgentEnd)
    return end, ear


class TestImages:
    """Some servers refuse requests for their bytes, or for an image in them."""

    @pytest.mark.parametrize(
        "refusal",
        [
            Refusal(413),
            Refusal(400, body='{"error": {"message": "messages.0: image exceeds 5 MB maximum", "type": "invalid"}}'),
        ],
    )
    def test_the_oldest_images_are_left_out_until_the_server_takes_the_request(
        self, stage: Stage, refusal: Refusal
    ) -> None:
        model = {"id": "m", "input": ["text", "image"]}
        provider = {"baseUrl": f"{stage.server.url}/v1", "api": "openai-completions", "apiKey": "k", "models": [model]}
        (stage.home / "models.json").write_text(json.dumps({"providers": {"acme": provider}}))
        stage.environ = {}
        stage.server.begin([say("one"), refusal, refusal, say("two")])
        ends = []

        async def scene(conversation: Conversation) -> None:
            images = tuple(
                ImageContent(base64.b64encode(name).decode(), "image/png") for name in (b"old", b"mid", b"new")
            )
            await conversation.submit(user_message("look", images[:2]))
            for text in ("and this?", "still?"):
                end = await conversation.submit(user_message(text, images[2:] if text != "still?" else ()))
                assert isinstance(end, AgentEnd)
                ends.append(end.reason)

        stage.play(scene, ConversationOptions(model="acme/m"))

        sent = [json.dumps(request["messages"]) for request in asked(stage)]
        kept = [[name for name in ("b2xk", "bWlk", "bmV3") if name in request] for request in sent]
        assert kept == [["b2xk", "bWlk"], ["b2xk", "bWlk", "bmV3"], ["bmV3"], []]
        assert ends == ["error", "done"]  # no answer to an image that the model does not see
        assert sent[-1].count("image left out") == 3
        older, own = (notice for notice in stage.notices if "sent" in notice)
        assert older.startswith("the 2 oldest images of the conversation will not be sent to the model any more: ")
        assert own.startswith(
            "The image of your message is too large and will not be sent again. Send the message with"
        )

    def test_a_request_that_is_too_large_without_images_is_condensed(self, stage: Stage) -> None:
        stage.server.begin([READ, Refusal(413), say("the milk is to be remembered"), say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert [compaction.reason for compaction in ear.ends] == ["overflow"]


class TestByItself:
    def test_between_the_turns_of_a_tool_loop(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, say("the milk is to be remembered"), say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        (compaction,) = ear.ends
        assert compaction.reason == "threshold"
        assert compaction.tokens_before > 120_000 > compaction.tokens_after
        assert compaction.dropped == 1
        _, summary, last = asked(stage)
        assert "tools" not in summary
        question = summary["messages"][1]["content"]
        assert "[User]: what is in the notes?" in question
        assert "ends in the middle of the work on the user's last request" in " ".join(question.split())
        assert "the milk is to be remembered" in told(last)[0]
        assert [message["role"] for message in last["messages"]] == ["system", "user", "assistant", "tool"]

    def test_the_turn_goes_on_and_has_all_its_messages_in_the_end(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, say("summary"), say("done")])

        end, _ = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert [type(message).__name__ for message in end.messages] == [
            "UserMessage",
            "AssistantMessage",
            "ToolResultMessage",
            "AssistantMessage",
        ]

    def test_system_prompt_and_tools_stay_byte_for_byte(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, say("summary"), say("done")])

        stage.play(lambda c: outcome(c, "what is in the notes?"))

        first, _, last = asked(stage)
        assert (first["messages"][0], first["tools"]) == (last["messages"][0], last["tools"])

    def test_before_the_first_request_of_the_next_message_and_after_a_restart(self, stage: Stage) -> None:
        stage.server.begin([Answer(text=("1",), usage=LONG), say("summary"), say("2")])
        stage.play(lambda c: outcome(c, "one?"))

        _, ear = stage.play(lambda c: outcome(c, "two?"), AGAIN)

        assert len(ear.ends) == 1
        summary, question = told(asked(stage)[-1])
        assert "one?" in summary
        assert question == "two?"

    def test_what_was_measured_before_does_not_count_any_more(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, say("summary"), READ, READ, say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert len(ear.ends) == 1

    def test_not_at_all_if_it_is_switched_off(self, stage: Stage) -> None:
        configure(stage, enabled=False, keepRecentTokens=1)
        stage.server.begin([LONG_READ, CONTEXT_OVERFLOW])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "error"
        assert not ear.ends

    def test_sooner_for_a_model_with_sizes_of_its_own(self, stage: Stage) -> None:
        configure(stage, keepRecentTokens=1, modelOverrides={"openai/m": {"reserveTokens": 30_000}})
        earlier = Answer(calls=READ.calls, usage=Tokens(prompt=100_000))
        stage.server.begin([earlier, say("summary"), say("done")])

        _, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert len(ear.ends) == 1

    def test_a_restart_goes_on_from_just_what_the_model_was_told(self, stage: Stage) -> None:
        script = [LONG_READ, say("s1"), READ, Answer(text=("1",), usage=LONG), say("s2"), READ, say("2"), say("3")]
        stage.server.begin(script)
        stage.play(lambda c: outcome(c, "what is in the notes?", "and now?"))

        stage.play(lambda c: outcome(c, "and then?"), AGAIN)

        before, after = asked(stage)[-2]["messages"], asked(stage)[-1]["messages"]
        assert after[: len(before)] == before
        assert [message["content"] for message in after[len(before) :]] == ["2", "and then?"]

    def test_in_a_tiny_window_too(self, stage: Stage) -> None:
        configure(stage)
        model = {"id": "m", "contextWindow": 8192, "maxTokens": 2048}
        (stage.home / "models.json").write_text(json.dumps({"providers": {"openai": {"models": [model]}}}))
        stage.files["notes.txt"] = b"remember the milk\n" * 500  # 2,250 tokens; three of them do not fit
        script: list[Answer] = []
        for number in range(7):
            script.append(Answer(calls=(Call("read", '{"path": "notes.txt"}', f"c{number}"),), usage=None))
            script += [say("summary")] if number in (2, 4, 6) else []
        stage.server.begin([*script, say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert len(ear.ends) == 3
        assert all(one.tokens_after < 6144 < one.tokens_before and one.warning is None for one in ear.ends)

    def test_stopping_it_stops_the_run_and_leaves_the_session_as_it_was(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, Answer(text=("summ", "ary"), fault=Fault("stall")), say("summary"), say("2")])

        async def scene(conversation: Conversation) -> tuple[object, list[str], list[CompactionEnd]]:
            ear = Ear(conversation)
            running = asyncio.create_task(conversation.submit("what is in the notes?"))
            while len(asked(stage)) < 2:
                await asyncio.sleep(0.005)
            await conversation.follow_up(user_message("meanwhile"))
            conversation.abort()
            end = await running
            return end, [message.text for message in conversation.clear_queues()], ear.ends

        end, waiting, ends = stage.play(scene)
        _, ear = stage.play(lambda c: outcome(c, "and now?"), AGAIN)

        assert isinstance(end, AgentEnd)
        assert (end.reason, waiting) == ("aborted", ["meanwhile"])
        assert [one.aborted for one in ends] == [True]
        assert "[User]: what is in the notes?" in asked(stage)[2]["messages"][1]["content"]
        assert len(ear.ends) == 1

    def test_what_is_too_long_for_one_summary_is_summed_up_piece_by_piece(self, stage: Stage) -> None:
        stage.server.begin([Answer(text=(letter * 24_000,), usage=None) for letter in "xyz"])  # 6,000 tokens each
        stage.play(lambda c: outcome(c, "one?", "two?", "three?"))
        model = {"id": "m", "contextWindow": 16_384, "maxTokens": 2048}
        (stage.home / "models.json").write_text(json.dumps({"providers": {"openai": {"models": [model]}}}))
        stage.server.begin([say("SUM0"), say("SUM1"), say("SUM2"), say("4")])

        end, ear = stage.play(lambda c: outcome(c, "four?"), AGAIN)

        assert end.reason == "done"
        pieces = [request["messages"][1]["content"] for request in asked(stage)[:3]]
        assert ["x" * 24_000 in piece for piece in pieces] == [True, False, False]
        assert ["y" * 24_000 in piece for piece in pieces] == [False, True, False]
        assert "<previous-summary>\nSUM0\n</previous-summary>" in pieces[1]
        assert ear.ends[0].summary.startswith("SUM2")

    def test_a_request_for_a_summary_that_is_too_long_is_tried_in_smaller_pieces(self, stage: Stage) -> None:
        replies = [Answer(text=("x" * 100_000,)) for _ in range(3)]  # 25,000 tokens each
        long = Answer(text=("x" * 100_000,), usage=Tokens(prompt=112_000))
        summaries = [say(f"SUM{number}") for number in range(4)]
        stage.server.begin([*replies, long, CONTEXT_OVERFLOW, *summaries, say("5")])

        end, ear = stage.play(lambda c: outcome(c, "one?", "two?", "three?", "four?", "five?"))

        assert end.reason == "done"
        assert ear.ends[0].summary.startswith("SUM3")


class TestOverflow:
    def test_the_request_is_sent_again_when_there_is_room(self, stage: Stage) -> None:
        stage.server.begin([say("1"), CONTEXT_OVERFLOW, say("summary"), say("2")])

        end, ear = stage.play(lambda c: outcome(c, "one?", "two?"))

        assert end.reason == "done"
        (compaction,) = ear.ends
        assert (compaction.reason, compaction.will_retry) == ("overflow", True)
        assert told(asked(stage)[-1])[-1] == "two?"

    def test_it_is_an_error_the_second_time(self, stage: Stage) -> None:
        stage.server.begin([say("1"), CONTEXT_OVERFLOW, say("summary"), CONTEXT_OVERFLOW])

        end, ear = stage.play(lambda c: outcome(c, "one?", "two?"))

        assert end.reason == "error"
        assert "context window" in (end.error or "")
        assert len(ear.ends) == 1

    def test_it_is_met_again_after_a_reply(self, stage: Stage) -> None:
        stage.server.begin([READ, CONTEXT_OVERFLOW, say("s1"), READ, READ, CONTEXT_OVERFLOW, say("s2"), say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert [compaction.reason for compaction in ear.ends] == ["overflow", "overflow"]

    def test_it_is_an_error_when_each_compaction_is_good_for_one_reply(self, stage: Stage) -> None:
        circle: list[ScriptItem] = [READ, CONTEXT_OVERFLOW, say("summary")]
        stage.server.begin([*circle, *circle, *circle, READ, CONTEXT_OVERFLOW, say("never asked for")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "error"
        assert len(ear.ends) == 3

    def test_the_window_is_the_one_that_the_server_names(self, stage: Stage) -> None:
        refusal = "This model's maximum context length is 16384 tokens. However, you requested 19000 tokens."
        too_long = Refusal(400, body=json.dumps({"error": {"message": refusal, "code": "context_length_exceeded"}}))
        said = [Answer(text=("x" * 16_000,), usage=None) for _ in range(5)]  # 4,000 tokens each
        stage.server.begin([*said, too_long, *(say(f"answer {number}") for number in range(9))])

        async def scene(conversation: Conversation) -> tuple[AgentEnd, Ear, int]:
            end, ear = await outcome(conversation, *(f"{number}?" for number in range(6)))
            return end, ear, conversation.usage.context.window

        end, ear, window = stage.play(scene)

        assert end.reason == "done"
        assert window == 16_384
        assert "16,384" in (ear.ends[0].warning or "")
        assert ear.ends[0].tokens_after < 12_288
        # Only what fits into that window is asked for in one summary.
        assert all(len(str(request["messages"])) < 4 * 16_384 for request in asked(stage)[6:])
        assert asked(stage)[-1].get("max_completion_tokens", 0) <= 4096

    def test_it_is_met_again_with_the_next_message(self, stage: Stage) -> None:
        overflow: list[ScriptItem] = [CONTEXT_OVERFLOW]
        stage.server.begin([say("1"), *overflow, say("s1"), say("2"), *overflow, say("s2"), say("3")])

        end, ear = stage.play(lambda c: outcome(c, "one?", "two?", "three?"))

        assert end.reason == "done"
        assert len(ear.ends) == 2

    def test_a_message_alone_that_is_too_long_is_an_error_and_no_circle(self, stage: Stage) -> None:
        stage.server.begin([CONTEXT_OVERFLOW])

        end, ear = stage.play(lambda c: outcome(c, "far too long"))

        assert end.reason == "error"
        assert not ear.ends


class TestTheGuard:
    def test_stops_when_a_compaction_is_not_enough(self, stage: Stage) -> None:
        # What is kept is a reply of which the server says that it alone fills the window, again and again.
        long_script = [
            LONG_READ,
            say("s1"),
            LONG_READ,
            say("s2"),
            LONG_READ,
            say("s3"),
            LONG_READ,
            LONG_READ,
            say("done"),
        ]
        stage.server.begin(long_script)

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert [compaction.warning is None for compaction in ear.ends] == [True, True, False]
        assert "compacts nothing more by itself" in (ear.ends[-1].warning or "")

    def test_stops_when_there_is_no_summary_to_be_had(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, Answer(text=("half a",), stop="length"), LONG_READ, say("done")])

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        (compaction,) = ear.ends
        assert "cut off" in (compaction.error or "")
        assert told(asked(stage)[-1])[0] == "what is in the notes?"


class TestOnRequest:
    def test_it_says_what_went(self, stage: Stage) -> None:
        stage.server.begin([READ, say("1"), say("2"), say("## Goal\nmilk")])

        async def scene(conversation: Conversation) -> str:
            await outcome(conversation, "one?", "two?")
            reply = await conversation.submit("/compact")
            assert isinstance(reply, CommandReply)
            return reply.text

        text = stage.play(scene)

        assert "a summary stands for 2 messages of yours, 2 replies and 1 tool result" in text
        assert "/uncompact" in text

    def test_the_users_instructions_reach_the_model(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary")])

        async def scene(conversation: Conversation) -> None:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/compact look at the numbers")

        stage.play(scene)

        assert "look at the numbers" in asked(stage)[-1]["messages"][1]["content"]

    def test_an_empty_conversation_is_not_condensed(self, stage: Stage) -> None:
        stage.server.begin([])

        async def scene(conversation: Conversation) -> str:
            reply = await conversation.submit("/compact")
            assert isinstance(reply, CommandReply)
            return reply.text

        assert "nothing to compact" in stage.play(scene)
        assert not asked(stage)

    def test_it_costs_what_the_entry_says(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), Answer(text=("summary",), usage=Tokens(prompt=700, output=30))])

        async def scene(conversation: Conversation) -> CompactionEnd:
            await outcome(conversation, "one?", "two?")
            return await conversation.compaction.compact()

        end = stage.play(scene)

        assert end.usage is not None
        assert (end.usage.input, end.usage.output, end.model) == (700, 30, "openai/m")

    def test_a_summary_that_cannot_be_had_leaves_all_as_it_was(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), Answer(text=("  ",)), say("3")])

        async def scene(conversation: Conversation) -> CommandReply:
            await outcome(conversation, "one?", "two?")
            reply = await conversation.submit("/compact")
            assert isinstance(reply, CommandReply)
            await conversation.submit("three?")
            return reply

        reply = stage.play(scene)

        assert "as it was" in reply.text
        assert told(asked(stage)[-1]) == ["one?", "1", "two?", "2", "three?"]

    def test_stopping_it_leaves_all_as_it_was_and_messages_waiting(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), Answer(text=("summ", "ary"), fault=Fault("stall")), say("3")])

        async def scene(conversation: Conversation) -> tuple[CompactionEnd, list[str], list[Event]]:
            await outcome(conversation, "one?", "two?")
            ear = Ear(conversation)
            compacting = asyncio.create_task(conversation.compaction.compact())
            while not any(isinstance(event, CompactionStart) for event in ear.events) or len(asked(stage)) < 3:
                await asyncio.sleep(0.005)
            assert conversation.is_running
            await conversation.steer(user_message("meanwhile"))
            conversation.abort()
            end = await compacting
            waiting = [message.text for message in conversation.clear_queues()]
            await conversation.submit("three?")
            return end, waiting, ear.events

        end, waiting, events = stage.play(scene)

        assert end.aborted
        assert waiting == ["meanwhile"]
        assert [event.aborted for event in events if isinstance(event, CompactionEnd)] == [True]
        assert told(asked(stage)[-1]) == ["one?", "1", "two?", "2", "three?"]

    def test_stopping_a_hook_after_it_leaves_it_done(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary"), say("3")])
        stage.install(
            "import asyncio\n"
            "def extend(api):\n"
            "    async def hook(*_): await asyncio.sleep(1000)\n"
            "    api.after_compaction(hook)\n"
        )

        async def scene(conversation: Conversation) -> CommandReply:
            await outcome(conversation, "one?", "two?")
            is_slow = asyncio.Event()
            conversation.subscribe(lambda event: is_slow.set() if isinstance(event, WorkStart) else None)
            compacting = asyncio.create_task(conversation.submit("/compact"))
            await is_slow.wait()
            conversation.abort()
            reply = await compacting
            assert isinstance(reply, CommandReply)
            await conversation.submit("three?")
            return reply

        reply = stage.play(scene)

        assert not reply.refused
        assert reply.text.startswith("compacted: ")
        assert told(asked(stage)[-1])[-1] == "three?"
        assert "1" not in told(asked(stage)[-1])

    def test_what_is_announced_has_an_end_even_if_the_session_cannot_be_written(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stage.server.begin([say("1"), say("2"), say("summary")])

        def full(_recorder: SessionRecorder, _draft: Entry) -> str:
            raise SessionWriteError(Path("s.jsonl"), "the disk is full")

        async def scene(conversation: Conversation) -> Ear:
            await outcome(conversation, "one?", "two?")
            ear = Ear(conversation)
            with monkeypatch.context() as patch:
                patch.setattr(SessionRecorder, "note", full)
                with pytest.raises(SessionWriteError):
                    await conversation.compaction.compact()
            return ear

        (end,) = stage.play(scene).ends

        assert "the disk is full" in (end.error or "")

    def test_it_is_refused_while_the_agent_works(self, stage: Stage) -> None:
        stage.server.begin([Answer(text=("1", "2"), fault=Fault("stall"))])

        async def scene(conversation: Conversation) -> None:
            running = asyncio.create_task(conversation.submit("one?"))
            while not conversation.is_running:
                await asyncio.sleep(0)
            with pytest.raises(CommandError, match="working"):
                await conversation.compaction.compact()
            conversation.abort()
            await running

        stage.play(scene)


class TestTakingItBack:
    def test_at_once(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary"), say("3")])

        async def scene(conversation: Conversation) -> None:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/compact")
            await conversation.submit("/uncompact")
            await conversation.submit("three?")

        stage.play(scene)

        assert told(asked(stage)[-1]) == ["one?", "1", "two?", "2", "three?"]

    def test_when_the_conversation_has_gone_on_and_after_a_restart(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary"), say("3"), say("4")])

        async def scene(conversation: Conversation) -> None:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/compact")
            await conversation.submit("three?")
            await conversation.submit("/uncompact")

        stage.play(scene)
        stage.play(lambda c: outcome(c, "four?"), AGAIN)

        assert told(asked(stage)[-1]) == ["one?", "1", "two?", "2", "three?", "3", "four?"]

    def test_what_was_measured_while_it_was_condensed_no_longer_holds(self, stage: Stage) -> None:
        answers = [Answer(text=("long",), usage=Tokens(prompt=50_000)) for _ in range(2)]
        short = Answer(text=("short",), usage=Tokens(prompt=900, output=9))
        stage.server.begin([*answers, say("summary"), short])

        async def scene(conversation: Conversation) -> list[int]:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/compact")
            await conversation.submit("three?")
            condensed = (await conversation.status()).usage.context.tokens
            await conversation.submit("/uncompact")
            return [condensed, (await conversation.status()).usage.context.tokens]

        async def again(conversation: Conversation) -> int:
            return (await conversation.status()).usage.context.tokens

        condensed, whole = stage.play(scene)
        resumed = stage.play(again, AGAIN)

        assert condensed < 1_000
        assert min(whole, resumed) > 50_000

    def test_one_after_another_down_to_the_whole_conversation(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("SUM1"), say("3"), say("SUM2"), say("4"), say("5"), say("6")])

        async def scene(conversation: Conversation) -> list[str]:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/compact")
            await conversation.submit("three?")
            await conversation.submit("/compact")
            await conversation.submit("four?")
            await conversation.submit("/uncompact")
            await conversation.submit("five?")
            await conversation.submit("/uncompact")
            await conversation.submit("six?")
            reply = await conversation.submit("/uncompact")
            assert isinstance(reply, CommandReply)
            return [reply.text]

        (last,) = stage.play(scene)

        five, six = told(asked(stage)[-2]), told(asked(stage)[-1])
        assert "SUM1" in five[0]
        assert five[1:] == ["2", "three?", "3", "four?", "4", "five?"]
        assert six == ["one?", "1", "two?", "2", "three?", "3", "four?", "4", "five?", "5", "six?"]
        assert "no compaction" in last

    def test_it_is_not_condensed_again_at_once(self, stage: Stage) -> None:
        stage.server.begin([Answer(text=("1",), usage=LONG), say("summary"), Answer(text=("2",), usage=LONG), say("3")])

        async def scene(conversation: Conversation) -> Ear:
            await outcome(conversation, "one?", "two?")
            await conversation.submit("/uncompact")
            assert conversation.compaction.threshold is None
            _, ear = await outcome(conversation, "three?")
            return ear

        assert not stage.play(scene).ends


class TestExtensions:
    COMPACTOR = (
        "from kaa.ext.api import CondensedText\n"
        "async def condense(request):\n"
        "    {}\n"
        "def extend(api):\n"
        "    api.register_compactor(condense)\n"
        "    api.carry_through_compaction('plan', lambda context: '1. buy milk')\n"
    )

    def condensed(self, stage: Stage, body: str) -> str:
        stage.install(self.COMPACTOR.format(body))

        async def scene(conversation: Conversation) -> str:
            await outcome(conversation, "one?", "two?")
            return (await conversation.compaction.compact()).summary

        return stage.play(scene)

    def test_one_can_write_the_summary(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2")])

        summary = self.condensed(stage, "return CondensedText(f'{len(request.messages)} messages', {'mine': 1})")

        assert summary.startswith("3 messages")

    def test_one_that_leaves_it_leaves_it_to_kaa(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary of kaa")])

        assert self.condensed(stage, "return None").startswith("summary of kaa")

    def test_one_that_fails_is_reported_and_kaa_does_it(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary of kaa")])

        assert self.condensed(stage, "raise ValueError('no idea')").startswith("summary of kaa")
        assert any("no idea" in notice for notice in stage.notices)

    def test_texts_are_carried_over_word_for_word(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2"), say("summary")])

        assert '<carried name="plan">\n1. buy milk\n</carried>' in self.condensed(stage, "return None")


class TestHooks:
    def install(self, stage: Stage, verdict: str) -> Path:
        notes = stage.home.parent / "notes"
        stage.install(
            "from kaa.core.hooks import Block\n"
            "def note(text):\n"
            f"    with open({str(notes)!r}, 'a') as file:\n"
            "        file.write(text)\n"
            "async def before(request, context):\n"
            "    note(f'{request.reason} {len(request.messages)}\\n')\n"
            f"    {verdict}\n"
            "async def after(end, context):\n"
            "    note(f'{end.summary[:7]}\\n')\n"
            "def extend(api):\n"
            "    api.before_compaction(before)\n"
            "    api.after_compaction(after)\n"
        )
        notes.touch()
        return notes

    @staticmethod
    async def condensed(conversation: Conversation) -> CompactionEnd:
        await outcome(conversation, "one?", "two?")
        return await conversation.compaction.compact()

    @pytest.mark.parametrize("verdict", ["return None", "raise ValueError('no idea')", "return 'nonsense'"])
    def test_they_see_a_compaction_and_its_result(self, stage: Stage, verdict: str) -> None:
        stage.server.begin([say("1"), say("2"), say("summary")])
        notes = self.install(stage, verdict)

        end = stage.play(self.condensed)

        assert end.error is None
        assert notes.read_text() == "manual 3\nsummary\n"
        assert any("before_compaction hook" in notice for notice in stage.notices) == (verdict != "return None")

    def test_one_can_keep_the_user_from_condensing(self, stage: Stage) -> None:
        stage.server.begin([say("1"), say("2")])
        notes = self.install(stage, "return Block('keep it')")

        end = stage.play(self.condensed)

        assert end.error is not None
        assert end.error.startswith("keep it (extension ")
        assert notes.read_text() == "manual 3\n"

    def test_one_that_objects_is_asked_once_for_each_message(self, stage: Stage) -> None:
        stage.server.begin([LONG_READ, LONG_READ, Answer(text=("done",), usage=LONG)])
        notes = self.install(stage, "return Block('keep it')")

        end, ear = stage.play(lambda c: outcome(c, "what is in the notes?"))

        assert end.reason == "done"
        assert notes.read_text().count("threshold") == 1
        assert [told.error is not None and told.warning is not None for told in ear.ends] == [True]


def test_the_users_sentences_survive_three_compactions_word_for_word(stage: Stage) -> None:
    stage.server.begin([item for number in range(4) for item in (say("ok"), say(f"SUM{number}"))])

    async def scene(conversation: Conversation) -> str:
        summary = ""
        for text in ("Never touch setup.py!", "Use tabs.", "Say «done».", "And now?"):
            await conversation.submit(text)
            summary = (await conversation.compaction.compact()).summary
        return summary

    summary = stage.play(scene)

    for sentence in ("Never touch setup.py!", "Use tabs.", "Say «done».", "And now?"):
        assert summary.count(f"<message>\n{sentence}\n</message>") == 1
    assert summary.count("<user-messages>") == 1
    assert "SUM2" not in summary
    asked_last = asked(stage)[-1]["messages"][1]["content"]
    assert "<previous-summary>\nSUM2\n</previous-summary>" in asked_last


def test_another_model_can_write_the_summaries(stage: Stage) -> None:
    configure(stage, keepRecentTokens=1, model="openai/small")
    stage.server.begin([say("1"), say("2"), say("summary")])

    async def scene(conversation: Conversation) -> CompactionEnd:
        await outcome(conversation, "one?", "two?")
        return await conversation.compaction.compact()

    end = stage.play(scene)

    assert end.model == "openai/small"
    assert asked(stage)[-1]["model"] == "small"
