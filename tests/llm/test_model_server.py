"""The tests' own server, seen through the vendors' clients: what it streams is what real servers stream."""

import contextlib
import http.client
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.model_server import (
    CONTEXT_OVERFLOW,
    MODEL_ID,
    Answer,
    Call,
    Fault,
    ModelServer,
    Tokens,
    call,
    rate_limited,
    say,
)

if TYPE_CHECKING:
    from anthropic import Anthropic
    from openai import OpenAI

_FULL = Answer(
    text=("Hel", "lo"),
    thinking=("hm",),
    calls=(Call("read", '{"path":"a"}'), Call("bash", '{"command":"ls"}', id="own")),
    usage=Tokens(prompt=50, cached=20, output=7),
)


@contextlib.contextmanager
def _openai(server: ModelServer) -> Iterator["OpenAI"]:
    from openai import OpenAI  # an SDK takes seconds to import: only tests that use it do

    with OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client:
        yield client


@contextlib.contextmanager
def _anthropic(server: ModelServer) -> Iterator["Anthropic"]:
    from anthropic import Anthropic

    with Anthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("piece_bytes", [0, 1])
def test_openai_client_understands_a_full_reply(piece_bytes: int) -> None:
    answer = Answer(_FULL.text, _FULL.thinking, _FULL.calls, _FULL.usage, piece_bytes=piece_bytes)

    with ModelServer([answer]) as server, _openai(server) as client:
        chunks = list(
            client.chat.completions.create(model=MODEL_ID, messages=[{"role": "user", "content": "hi"}], stream=True)
        )

    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    calls = [part for delta in deltas for part in delta.tool_calls or () if part.function]
    assert "".join(delta.content or "" for delta in deltas) == "Hello"
    assert [part.id for part in calls if part.id] == ["call_1_1", "own"]
    assert "".join(part.function.arguments or "" for part in calls if part.function) == '{"path":"a"}{"command":"ls"}'
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 50
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "tool_calls"


def test_anthropic_client_understands_a_full_reply() -> None:
    with (
        ModelServer([_FULL]) as server,
        _anthropic(server) as client,
        client.messages.stream(model=MODEL_ID, max_tokens=100, messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        message = stream.get_final_message()

    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (30, 20)


def test_responses_client_understands_a_full_reply() -> None:
    with (
        ModelServer([_FULL]) as server,
        _openai(server) as client,
        client.responses.stream(model=MODEL_ID, input="hi") as stream,
    ):
        response = stream.get_final_response()

    assert response.output_text == "Hello"
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]


def test_refusals_are_the_errors_the_vendors_clients_know() -> None:
    from anthropic import BadRequestError, RateLimitError

    with ModelServer([rate_limited("7"), CONTEXT_OVERFLOW]) as server, _anthropic(server) as client:
        with pytest.raises(RateLimitError) as limited:
            client.messages.create(model=MODEL_ID, max_tokens=1, messages=[{"role": "user", "content": "hi"}])
        with pytest.raises(BadRequestError, match="prompt is too long"):
            client.messages.create(model=MODEL_ID, max_tokens=1, messages=[{"role": "user", "content": "hi"}])

    assert limited.value.response.headers["retry-after"] == "7"


def test_requests_are_kept_with_headers_body_and_times() -> None:
    with ModelServer([call("ls"), say("done")]) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        for number in range(2):
            connection.request("POST", "/v1/messages", b'{"n": %d}' % number, {"X-Test": "yes"})
            assert connection.getresponse().read().endswith(b'"type":"message_stop"}\n\n')
        connection.close()

        first, second = server.wait_for_requests(2)

    assert (first.json, second.json) == ({"n": 0}, {"n": 1})
    assert first.header("x-test") == "yes"
    assert first.arrived_ns < first.answered_ns < second.arrived_ns
    assert server.remaining == 0


def test_stalled_stream_goes_on_when_released() -> None:
    with ModelServer([Answer(text=("one", "two"), fault=Fault("stall", after=1))]) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        connection.request("POST", "/v1/chat/completions", b"{}")
        response = connection.getresponse()
        server.wait_until_stalled()

        server.release()

        assert b"[DONE]" in response.read()
        connection.close()


def test_reset_loses_only_what_comes_after_it() -> None:
    with ModelServer([Answer(text=("one", "two"), fault=Fault("reset", after=1))]) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        connection.request("POST", "/v1/chat/completions", b"{}")
        response = connection.getresponse()

        with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
            response.read()

        connection.close()
