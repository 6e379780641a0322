"""The model, approvals and trust are chosen by commands that need no screen."""

import json

from kaa.ext.asking import NOBODY
from kaa.ext.questions import Choice, Chosen, Dismissed, TrustDecision
from kaa.shell.conversation import CommandReply, Conversation
from kaa.shell.options import ConversationOptions
from tests.support.person import Person
from tests.support.stage import Stage


async def told(conversation: Conversation, text: str) -> tuple[bool, str]:
    """Whether a command was refused, and what it answered."""
    outcome = await conversation.submit(text)
    assert isinstance(outcome, CommandReply)
    return outcome.refused, outcome.text


def completed(conversation: Conversation, name: str, typed: str) -> list[str]:
    return [suggestion.text for suggestion in conversation.complete_command(name, typed)]


def test_a_model_is_switched_and_kept(stage: Stage) -> None:
    _have_two_models(stage)

    async def scene(conversation: Conversation) -> None:
        assert completed(conversation, "model", "othe") == ["test/other"]
        assert completed(conversation, "model", "test/other:hi") == ["test/other:high"]
        assert await told(conversation, "/model other") == (False, "test/other answers from now on")
        assert conversation.model_name == "test/other"
        refused, reason = await told(conversation, "/model nonsense")
        assert refused
        assert "nonsense" in reason
        assert conversation.model_name == "test/other"

    stage.play(scene, ConversationOptions(model="test/one"))

    assert json.loads((stage.home / "settings.json").read_text())["defaultModel"] == "other"


def test_what_is_not_said_is_asked(stage: Stage) -> None:
    _have_two_models(stage)
    person = Person(Chosen("test/other"), Chosen("high"), Chosen("step"), Dismissed())
    stage.asker = person

    async def scene(conversation: Conversation) -> None:
        assert await told(conversation, "/model") == (False, "test/other answers from now on")
        assert await told(conversation, "/thinking") == (False, "thinking: high")
        assert await told(conversation, "/approvals") == (False, "approvals: step")
        assert conversation.approvals.policy == "step"
        assert await told(conversation, "/approvals") == (False, "nothing was changed")

    stage.play(scene, ConversationOptions(model="test/one"))

    assert all(isinstance(question, Choice) for question in person.questions)
    assert person.questions[2].options == ("ask", "auto", "never", "step")


def test_where_nobody_can_be_asked_the_choices_are_listed(stage: Stage) -> None:
    stage.asker = NOBODY

    async def scene(conversation: Conversation) -> None:
        refused, reason = await told(conversation, "/approvals")
        assert refused
        assert "Nobody can be asked here" in reason
        assert "* never" in reason
        assert await told(conversation, "/approvals auto") == (False, "approvals: auto")
        assert completed(conversation, "approvals", "a") == ["ask", "auto"]
        assert await told(conversation, "/approvals maybe") == (
            True,
            "invalid approval mode 'maybe': use ask, auto, never, step",
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
    assert stage.play(review) == (True, "Nobody can be asked here: Do you trust this project?")
    stage.asker = Person(TrustDecision("stored"))
    refused, reply = stage.play(review)
    assert not refused
    assert reply.startswith("kaa uses the project's configuration until it changes.")


def _have_two_models(stage: Stage) -> None:
    models = [{"id": "one", "reasoning": True}, {"id": "other", "reasoning": True}]
    provider = {"baseUrl": f"{stage.server.url}/v1", "api": "openai-completions", "apiKey": "k", "models": models}
    stage.home.mkdir(exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": {"test": provider}}))
