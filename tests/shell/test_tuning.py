"""How models are asked: from settings and environment, over a conversation, to what a server gets."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import Json
from kaa.core.provider import ThinkingLevel
from kaa.shell.conversation import Conversation
from kaa.shell.options import ContinueSession, ConversationOptions
from tests.support.model_script import say
from tests.support.stage import Stage


@pytest.fixture
def claude(stage: Stage) -> Stage:
    """A stage with a server that keeps prompts for an hour if asked, and has models that think by budget."""
    models = [{"id": name, "reasoning": True, "maxTokens": 64_000} for name in ("claude-opus-4-5", "claude-haiku-4-5")]
    compat = {"supportsLongCacheRetention": True}
    provider = {"baseUrl": stage.server.url, "api": "anthropic-messages", "apiKey": "k", "compat": compat}
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": {"acme": {**provider, "models": models}}}))
    stage.environ = {}
    return stage


def _settings(home: Path, **settings: Json) -> None:
    (home / "settings.json").write_text(json.dumps(settings))


def _opened(level: ThinkingLevel | None = None, **rest: Json) -> ConversationOptions:
    return ConversationOptions(model="acme/claude-opus-4-5", thinking=level, **rest)


def _marks(stage: Stage) -> list[Json]:
    """The mark on the system prompt of each request."""
    return [request.json["system"][-1].get("cache_control") for request in stage.server.requests]


def test_settings_reach_the_server_and_a_reload_changes_them_at_once(claude: Stage) -> None:
    _settings(claude.home, cacheRetention="long", thinkingBudgets={"high": 20_000})
    claude.server.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        _settings(claude.home, cacheRetention="none", thinkingBudgets={"high": 30_000})
        await conversation.reload()
        await conversation.submit("again")

    claude.play(scene, _opened("high"))

    assert _marks(claude) == [{"type": "ephemeral", "ttl": "1h"}, None]
    budgets = [request.json["thinking"]["budget_tokens"] for request in claude.server.requests]
    assert budgets == [20_000, 30_000]


def test_the_environment_counts_before_the_settings_after_a_reload_too(claude: Stage) -> None:
    _settings(claude.home, cacheRetention="none")
    claude.environ = {"KAA_CACHE_RETENTION": "long"}
    claude.server.begin([say("one"), say("two")])

    async def scene(conversation: Conversation) -> None:
        await conversation.submit("hello")
        _settings(claude.home, cacheRetention="short")
        await conversation.reload()
        await conversation.submit("again")

    claude.play(scene, _opened())

    assert _marks(claude) == [{"type": "ephemeral", "ttl": "1h"}] * 2


def test_a_mistake_in_the_environment_is_told(claude: Stage) -> None:
    claude.environ = {"KAA_CACHE_RETENTION": "forever"}
    claude.server.begin([say("one")])

    claude.play(_hello, _opened())

    assert [notice for notice in claude.notices if "KAA_CACHE_RETENTION" in notice and "none, short, long" in notice]
    assert _marks(claude) == [{"type": "ephemeral"}]


def test_a_level_of_the_settings_holds_for_its_model_until_somebody_chooses(claude: Stage) -> None:
    _settings(claude.home, modelThinkingLevels={"acme/claude-haiku-4-5": "off"}, defaultThinkingLevel="low")

    async def scene(conversation: Conversation) -> list[ThinkingLevel]:
        models = conversation.models
        levels = [models.current.thinking]
        levels += [(await models.choose(name)).thinking for name in ("haiku", "opus", "haiku:high", "opus")]
        return levels

    assert claude.play(scene, _opened()) == ["low", "off", "low", "high", "high"]


def test_a_session_keeps_its_level_whatever_the_settings_say(claude: Stage) -> None:
    _settings(claude.home, modelThinkingLevels={"acme/claude-opus-4-5": "low"})
    claude.server.begin([say("one"), say("two")])

    claude.play(_hello, _opened("high"))
    level = claude.play(_hello, ConversationOptions(session=ContinueSession()))

    assert level == "high"


async def _hello(conversation: Conversation) -> ThinkingLevel:
    await conversation.submit("hello")
    return conversation.models.current.thinking
