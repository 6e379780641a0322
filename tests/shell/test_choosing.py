"""The model, approvals and trust are chosen by commands that need no screen."""

import json

from kaa.ext.asking import NOBODY
from kaa.ext.questions import Choice, Chosen, Dismissed, TrustDecision
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ConversationOptions
from tests.support.model_server import say
from tests.support.person import Person
from tests.support.stage import Stage


async def told(conversation: Conversation, text: str) -> tuple[bool, str]:
    """Whether a command was refused, and what it answered."""
    outcome = await conversation.submit(text)
    assert isinstance(outcome, CommandReply)
    return outcome.refused, outcome.text


async def completed(conversation: Conversation, name: str, typed: str) -> list[str]:
    return [suggestion.text for suggestion in await conversation.complete_command(name, typed)]


def test_a_model_is_switched_and_kept(stage: Stage) -> None:
    _have_two_models(stage)

    async def scene(conversation: Conversation) -> None:
        assert await completed(conversation, "model", "othe") == ["test/other"]
        assert await completed(conversation, "model", "test/other:hi") == ["test/other:high"]
        assert await told(conversation, "/model other") == (False, "test/other is now the model")
        assert conversation.model_name == "test/other"
        refused, reason = await told(conversation, "/model nonsense")
        assert refused
        assert "nonsense" in reason
        assert conversation.model_name == "test/other"

    stage.play(scene, ConversationOptions(model="test/one"))

    assert json.loads((stage.home / "settings.json").read_text())["defaultModel"] == "other"


def test_what_is_typed_decides_what_completes_it(stage: Stage) -> None:
    (stage.home).mkdir()
    models = [{"id": "fast-mini"}, {"id": "fast"}]
    provider = {"baseUrl": f"{stage.server.url}/v1", "models": models}
    (stage.home / "models.json").write_text(json.dumps({"providers": {"test": provider}}))

    async def scene(conversation: Conversation) -> None:
        assert await completed(conversation, "model", "test/fast") == ["test/fast", "test/fast-mini"]
        assert await completed(conversation, "plan", "run as") == ["run ask"]
        assert await completed(conversation, "plan", "run notes.md au") == ["run notes.md auto"]
        assert await completed(conversation, "plan", "run the tests") == []
        assert "run read-only" not in await completed(conversation, "plan", "run ")

    stage.play(scene, ConversationOptions(model="test/fast"))


def test_what_is_not_said_is_asked(stage: Stage) -> None:
    _have_two_models(stage)
    person = Person(Chosen("test/other"), Chosen("high"), Chosen("step"), Dismissed())
    stage.asker = person

    async def scene(conversation: Conversation) -> None:
        assert await told(conversation, "/model") == (False, "test/other is now the model")
        assert await told(conversation, "/thinking") == (False, "thinking: high")
        assert await told(conversation, "/approvals") == (False, "approvals: step")
        assert conversation.approvals.policy == "step"
        assert await told(conversation, "/approvals") == (False, "nothing was changed")

    stage.play(scene, ConversationOptions(model="test/one"))

    assert all(isinstance(question, Choice) for question in person.questions)
    assert person.questions[2].options == ("plan", "read-only", "ask", "auto", "never", "step")


def test_where_nobody_can_be_asked_the_choices_are_listed(stage: Stage) -> None:
    stage.asker = NOBODY

    async def scene(conversation: Conversation) -> None:
        refused, reason = await told(conversation, "/approvals")
        assert refused
        assert "Nobody can be asked here" in reason
        assert "* never" in reason
        assert await told(conversation, "/approvals auto") == (False, "approvals: auto")
        assert await completed(conversation, "approvals", "a") == ["ask", "auto"]
        assert await told(conversation, "/approvals maybe") == (
            True,
            "invalid approval mode 'maybe': use plan, read-only, ask, auto, never, step",
        )
        assert await told(conversation, "/thinking hard") == (
            True,
            "invalid thinking level 'hard': use off, minimal, low, medium, high, xhigh, max",
        )

    stage.play(scene)


def test_trust_is_decided_by_whoever_can_be_asked(stage: Stage) -> None:
    async def review(conversation: Conversation) -> tuple[bool, str]:
        return await told(conversation, "/trust")

    assert "there is nothing to trust" in stage.play(review)[1]
    stage.files[".kaa/APPEND_SYSTEM.md"] = b"Be kind."
    refused, reply = stage.play(review)
    assert not refused
    assert reply.startswith(
        "Nothing is decided about these files: kaa does not trust them.\n"
        "adds to kaa's instructions to the model: .kaa/APPEND_SYSTEM.md\nNobody can be asked here"
    )
    stage.asker = Person(TrustDecision("stored"))
    refused, reply = stage.play(review)
    assert not refused
    assert reply.startswith("kaa trusts these files until they change.")


