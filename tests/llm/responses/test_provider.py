"""A conversation over the real adapter, where one reply builds on the one before."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from kaa.core.errors import BadRequestError
from kaa.core.messages import AssistantMessage, Json, Message, UserMessage
from kaa.core.provider import Model, Request
from kaa.core.reply import ReplyBuilder
from kaa.llm.compat import Compat
from kaa.llm.http.live import LiveTransport
from kaa.llm.responses.provider import OpenAIResponses
from kaa.llm.tuning import Tuning
from kaa.llm.wire import Endpoint
from tests.support.model_server import Answer, ModelServer, Refusal, ScriptItem, say

_MODEL = Model("m", "p", "openai-responses", reasoning=True)
_UNREADABLE = Refusal(
    400,
    body=msgspec.json.encode(
        {
            "error": {
                "message": "The encrypted content for item rs_1 could not be verified. Reason: it is another's.",
                "type": "invalid_request_error",
                "code": "invalid_encrypted_content",
            }
        }
    ).decode(),
)
_USUAL = Endpoint("")
_THINKS = Answer(text=("done",), thinking=("hm",))


def _unverified(what: str, parameter: str) -> Refusal:
    """OpenAI's refusal of what it lets only verified organizations have, in the words that users report."""
    message = f"Your organization must be verified to {what}. Please go to: https://platform.openai.com/settings"
    error = {"message": message, "type": "invalid_request_error", "param": parameter, "code": "unsupported_value"}
    return Refusal(400, body=msgspec.json.encode({"error": error}).decode())


_NO_SUMMARY = _unverified("generate reasoning summaries", "reasoning.summary")
_NOT_KEPT = Refusal(
    400, body='{"error": {"message": "prompt_cache_retention is not supported on this model", "type": "x"}}'
)
_NO_STREAM = _unverified("stream this model", "stream")


def _talk(script: Sequence[ScriptItem], questions: Sequence[str]) -> list[list[Json]]:
    """Ask one question after another; what each request had as input."""
    return [request["input"] for request in _asked(script, questions)]


def _asked(script: Sequence[ScriptItem], questions: Sequence[str], usual: Endpoint = _USUAL) -> list[dict[str, Json]]:
    """Ask one question after another, thinking; the bodies of all requests."""

    async def ask(provider: OpenAIResponses, history: list[Message]) -> AssistantMessage:
        builder = ReplyBuilder(_MODEL)
        async for event in provider.stream(Request(_MODEL, "", history, (), "high", "session-1")):
            builder.fold(event)
        return builder.message(builder.stop_reason or "error")

    async def run(url: str) -> None:
        transport = LiveTransport()
        provider = OpenAIResponses(msgspec.structs.replace(usual, base_url=f"{url}/v1"), transport)
        history: list[Message] = []
        try:
            for question in questions:
                history.append(UserMessage(question))
                history.append(await ask(provider, history))
        finally:
            await transport.close()

    with ModelServer(script) as server:
        try:
            asyncio.run(run(server.url))
        finally:
            sent = [request.json for request in server.requests]
    return sent


def _kinds(items: list[Json]) -> list[str]:
    return [item.get("type", item.get("role")) for item in items]


def test_reasoning_goes_back_with_the_next_question() -> None:
    first, second = _talk([_THINKS, say("yes")], ["one", "two"])

    assert _kinds(first) == ["user"]
    assert _kinds(second) == ["user", "reasoning", "message", "user"]
    assert second[1]["encrypted_content"] == "c2VhbGVk"


def test_reasoning_that_cannot_be_decrypted_any_more_is_left_behind() -> None:
    script: list[ScriptItem] = [_THINKS, _UNREADABLE, _THINKS, say("yes")]

    _, refused, again, next_one = _talk(script, ["one", "two", "three"])

    assert _kinds(refused) == ["user", "reasoning", "message", "user"]
    assert _kinds(again) == ["user", "message", "user"]
    assert next_one[: len(again)] == again


def test_a_request_that_is_refused_for_good_is_not_sent_for_ever() -> None:
    with pytest.raises(BadRequestError, match="could not be verified"):
        _talk([_THINKS, _UNREADABLE, _UNREADABLE], ["one", "two"])


@pytest.mark.parametrize("refusal", [_UNREADABLE, Refusal(400)])
def test_a_request_without_reasoning_is_sent_once(refusal: Refusal) -> None:
    with pytest.raises(BadRequestError):
        _talk([refusal, say("never asked for")], ["one"])


def test_summaries_that_only_verified_organizations_get_are_not_asked_for_again() -> None:
    first, again, next_one = _asked([_NO_SUMMARY, _THINKS, say("yes")], ["one", "two"])

    assert first["reasoning"] == {"effort": "high", "summary": "auto"}
    assert again["reasoning"] == next_one["reasoning"] == {"effort": "high"}
    assert {**again, "reasoning": first["reasoning"]} == first
    assert next_one["input"][1]["encrypted_content"] == "c2VhbGVk"  # the reasoning itself goes on as ever


def test_a_model_that_only_verified_organizations_may_stream_is_asked_for_whole_replies() -> None:
    whole = {
        "id": "resp_1",
        "status": "completed",
        "output": [{"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "done"}]}],
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    reply = Refusal(200, body=msgspec.json.encode(whole).decode())

    requests = _asked([_NO_SUMMARY, _NO_STREAM, reply, reply], ["one", "two"])

    assert [request["stream"] for request in requests] == [True, True, False, False]
    assert requests[3]["input"][1]["content"][0]["text"] == "done"


def test_a_model_whose_prompts_are_not_kept_for_long_is_asked_without() -> None:
    patient = Endpoint(
        "",
        compat=Compat(send_prompt_cache_key=True, supports_long_cache_retention=True),
        tuning=Tuning(cache_retention="long"),
    )

    requests = _asked([_NOT_KEPT, say("yes"), say("yes")], ["one", "two"], patient)

    assert [request.get("prompt_cache_retention") for request in requests] == ["24h", None, None]
    assert {request["prompt_cache_key"] for request in requests} == {"session-1"}


@pytest.mark.parametrize("refusal", [_NO_SUMMARY, _NO_STREAM])
def test_what_is_refused_though_it_was_not_asked_for_is_told(refusal: Refusal) -> None:
    with pytest.raises(BadRequestError, match="must be verified"):
        _asked([refusal, refusal, say("never asked for")], ["one"])
