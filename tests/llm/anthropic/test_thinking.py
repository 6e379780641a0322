"""What Claude is told of thinking, where the conversation or the model stands against what the user wants."""

import pytest

from kaa.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.llm.anthropic.request import messages_body
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_BUDGETED = Model("claude-opus-4-5", "anthropic", "anthropic-messages", reasoning=True, max_tokens=64_000)
_ADAPTIVE = Model("claude-opus-4-8", "anthropic", "anthropic-messages", reasoning=True, max_tokens=64_000)
_IMITATED = Model("MiniMax-M9", "minimax", "anthropic-messages", reasoning=True, max_tokens=64_000)


def _call(call_id: str, model: Model, *before: ThinkingContent | TextContent) -> list[Message]:
    """A call and its result."""
    call = ToolCall(call_id, "read", {})
    return [
        AssistantMessage(
            (*before, call), model.api, model.provider, model.id, Usage(), stop_reason="toolUse", timestamp=0
        ),
        ToolResultMessage(call_id, "read", (TextContent("found"),), is_error=False, timestamp=0),
    ]


def _said(model: Model) -> Message:
    text = (TextContent("done"),)
    return AssistantMessage(text, model.api, model.provider, model.id, Usage(), stop_reason="stop", timestamp=0)


def _thinking(model: Model, *history: Message, level: ThinkingLevel = "high") -> str:
    body = messages_body(Request(model, "", history, thinking=level), Endpoint("https://api.anthropic.com"))
    return str(body["thinking"]["type"])


_THOUGHT = ThinkingContent("hm", "signed")
_HIDDEN = ThinkingContent("", "sealed", redacted=True)
_OTHER = Model("gpt-5.2", "openai", "openai-responses", reasoning=True)


@each(
    ("history", "expected"),
    [
        pytest.param([UserMessage("q"), *_call("a", _OTHER, _THOUGHT)], "disabled", id="another model began the turn"),
        pytest.param([UserMessage("q"), *_call("a", _BUDGETED)], "disabled", id="thinking was off when the turn began"),
        pytest.param(
            [UserMessage("q"), *_call("a", _BUDGETED, _THOUGHT)], "enabled", id="the turn began with thinking"
        ),
        pytest.param([UserMessage("q"), *_call("a", _BUDGETED, _HIDDEN)], "enabled", id="hidden thinking is thinking"),
        pytest.param(
            [UserMessage("q"), *_call("a", _BUDGETED, _THOUGHT), *_call("b", _BUDGETED)],
            "enabled",
            id="not each step of a turn needs thinking",
        ),
        pytest.param(
            [UserMessage("q"), *_call("a", _OTHER), *_call("b", _BUDGETED, _THOUGHT)],
            "disabled",
            id="the beginning of the turn counts",
        ),
        pytest.param(
            [UserMessage("q"), *_call("a", _OTHER), _said(_OTHER), UserMessage("r")], "enabled", id="a new turn"
        ),
        pytest.param(
            [UserMessage("q"), *_call("a", _OTHER), UserMessage("stop!")], "disabled", id="the user breaks in"
        ),
    ],
)
def test_a_turn_that_began_without_thinking_goes_on_so(history: list[Message], expected: str) -> None:
    assert _thinking(_BUDGETED, *history) == expected


def test_models_that_decide_for_themselves_may_think_at_any_time() -> None:
    assert _thinking(_ADAPTIVE, UserMessage("q"), *_call("a", _OTHER)) == "adaptive"


def test_servers_that_imitate_anthropic_are_not_known_to_mind() -> None:
    assert _thinking(_IMITATED, UserMessage("q"), *_call("a", _OTHER)) == "enabled"


def test_a_model_that_always_thinks_is_told_to_think_as_little_as_it_can() -> None:
    endpoint = Endpoint("https://api.anthropic.com", thinking_levels={"off": None})
    model = Model("claude-fable-5", "anthropic", "anthropic-messages", reasoning=True)

    body = messages_body(Request(model, "", [UserMessage("q")], thinking="off"), endpoint)

    assert body["thinking"]["type"] == "adaptive"
    assert body["output_config"] == {"effort": "low"}