def _have_two_models(stage: Stage) -> None:
    models = [{"id": "one", "reasoning": True}, {"id": "other", "reasoning": True}]
    provider = {"baseUrl": f"{stage.server.url}/v1", "api": "openai-completions", "apiKey": "k", "models": models}
    stage.home.mkdir(exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": {"test": provider}}))


def test_an_unknown_model_of_the_only_provider_is_refused_with_suggestions(stage: Stage) -> None:
    _have_two_models(stage)
    del stage.environ["OPENAI_BASE_URL"]

    async def scene(conversation: Conversation) -> None:
        refused, reason = await told(conversation, "/model othre")
        assert refused
        assert "did you mean test/other" in reason
        assert (await told(conversation, "/model zzz"))[0]
        assert conversation.model_name == "test/one"

    stage.play(scene, ConversationOptions(model="test/one"))

    assert not (stage.home / "settings.json").exists()


def test_an_unlisted_model_of_a_named_provider_becomes_the_default_after_its_first_reply(stage: Stage) -> None:
    _have_two_models(stage)
    stage.server.begin([say("Hello.")])
    settings = stage.home / "settings.json"

    async def scene(conversation: Conversation) -> None:
        refused, reply = await told(conversation, "/model test/zzz")
        assert not refused
        assert "it becomes the default of new sessions after its first reply" in reply
        assert not settings.exists()
        await conversation.submit("hello")

    stage.play(scene, ConversationOptions(model="test/one"))

    assert json.loads(settings.read_text())["defaultModel"] == "zzz"


def test_a_thinking_level_that_the_model_lacks_is_explained(stage: Stage) -> None:
    async def scene(conversation: Conversation) -> tuple[bool, str]:
        return await told(conversation, "/thinking high")

    refused, reply = stage.play(scene)

    assert not refused
    assert reply.startswith("thinking: off, because ")
    assert "does not support thinking" in reply


def test_models_to_cycle_through_are_chosen(stage: Stage) -> None:
    _have_two_models(stage)

    async def scene(conversation: Conversation) -> None:
        assert (await told(conversation, "/scoped-models"))[1].startswith("all models")
        assert await told(conversation, "/scoped-models test/o* ") == (False, "test/one\ntest/other")
        assert await told(conversation, "/scoped-models zzz") == (
            True,
            "no available model fits 'zzz': `kaa models` lists them",
        )
        assert await completed(conversation, "scoped-models", "test/one oth") == ["test/one test/other"]

    stage.play(scene, ConversationOptions(model="test/one"))

    assert json.loads((stage.home / "settings.json").read_text())["enabledModels"] == ["test/o*"]


def test_settings_are_listed_and_set(stage: Stage) -> None:
    async def scene(conversation: Conversation) -> None:
        lines = (await told(conversation, "/settings"))[1].splitlines()
        assert [line.split() for line in lines if line.startswith("compaction.enabled ")] == [
            ["compaction.enabled", "true"]
        ]
        assert any(line.startswith("ui.screen ") for line in lines)
        assert "Values: main, full, linear" in (await told(conversation, "/settings ui.screen"))[1]
        assert (await told(conversation, "/settings compaction.enabled false"))[1].startswith(
            "compaction.enabled: false\n"
        )
        assert conversation.settings.compaction.enabled is False
        assert not (await told(conversation, "/settings ui.screen full"))[0]
        assert not (await told(conversation, "/settings defaultModel gpt-5"))[0]
        assert await completed(conversation, "settings", "ui.scr") == ["ui.screen "]
        assert await completed(conversation, "settings", "steeringMode o") == ["steeringMode one-at-a-time"]

    stage.play(scene)

    assert json.loads((stage.home / "settings.json").read_text()) == {
        "compaction": {"enabled": False},
        "ui": {"screen": "full"},
        "defaultModel": "gpt-5",
    }


def test_a_setting_is_for_all_projects_or_for_this_one(stage: Stage) -> None:
    (stage.home).mkdir(exist_ok=True)
    (stage.home / "settings.json").write_text('{\n  // mine\n  "projects": {}\n}\n')
    stage.asker = person = Person(Chosen("for this project"), Chosen("for all projects"), Dismissed())

    async def scene(conversation: Conversation) -> None:
        root = conversation.workspace.root
        answer = (await told(conversation, "/settings approvals.policy step"))[1]
        assert answer.startswith(f'approvals.policy: "step" (in {root})\n')
        assert answer.endswith("approvals now: step")
        await told(conversation, "/settings sandbox.git true")
        assert await told(conversation, "/settings sandbox.git false") == (False, "nothing was changed")
        await told(conversation, '/settings --project sandbox.network ["pypi.org"]')
        assert (await told(conversation, "/settings --project theme dark"))[0]
        assert await completed(conversation, "settings", "--project approvals.policy a") == [
            "--project approvals.policy ask",
            "--project approvals.policy auto",
        ]

    stage.play(scene)

    assert len(person.questions) == 3
    text = (stage.home / "settings.json").read_text()
    assert "// mine" in text
    assert json.loads(text.replace("// mine", "")) == {
        "projects": {stage.workspace.root: {"approvals": {"policy": "step"}, "sandbox": {"network": ["pypi.org"]}}},
        "sandbox": {"git": True},
    }


def test_a_setting_that_cannot_be_is_refused_and_changes_nothing(stage: Stage) -> None:
    async def scene(conversation: Conversation) -> list[tuple[bool, str]]:
        return [
            await told(conversation, f"/settings {text}")
            for text in ("nonsense", "nonsense on", "ui.screen wide", "retry.maxRetries -1", "steeringMode sometimes")
        ]

    answers = stage.play(scene)

    assert all(refused for refused, _ in answers)
    assert answers[4][1].endswith("use one-at-a-time, all")
    assert answers[2][1] == 'ui.screen cannot be wide: it must be "main" or "full" or "linear"'
    assert not (stage.home / "settings.json").exists()


def test_a_text_is_found_in_other_sessions(stage: Stage) -> None:
    stage.server.begin([say("Hello.")])

    async def first(conversation: Conversation) -> str:
        await conversation.submit("where is the unique key")
        return conversation.session_id

    async def second(conversation: Conversation) -> None:
        refused, reply = await told(conversation, "/search unique")
        assert not refused
        assert reply.startswith(session_id)
        assert "where is the unique key" in reply
        assert (await told(conversation, "/search"))[0]
        assert (await told(conversation, "/search re:("))[0]
        assert await told(conversation, "/search nowhere") == (False, "no session contains 'nowhere'")

    session_id = stage.play(first)
    stage.play(second)
