"""Servers that want something else than kaa knows of them, and say so."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest

from kaa.core.errors import BadRequestError
from kaa.core.messages import AssistantMessage, Json, TextContent, ThinkingContent, ToolCall, ToolResultMessage, Usage
from kaa.core.messages import UserMessage as User
from kaa.core.provider import Model, Request
from kaa.llm.completions.provider import OpenAICompletions
from kaa.llm.http.live import LiveTransport
from kaa.llm.wire import Endpoint
from tests.support.model_server import ModelServer, Refusal, ScriptItem, say
from tests.support.tables import each

_MODEL = Model("m", "p", "openai-completions", reasoning=True)
_THOUGHT = ThinkingContent("hm", "reasoning")
_HISTORY = (
    User("q"),
    AssistantMessage(
        (_THOUGHT, ToolCall("call_1", "read", {})), _MODEL.api, _MODEL.provider, _MODEL.id, Usage(), "toolUse"
    ),
    ToolResultMessage("call_1", "read", (TextContent("found"),), is_error=False),
)


def _refusal(message: str) -> Refusal:
    return Refusal(400, body=msgspec.json.encode({"error": {"message": message}}).decode())


def _asked(script: Sequence[ScriptItem], times: int = 1) -> list[dict[str, Json]]:
    async def run(url: str) -> None:
        transport = LiveTransport()
        provider = OpenAICompletions(Endpoint(f"{url}/v1"), transport)
        try:
            for _ in range(times):
                async for _event in provider.stream(Request(_MODEL, "", _HISTORY, thinking="high")):
                    pass
        finally:
            await transport.close()

    with ModelServer(script) as server:
        asyncio.run(run(server.url))
        return [request.json for request in server.requests]


@each(
    ("complaint", "seen"),
    [
        pytest.param(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            lambda body: body["messages"][1].get("reasoning_content") == " ",
            id="Kimi",
        ),
        pytest.param(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            lambda body: "reasoning_content" in body["messages"][1],
            id="DeepSeek",
        ),
        pytest.param(
            "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' "
            "is unsupported)]",
            lambda body: body["messages"][1]["content"] == "hm",
            id="Groq",
        ),
        pytest.param(
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            lambda body: "max_completion_tokens" in body and "max_tokens" not in body,
            id="OpenAI",
        ),
        pytest.param(
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            lambda body: len(body["messages"][1]["tool_calls"][0]["id"]) == 9,
            id="Mistral",
        ),
        pytest.param("Unknown field: stream_options", lambda body: "stream_options" not in body, id="old servers"),
    ],
)
def test_a_server_is_asked_again_as_it_wants(complaint: str, seen: Callable[[dict[str, Json]], bool]) -> None:
    bodies = _asked([_refusal(complaint), say("yes"), say("yes")], times=2)

    assert [seen(body) for body in bodies] == [False, True, True]


def test_a_wish_that_was_granted_already_is_an_error() -> None:
    refusal = _refusal("Unknown field: stream_options")

    with pytest.raises(BadRequestError, match="stream_options"):
        _asked([refusal, refusal])
