"""Other models go on where one was given up: two servers, each with a wire format of its own."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kaa.core.events import AgentEnd, Event, ModelChanged, ModelFallback
from kaa.core.messages import Json
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from tests.support.model_server import (
    CONTEXT_OVERFLOW,
    OVERLOADED,
    WRONG_KEY,
    ModelServer,
    Refusal,
    call,
    rate_limited,
    say,
)
from tests.support.person import Person
from tests.support.stage import Stage

NO_CREDIT = Refusal(402, body='{"error": {"message": "no credit"}}')
NOT_FOUND = Refusal(404, body='{"error": {"message": "model a not found", "code": "model_not_found"}}')
FIRST = "first/a"


class Pair:
    """A stage with two providers: `first/a` speaks Chat Completions, `second/b` Anthropic Messages."""

    def __init__(self, first: ModelServer, second: ModelServer, home: Path) -> None:
        self.first, self.second = first, second
        self.stage = Stage(first, home)
        self.stage.environ = {}
        self.events: list[Event] = []
        home.mkdir()
        providers: Json = {
            "first": _provider(f"{first.url}/v1", "openai-completions", "a"),
            "second": _provider(second.url, "anthropic-messages", "b"),
        }
        (home / "models.json").write_bytes(msgspec.json.encode({"providers": providers}))
        self.settings(fallbackModels=["second/b"])

    def settings(self, **settings: Json) -> None:
        retry: Json = {"baseDelayMs": 0, "maxRetries": 1}
        (self.stage.home / "settings.json").write_bytes(msgspec.json.encode({"retry": retry, **settings}))

    def talk(self, *messages: str, fallback: tuple[str, ...] | None = None, model: str = FIRST) -> list[AgentEnd]:
        """Say these things one after another."""

        async def scene(conversation: Conversation) -> list[AgentEnd]:
            conversation.subscribe(self.events.append)
            ends = []
            for message in messages:
                outcome = await conversation.submit(message)
                if isinstance(outcome, AgentEnd):
                    ends.append(outcome)
            return ends

        return self.stage.play(scene, ConversationOptions(model=model, fallback=fallback))

    @property
    def session(self) -> list[dict[str, Json]]:
        (file,) = self.stage.home.glob("sessions/**/*.jsonl")
        return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


def _provider(url: str, api: str, model: str) -> Json:
    return {"baseUrl": url, "api": api, "apiKey": "sk-test", "models": [{"id": model}]}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ModelServer() as first, ModelServer() as second:
        yield Pair(first, second, tmp_path / "home")


@pytest.mark.parametrize(
    "refusal", [NO_CREDIT, WRONG_KEY, rate_limited("3600"), NOT_FOUND], ids=["credit", "key", "limit", "404"]
)
def test_the_next_model_goes_on_within_the_turn(pair: Pair, refusal: Refusal) -> None:
    pair.first.begin([call("read", path="notes.txt"), refusal])
    pair.second.begin([say("Milk.")])

    (end,) = pair.talk("what do my notes say?")

    assert end.reason == "done"
    roles = [message["role"] for message in pair.second.requests[0].json["messages"]]
    assert roles == ["user", "assistant", "user"]  # the call and its result came along
    assert "remember the milk" in pair.second.requests[0].body.decode()
    fallback = next(event for event in pair.events if isinstance(event, ModelFallback))
    assert (fallback.from_model, fallback.to_model) == ("first/a", "second/b")
    assert fallback.error_message


def test_the_session_says_who_went_on(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])
    pair.second.begin([say("I do.")])

    pair.talk("go")

    changes = [entry["modelId"] for entry in pair.session if entry["type"] == "model_change"]
    replies = [e["message"]["model"] for e in pair.session if e["type"] == "message" and "model" in e["message"]]
    assert changes == ["a", "b"]
    assert replies == ["b"]


def test_an_overloaded_model_is_given_up_after_its_retries_and_asked_again_with_the_next_message(pair: Pair) -> None:
    pair.first.begin([OVERLOADED, OVERLOADED, say("back again")])
    pair.second.begin([say("in between")])

    ends = pair.talk("one", "two")

    assert [end.reason for end in ends] == ["done", "done"]
    assert (len(pair.first.requests), len(pair.second.requests)) == (3, 1)
    changes = [event.model_id for event in pair.events if isinstance(event, ModelChanged)]
    assert changes == ["b", "a"]


@pytest.mark.parametrize("refusal", [NO_CREDIT, rate_limited("3600")], ids=["credit", "limit"])
def test_a_model_that_cannot_answer_yet_is_not_asked_again(pair: Pair, refusal: Refusal) -> None:
    pair.first.begin([refusal])
    pair.second.begin([say("one"), say("two")])

    pair.talk("one", "two")

    assert (len(pair.first.requests), len(pair.second.requests)) == (1, 2)


def test_whom_the_user_chooses_is_asked(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT, say("I have credit again")])
    pair.second.begin([say("one")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one")
        await conversation.models.choose("first/a")
        await conversation.submit("two")

    pair.stage.play(scene, ConversationOptions(model=FIRST))

    assert len(pair.first.requests) == 2


def test_who_stands_in_stays_if_the_user_chooses_that_one(pair: Pair) -> None:
    pair.first.begin([OVERLOADED, OVERLOADED])
    pair.second.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one")
        await conversation.models.choose("second/b")
        await conversation.submit("two")

    pair.stage.play(scene, ConversationOptions(model=FIRST))

    assert len(pair.second.requests) == 2


def test_reloading_tries_everything_anew(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT, say("I have credit again")])
    pair.second.begin([say("one")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("one")
        await conversation.reload()
        await conversation.submit("two")

    pair.stage.play(scene, ConversationOptions(model=FIRST))

    assert len(pair.first.requests) == 2


def test_a_request_that_is_wrong_is_wrong_for_all(pair: Pair) -> None:
    pair.first.begin([CONTEXT_OVERFLOW])

    (end,) = pair.talk("go")

    assert end.reason == "error"
    assert pair.second.requests == []


def test_each_model_is_given_up_once_in_a_run(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])
    pair.second.begin([WRONG_KEY])

    (end,) = pair.talk("go", fallback=("second/b", "first/a"))

    assert end.reason == "error"
    assert "API key" in (end.error or "")
    assert (len(pair.first.requests), len(pair.second.requests)) == (1, 1)


def test_a_fallback_that_cannot_be_used_is_told_and_passed_over(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])
    pair.second.begin([say("ok")])
    pair.settings(fallbackModels=["nobody/x", "second/b"])

    (end,) = pair.talk("go")

    assert end.reason == "done"
    assert any("nobody/x" in notice and "cannot be used" in notice for notice in pair.stage.notices)


def test_a_wrong_name_on_the_command_line_is_told_at_once_where_somebody_looks(pair: Pair) -> None:
    pair.first.begin([say("ok")])
    pair.stage.asker = Person()

    (end,) = pair.talk("go", fallback=("nobody/x",))

    assert end.reason == "done"
    assert any("the fallback model 'nobody/x' cannot be used" in notice for notice in pair.stage.notices)


def test_it_is_told_once_in_a_run(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])
    pair.second.begin([NO_CREDIT])
    pair.settings(fallbackModels=["nobody/x", "second/b"])

    pair.talk("go")

    assert len([notice for notice in pair.stage.notices if "nobody/x" in notice]) == 1


def test_the_flag_replaces_the_setting(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])

    (end,) = pair.talk("go", fallback=())

    assert end.reason == "error"
    assert pair.second.requests == []


def test_what_the_user_wants_is_not_what_stands_in(pair: Pair) -> None:
    pair.first.begin([NO_CREDIT])
    pair.second.begin([say("ok")])

    async def scene(conversation: Conversation) -> tuple[str, str]:
        await conversation.submit("one")
        return conversation.model_name, conversation.models.current.name

    assert pair.stage.play(scene, ConversationOptions(model=FIRST)) == ("second/b", "second/b")
    assert "defaultModel" not in (pair.stage.home / "settings.json").read_text()
