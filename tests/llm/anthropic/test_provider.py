"""A conversation with Claude over the real adapter, where one request is refused and the next does without."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from kaa.core.errors import BadRequestError
from kaa.core.messages import AssistantMessage, Json, Message, UserMessage
from kaa.core.provider import Model, Request, ThinkingLevel
from kaa.core.reply import ReplyBuilder
from kaa.llm.anthropic.provider import AnthropicMessages
from kaa.llm.http.live import LiveTransport
from kaa.llm.wire import Endpoint
from tests.support.model_server import Answer, ModelServer, Refusal, ScriptItem, say

_MODEL = Model("claude-opus-6", "anthropic", "anthropic-messages", reasoning=True)
_THINKS = Answer(text=("done",), thinking=("hm",))


def _refusal(message: str) -> Refusal:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return Refusal(400, body=msgspec.json.encode(error).decode())


# In Anthropic's words; platform.claude.com/docs/en/build-with-claude/preserved-thinking
_BOUND = _refusal(
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_ALWAYS_THINKS = _refusal(
    '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.'
)


def _asked(
    script: Sequence[ScriptItem], questions: Sequence[str], level: ThinkingLevel = "high"
) -> list[dict[str, Json]]:
    """Ask one question after another; the bodies of all requests."""

    async def ask(provider: AnthropicMessages, history: list[Message]) -> AssistantMessage:
        builder = ReplyBuilder(_MODEL)
        async for event in provider.stream(Request(_MODEL, "", history, thinking=level)):
            builder.fold(event)
        return builder.message(builder.stop_reason or "error")

    async def run(url: str) -> None:
        transport = LiveTransport()
        provider = AnthropicMessages(Endpoint(url), transport)
        history: list[Message] = []
        try:
            for question in questions:
                history.append(UserMessage(question))
                history.append(await ask(provider, history))
        finally:
            await transport.close()

    with ModelServer(script) as server:
        asyncio.run(run(server.url))
        return [request.json for request in server.requests]


def _thoughts(body: dict[str, Json]) -> int:
    return sum(block["type"] == "thinking" for message in body["messages"] for block in message["content"])


def test_reasoning_that_is_bound_to_what_was_before_is_left_behind() -> None:
    bodies = _asked([_THINKS, _BOUND, say("yes")], ["one", "two"])

    assert [_thoughts(body) for body in bodies] == [0, 1, 0]


def test_a_model_that_nobody_knows_to_think_always_is_asked_again() -> None:
    bodies = _asked([_ALWAYS_THINKS, say("yes"), say("yes")], ["one", "two"], "off")

    assert [body["thinking"]["type"] for body in bodies] == ["disabled", "adaptive", "adaptive"]
    assert bodies[1]["output_config"] == {"effort": "low"}


@pytest.mark.parametrize("refusal", [_BOUND, _ALWAYS_THINKS])
def test_a_refusal_that_stays_is_an_error(refusal: Refusal) -> None:
    with pytest.raises(BadRequestError):
        _asked([_THINKS, refusal, refusal], ["one", "two"])


def test_other_refusals_are_errors_at_once() -> None:
    with pytest.raises(BadRequestError, match="too many images"):
        _asked([_refusal("too many images"), say("never")], ["one"])
