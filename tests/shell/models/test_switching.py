"""Switching models and thinking levels in the middle of a conversation, over a real server on loopback."""

import json
from pathlib import Path

import pytest

from kaa.core.events import AgentEnd, Event, ModelChanged, ThinkingLevelChanged
from kaa.core.messages import Json
from kaa.ext.errors import CommandError
from kaa.llm.auth.errors import CredentialError
from kaa.llm.models.registry import NoModelError
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions, Record, Replay
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_script import Answer, Call, say
from tests.support.stage import Stage

_MODELS: list[Json] = [
    {"id": "small", "reasoning": True},
    {"id": "large", "reasoning": True, "thinkingLevelMap": {"off": None, "minimal": None, "xhigh": "xhigh"}},
    {"id": "plain"},
]


@pytest.fixture
def shelf(stage: Stage) -> Stage:
    """A stage with three models at one provider, and one more whose key is a command."""
    provider = {"baseUrl": f"{stage.server.url}/v1", "api": "openai-completions"}
    keyed = {**provider, "apiKey": "!exit 3", "models": [{"id": "locked"}]}
    stage.environ = {}
    write(stage, {"shelf": {**provider, "models": _MODELS}, "vault": keyed})
    return stage


def write(stage: Stage, providers: Json) -> None:
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": providers}))


def asked(stage: Stage) -> list[str]:
    """The models that requests went to."""
    return [request.json["model"] for request in stage.server.requests if request.method == "POST"]


def opened(**changes: Json) -> ConversationOptions:
    return ConversationOptions(model="shelf/small", **changes)


def entries(stage: Stage) -> list[Json]:
    (session,) = stage.home.glob("sessions/*/*.jsonl")
    return [json.loads(line) for line in session.read_text().splitlines()]


