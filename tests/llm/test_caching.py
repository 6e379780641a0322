"""What each vendor is asked to keep of a prompt, and for how long; and that it is found again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from kaa.core.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ToolSchema
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.tuning import CacheRetention, Tuning
from tests.support.catching import asked, body_of, resolved
from tests.support.model_wire import Wire
from tests.support.prefix_cache import PrefixCache

_TOOLS = (ToolSchema("read", "Read a file. " * 400, {}), ToolSchema("bash", "Run a command", {}))
_SYSTEM = "Be brief. " * 2000
_SESSION = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000"


def _request(model: Model, *messages: Message, once: bool = False) -> Request:
    return Request(model, _SYSTEM, messages or (UserMessage("hi"),), _TOOLS, session_id=_SESSION, once=once)


def _sent(home: Path, query: str, retention: CacheRetention, *, once: bool = False) -> dict[str, Json]:
    """Body and headers of a first request, in one."""
    model = resolved(home, query, tuning=Tuning(retention))
    request = asked(model, _request(model.model, once=once))
    return {**dict(request.headers), **body_of(request)}


@pytest.mark.parametrize(
    ("retention", "mark"),
    [
        ("none", None),
        ("short", {"type": "ephemeral"}),
        ("long", {"type": "ephemeral", "ttl": "1h"}),
    ],
)
def test_anthropic_is_told_with_marks(tmp_path: Path, retention: CacheRetention, mark: Json) -> None:
    sent = _sent(tmp_path, "anthropic/claude-opus-4-5", retention)

    last = sent["messages"][-1]["content"][-1]
    assert [piece.get("cache_control") for piece in (sent["tools"][-1], sent["system"][-1], last)] == [mark] * 3
    assert str(sent).count("cache_control") == (3 if mark else 0)


@pytest.mark.parametrize(
    ("query", "retention", "key", "kept"),
    [
        ("openai/gpt-5.2", "none", None, None),
        ("openai/gpt-5.2", "short", _SESSION, None),
        ("openai/gpt-5.2", "long", _SESSION, "24h"),
        ("openai/gpt-4o", "long", _SESSION, None),
    ],
)
def test_openai_is_told_with_a_key(
    tmp_path: Path, query: str, retention: CacheRetention, key: str | None, kept: str | None
) -> None:
    sent = _sent(tmp_path, query, retention)

    assert (sent.get("prompt_cache_key"), sent.get("prompt_cache_retention")) == (key, kept)


@pytest.mark.parametrize("retention", ["none", "short", "long"])
def test_gemini_keeps_prompts_by_itself(tmp_path: Path, retention: CacheRetention) -> None:
    sent = _sent(tmp_path, "google/gemini-3-flash-preview", retention)

    assert "cache" not in str(sent).lower()
    assert _SESSION not in str(sent)


@pytest.mark.parametrize(("retention", "key"), [("none", None), ("short", _SESSION)])
@pytest.mark.parametrize("api", get_args(Wire)[:3])
def test_servers_with_a_cache_on_each_machine_are_told_in_a_header(
    tmp_path: Path, api: Wire, retention: CacheRetention, key: str | None
) -> None:
    compat = {"sendSessionAffinityHeaders": True}
    provider = {"baseUrl": "http://gpu.lab/v1", "api": api, "compat": compat, "models": [{"id": "m"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))

    assert _sent(tmp_path, "lab/m", retention).get("x-session-affinity") == key


@pytest.mark.parametrize(
    "query", ["anthropic/claude-opus-4-5", "openai/gpt-5.2", "openrouter/anthropic/claude-opus-4.5"]
)
def test_what_is_asked_once_is_kept_nowhere(tmp_path: Path, query: str) -> None:
    sent = _sent(tmp_path, query, "long", once=True)

    assert "cache" not in str(sent)
    assert _SESSION not in str(sent)


# ---- finding it again ----------------------------------------------------------------------------------


def _reply(model: Model, *calls: ToolCall) -> AssistantMessage:
    content = calls or (TextContent("yes"),)
    return AssistantMessage(content, model.api, model.provider, model.id, Usage(), "stop", timestamp=0)


def _work(model: Model, number: int, side_by_side: int = 1) -> list[Message]:
    """A question, calls that run side by side, their results, an answer."""
    calls = [ToolCall(f"{number}-{place}", "read", {}) for place in range(side_by_side)]
    results = [ToolResultMessage(call.id, "read", (TextContent("x" * 300),), is_error=False) for call in calls]
    return [UserMessage(f"question {number}"), _reply(model, *calls), *results, _reply(model)]


def _read(model: ResolvedModel, *requests: Sequence[Message]) -> list[float]:
    """Which part of each prompt comes from the cache, when one is sent after the other."""
    cache = PrefixCache("anthropic-messages")
    shares: list[float] = []
    for messages in requests:
        before = cache.asked
        found = cache.ask(body_of(asked(model, _request(model.model, *messages))))
        shares.append(found / (cache.asked - before))
    return shares


def test_anthropic_finds_what_it_kept_behind_any_number_of_calls_and_words(tmp_path: Path) -> None:
    model = resolved(tmp_path, "anthropic/claude-opus-4-5")
    _, reply, *rest = _work(model.model, 1, side_by_side=30)
    question = UserMessage("Look at all of it. " * 1000)
    results, steering = rest[:-1], [UserMessage("one thing"), UserMessage("and another")]

    first, second = _read(model, [question], [question, reply, *results, *steering])

    assert first == 0
    assert second > 0.7  # all of the first prompt; without the question it would be 0.45


def test_a_model_that_comes_back_finds_what_it_was_sent_before_another_answered(tmp_path: Path) -> None:
    model = resolved(tmp_path, "anthropic/claude-opus-4-5")
    other = resolved(tmp_path, "openai/gpt-5.2").model
    begun = [message for number in range(20) for message in _work(model.model, number)]
    meanwhile = [message for number in range(20, 40) for message in _work(other, number)]
    first = [*begun, UserMessage("last before the switch")]

    shares = _read(model, first, [*first, _reply(model.model), *meanwhile, UserMessage("back again")])

    assert shares[0] == 0
    assert shares[1] > 0.7


def test_other_sessions_find_tools_and_system_prompt(tmp_path: Path) -> None:
    model = resolved(tmp_path, "anthropic/claude-opus-4-5")

    shares = _read(model, [UserMessage("one session")], [UserMessage("another one")])

    assert shares[1] > 0.95