def test_the_next_request_goes_to_the_chosen_model(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        state = await conversation.models.choose("large")
        assert state.name == "shelf/large"
        assert conversation.model_name == "shelf/large"
        await conversation.submit("and you?")

    shelf.play(scene, opened())

    assert asked(shelf) == ["small", "large"]


def test_a_switch_within_a_run_holds_from_its_next_request_on(shelf: Stage) -> None:
    shelf.server.begin([Answer(calls=(Call("bash", '{"command": "make"}'),)), say("made")])

    async def scene(conversation: Conversation) -> None:
        async def command(_command: CommandRequest) -> CommandResult:
            await conversation.models.choose("large")
            return CommandResult(0, None, b"ok\n", 3, 1)

        shelf.commands = command
        await conversation.submit("make it")

    shelf.play(scene, opened(approvals="auto"))

    assert asked(shelf) == ["small", "large"]
    assert [entry["message"]["model"] for entry in entries(shelf) if "model" in entry.get("message", {})] == [
        "small",
        "large",
    ]


def test_a_switch_survives_a_restart_even_if_nothing_is_said_after_it(shelf: Stage) -> None:
    shelf.server.begin([say("one")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await conversation.models.choose("large:high")

    shelf.play(scene, opened())
    state = shelf.play(current, ConversationOptions(session=ContinueSession()))

    assert (state.name, state.thinking) == ("shelf/large", "high")


async def current(conversation: Conversation) -> Json:
    return conversation.models.current


def test_cycling_leaves_one_entry(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        for _ in range(4):
            await conversation.models.cycle()
        await conversation.submit("again")

    shelf.play(scene, opened())

    assert [entry["modelId"] for entry in entries(shelf) if entry["type"] == "model_change"] == ["small", "large"]


def test_everybody_is_told(shelf: Stage) -> None:
    events: list[Event] = []

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(events.append)
        await conversation.models.choose("large", "high")
        conversation.models.set_thinking("low")
        conversation.models.set_thinking("low")

    shelf.play(scene, opened(thinking="medium"))

    assert events == [ModelChanged("shelf", "large"), ThinkingLevelChanged("high"), ThinkingLevelChanged("low")]


class TestThinking:
    def test_levels_are_those_of_the_model(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> list[tuple[str, ...]]:
            return [(await conversation.models.choose(name)).levels for name in ("small", "large", "plain")]

        assert shelf.play(scene, opened()) == [
            ("off", "minimal", "low", "medium", "high"),
            ("low", "medium", "high", "xhigh"),
            ("off",),
        ]

    def test_cycling_goes_through_them_and_begins_again(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> list[str]:
            return [conversation.models.cycle_thinking() for _ in range(5)]

        assert shelf.play(scene, opened(thinking="low")) == ["medium", "high", "off", "minimal", "low"]

    def test_what_was_wanted_comes_back_behind_a_model_that_cannot_think(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> list[str]:
            return [(await conversation.models.choose(name)).thinking for name in ("plain", "large")]

        assert shelf.play(scene, opened(thinking="high")) == ["off", "high"]

    @pytest.mark.parametrize(("wish", "level"), [({}, "medium"), ({"thinking": "high"}, "high")])
    def test_a_model_that_cannot_think_to_begin_with_is_no_wish_for_none(
        self, shelf: Stage, wish: dict[str, Json], level: str
    ) -> None:
        async def scene(conversation: Conversation) -> str:
            return (await conversation.models.switch("small")).thinking

        assert shelf.play(scene, ConversationOptions(model="shelf/plain", **wish)) == level
        assert json.loads((shelf.home / "settings.json").read_text())["defaultThinkingLevel"] == level

    def test_a_level_that_the_model_lacks_becomes_the_nearest(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            await conversation.models.choose("large")
            return conversation.models.set_thinking("off")

        assert shelf.play(scene, opened()) == "low"


class TestScope:
    def test_cycling_keeps_to_the_scope_and_takes_its_levels(self, shelf: Stage) -> None:
        (shelf.home / "settings.json").write_text('{"enabledModels": ["*large:xhigh", "shelf/plain"]}')

        async def scene(conversation: Conversation) -> list[tuple[str, str]]:
            states = [await conversation.models.cycle(step) for step in (1, 1, 1, -1)]
            return [(state.model.id, state.thinking) for state in states]

        assert shelf.play(scene, opened()) == [
            ("large", "xhigh"),
            ("plain", "off"),
            ("large", "xhigh"),
            ("plain", "off"),
        ]

    def test_may_be_kept_in_the_settings(self, shelf: Stage) -> None:
        settings = shelf.home / "settings.json"
        settings.write_text('{"theme": "dark" /* mine */}')

        async def scene(conversation: Conversation) -> list[str]:
            scoped = await conversation.models.set_scoped(["small", "plain"], keep=True)
            return [one.model.id for one in scoped]

        assert shelf.play(scene, opened()) == ["small", "plain"]
        assert settings.read_text() == '{"theme": "dark", /* mine */ "enabledModels": ["small", "plain"]}'

    def test_what_cannot_be_used_is_passed_over(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            await conversation.models.set_scoped(["small", "locked", "plain"])
            return (await conversation.models.cycle()).name

        assert shelf.play(scene, opened()) == "shelf/plain"

    def test_of_one_model_there_is_nothing_to_cycle_to(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> None:
            await conversation.models.set_scoped(["small"])
            await conversation.models.cycle()

        with pytest.raises(CommandError, match="no other model"):
            shelf.play(scene, opened())


class TestRefusals:
    def test_a_model_that_does_not_exist_changes_nothing(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            with pytest.raises(NoModelError):
                await conversation.models.choose("nowhere/none")
            return conversation.model_name

        assert shelf.play(scene, opened()) == "shelf/small"

    def test_a_key_that_cannot_be_had_changes_nothing(self, shelf: Stage) -> None:
        async def scene(conversation: Conversation) -> str:
            with pytest.raises(CredentialError):
                await conversation.models.choose("vault/locked")
            return conversation.model_name

        assert shelf.play(scene, opened()) == "shelf/small"

    def test_a_recording_is_of_one_model(self, shelf: Stage, tmp_path: Path) -> None:
        tape = tmp_path / "tape.jsonl"
        shelf.server.begin([say("one")])

        async def record(conversation: Conversation) -> None:
            await conversation.submit("hello")
            await refuses(conversation, "recording")

        shelf.play(record, opened(wire=Record(tape)))

        async def replay(conversation: Conversation) -> None:
            assert isinstance(await conversation.submit("hello"), AgentEnd)
            await refuses(conversation, "replay")

        shelf.play(replay, ConversationOptions(wire=Replay(tape)))


async def refuses(conversation: Conversation, because: str) -> None:
    with pytest.raises(CommandError, match=because):
        await conversation.models.choose("large")


def test_a_key_given_for_one_provider_goes_to_no_other(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two"), say("three")])
    provider = {"baseUrl": f"{shelf.server.url}/v1", "api": "openai-completions", "apiKey": "own-key"}
    write(shelf, {"here": {**provider, "models": _MODELS}, "there": {**provider, "models": _MODELS}})

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        await conversation.models.choose("there/large")
        await conversation.submit("hello")
        await conversation.models.choose("here/large")
        await conversation.submit("hello")

    shelf.play(scene, ConversationOptions(model="here/small", api_key="given-key"))

    sent = [request.header("authorization") for request in shelf.server.requests if request.method == "POST"]
    assert sent == ["Bearer given-key", "Bearer own-key", "Bearer given-key"]


def test_a_choice_may_be_kept_for_new_conversations(shelf: Stage) -> None:
    async def scene(conversation: Conversation) -> None:
        await conversation.models.switch("shelf/large:high")

    shelf.play(scene, opened())

    state = shelf.play(current, ConversationOptions())
    assert (state.name, state.thinking) == ("shelf/large", "high")


def test_the_models_are_read_again(shelf: Stage) -> None:
    async def scene(conversation: Conversation) -> list[str]:
        provider = {"baseUrl": f"{shelf.server.url}/v1", "api": "openai-completions", "models": [{"id": "new"}]}
        write(shelf, {"shelf": provider})
        await conversation.models.reload()
        return [model.id for model in conversation.models.available()]

    assert shelf.play(scene, opened()) == ["small", "new"]


def test_what_changed_of_the_model_in_force_holds_from_the_next_request_on(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two")])
    provider = {"baseUrl": f"{shelf.server.url}/v1", "api": "openai-completions"}

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        changed: Json = {
            "id": "small",
            "maxTokens": 77,
            "headers": {"x-team": "blue"},
            "cost": {"input": 1, "output": 1},
        }
        write(shelf, {"shelf": {**provider, "models": [changed]}})
        assert await conversation.models.reload() is None
        await conversation.submit("and now?")

    shelf.play(scene, opened())

    first, second = (request for request in shelf.server.requests if request.method == "POST")
    assert ("x-team", "blue") not in first.headers
    assert ("x-team", "blue") in second.headers
    assert second.json["max_tokens"] == 77
    assert [entry["type"] for entry in entries(shelf)].count("model_change") == 1  # it is the same model


def test_the_model_in_force_stays_as_it_is_when_it_could_not_be_asked_any_more(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> str | None:
        await conversation.submit("hello")
        write(shelf, {})
        told = await conversation.models.reload()
        await conversation.submit("still there?")
        return told

    told = shelf.play(scene, opened())

    assert told is not None
    assert told.startswith("shelf/small is asked as before: there is no provider 'shelf'")
    assert asked(shelf) == ["small", "small"]


def test_reading_again_runs_no_command_where_nothing_changed(shelf: Stage, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    provider = {"baseUrl": f"{shelf.server.url}/v1", "apiKey": f"!echo x >> {mark}; echo key", "models": [{"id": "m"}]}
    write(shelf, {"safe": provider})

    async def scene(conversation: Conversation) -> None:
        before = mark.read_text()
        await conversation.models.reload()
        assert mark.read_text() == before

    shelf.play(scene, ConversationOptions(model="safe/m"))


@pytest.mark.parametrize(
    ("patterns", "default", "expected"),
    [
        (("large", "small"), {}, ("shelf/large", "medium")),
        (("plain", "l*:xhigh"), {}, ("shelf/plain", "off")),
        (("l*:xhigh", "plain"), {}, ("shelf/large", "xhigh")),
        (("small", "plain"), {"defaultProvider": "shelf", "defaultModel": "plain"}, ("shelf/plain", "off")),
        (("small",), {"defaultProvider": "shelf", "defaultModel": "plain"}, ("shelf/small", "medium")),
    ],
)
def test_a_new_conversation_begins_with_one_of_the_models_to_cycle_through(
    shelf: Stage, patterns: tuple[str, ...], default: dict[str, Json], expected: tuple[str, str]
) -> None:
    (shelf.home / "settings.json").write_text(json.dumps(default))

    state = shelf.play(current, ConversationOptions(models=patterns))

    assert (state.name, state.thinking) == expected


def test_the_model_that_is_named_need_not_be_one_to_cycle_through(shelf: Stage) -> None:
    assert shelf.play(current, ConversationOptions(model="shelf/plain", models=("small",))).name == "shelf/plain"


def test_a_pattern_that_fits_nothing_is_told(shelf: Stage) -> None:
    shelf.play(current, opened(models=("smal*", "nobody")))

    assert [note for note in shelf.notices if "fits" in note] == ["no model that can be used fits 'nobody'"]


def test_models_of_the_command_line_hold_when_the_settings_are_read_again(shelf: Stage) -> None:
    async def scene(conversation: Conversation) -> list[str]:
        await conversation.reload()
        return [one.model.id for one in conversation.models.scoped()]

    assert shelf.play(scene, opened(models=("small", "plain"))) == ["small", "plain"]


def test_another_model_answers_in_a_run_and_the_chosen_one_after_it(shelf: Stage) -> None:
    shelf.server.begin([say("one"), say("two"), say("three")])

    async def scene(conversation: Conversation) -> None:
        await conversation.models.choose("small:low")
        async with conversation.models.in_run(["nothing-like-it", "large", "plain"], "xhigh"):
            await conversation.submit("hello")
        await conversation.submit("again")
        levels = [conversation.models.current.thinking]
        async with conversation.models.in_run([], "high"):
            levels.append(conversation.models.current.thinking)
        assert levels == ["low", "high"]

    shelf.play(scene, opened())

    assert asked(shelf) == ["large", "small"]
    assert shelf.server.requests[-2].json["reasoning_effort"] == "xhigh"
    assert shelf.server.requests[-1].json["reasoning_effort"] == "low"


def test_what_the_user_chooses_in_a_run_stays(shelf: Stage) -> None:
    async def scene(conversation: Conversation) -> None:
        async with conversation.models.in_run(["large"], None):
            await conversation.models.choose("plain")
        assert conversation.models.current.name == "shelf/plain"

    shelf.play(scene, opened())


def test_a_run_without_any_of_its_models_keeps_the_one_in_force(shelf: Stage) -> None:
    async def scene(conversation: Conversation) -> None:
        async with conversation.models.in_run(["nothing-like-it", "vault/locked"], None):
            assert conversation.models.current.name == "shelf/small"

    shelf.play(scene, opened())
