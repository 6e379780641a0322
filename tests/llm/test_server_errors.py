"""What servers say went wrong, and what people are told."""

from email.utils import formatdate

import msgspec
import pytest

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    ModelNotFoundError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestTooLargeError,
)
from kaa.core.messages import Json
from kaa.llm.http.transport import Headers
from kaa.llm.server_errors import failure_of_event, failure_of_response
from kaa.llm.wire import Peer
from tests.support.tables import each

_KEY = "k3y-that-must-stay-secret"
_PEER = Peer("acme", "model-1", "api.acme.test", (_KEY,))


def _failure(status: int, body: Json = b"", **headers: str) -> ProviderError:
    encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
    named = Headers(tuple((name.replace("_", "-"), value) for name, value in headers.items()))
    return failure_of_response(status, named, encoded, _PEER)


def _openai(message: str, **rest: Json) -> Json:
    return {"error": {"message": message, **rest}}


@each(
    ("status", "body", "kind"),
    [
        (401, _openai("Incorrect API key", code="invalid_api_key"), AuthError),
        (403, b"", AuthError),
        (402, b"", QuotaError),
        (429, _openai("slow down", type="requests", code="rate_limit_exceeded"), RateLimitError),
        (429, _openai("You exceeded your current quota", type="insufficient_quota"), QuotaError),
        (400, _openai("Your credit balance is too low to access the API", type="invalid_request_error"), QuotaError),
        (400, _openai("no such parameter", type="invalid_request_error"), BadRequestError),
        (404, _openai("no such model", code="model_not_found"), ModelNotFoundError),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}, ModelNotFoundError),
        (404, _openai("models/x is not found for API version v1beta", status="NOT_FOUND"), ModelNotFoundError),
        (404, b"404 page not found", ModelNotFoundError),
        (400, _openai("x/y is not a valid model ID"), ModelNotFoundError),
        (405, b"", BadRequestError),
        (422, {"detail": [{"loc": ["body"], "msg": "Field required"}]}, BadRequestError),
        (307, b"", BadRequestError),
        (408, b"", OverloadedError),
        (409, b"", OverloadedError),
        (500, b"", OverloadedError),
        (503, _openai("Loading model", type="unavailable_error"), OverloadedError),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, OverloadedError),
        (400, _openai("too long", code="context_length_exceeded"), ContextOverflowError),
        (400, _openai("prompt is too long: 210000 tokens > 200000 maximum"), ContextOverflowError),
        (400, _openai("This model's maximum context length is 8192 tokens."), ContextOverflowError),
        (400, _openai("the request exceeds the available context size"), ContextOverflowError),
        (400, _openai("The input token count (12) exceeds the maximum number of tokens"), ContextOverflowError),
        (500, _openai("context size has been exceeded"), ContextOverflowError),
        (413, b"<html><title>413 Request Entity Too Large</title></html>", RequestTooLargeError),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "x"}}, RequestTooLargeError),
        (400, _openai("messages.2.content.1: image exceeds 5 MB maximum"), RequestTooLargeError),
        (400, _openai("Could not process image", type="invalid_request_error"), RequestTooLargeError),
        (413, _openai("Limit 6000 tokens per minute (TPM)", code="rate_limit_exceeded"), RateLimitError),
    ],
)
def test_each_answer_has_its_type(status: int, body: Json, kind: type[ProviderError]) -> None:
    failure = _failure(status, body)

    assert type(failure) is kind
    assert failure.status == status
    assert str(status) in str(failure)
    assert failure.transient == (kind in (RateLimitError, OverloadedError))


@each(
    ("body", "words"),
    [
        (_openai("the server's words"), "the server's words"),
        ({"error": "the server's words"}, "the server's words"),
        ({"message": "the server's words"}, "the server's words"),
        ({"detail": "the server's words"}, "the server's words"),
        ([_openai("the server's words")], "the server's words"),
        ({"errors": [{"message": "the server's words"}]}, "the server's words"),
        (b"the server's\n\n words", "the server's words"),
        (b'event: error\ndata: {"error": {"message": "the server\'s words"}}\n\n', "the server's words"),
        (b"<html><head><title>502 &amp; more</title></head><body><p>nginx</p></body></html>", "(HTTP 500: 502 & more)"),
        (b"<html><style>p {}</style><p>the <b>server's</b> words</p></html>", "the server's words"),
    ],
)
def test_the_servers_own_words_are_kept(body: Json, words: str) -> None:
    assert words in str(_failure(500, body))


@each(
    ("status", "advice"),
    [
        (401, "Check the API key of provider 'acme'"),
        (402, "top it up"),
        (404, "Check the base URL of provider 'acme' and the name of the model, 'model-1'"),
        (413, "/compact"),
        (426, "write https:// in the base URL of provider 'acme'"),
        (429, "choose another model"),
        (500, "Try again later"),
    ],
)
def test_the_message_says_what_to_do(status: int, advice: str) -> None:
    assert advice in str(_failure(status))


@pytest.mark.parametrize("provider", ["local:42421", "vllm"])
def test_nobody_is_told_to_log_in_to_a_server_of_this_machine(provider: str) -> None:
    failure = failure_of_response(401, Headers(), b"", Peer(provider, "m", "127.0.0.1:42421"))

    assert "kaa login" not in str(failure)
    assert "--api-key, or describe the server with its apiKey in models.json" in str(failure)


def test_a_missing_client_certificate_is_not_taken_for_a_wrong_model() -> None:
    page = b"<html><head><title>400 No required SSL certificate was sent</title></head></html>"

    assert "Name a client certificate in KAA_CLIENT_CERT" in str(_failure(400, page))


def test_a_redirect_names_where_to_but_shows_no_more_of_it() -> None:
    failure = _failure(307, location="https://elsewhere.test/v1?token=abc")

    assert "a redirect to elsewhere.test" in str(failure)
    assert "abc" not in str(failure)


@pytest.mark.parametrize("body", [_openai(f"Incorrect API key: {_KEY}"), f"<p>{_KEY}</p>".encode()])
def test_no_message_repeats_the_key(body: Json) -> None:
    assert _KEY not in str(_failure(401, body))
    assert _KEY not in repr(_PEER)


def test_long_bodies_are_cut() -> None:
    assert len(str(_failure(500, b"x" * 100_000))) < 1000


@each("body", [b"[" * 50_000, b"\xff\xfe\x00", b"{}", b"[]", b"null", b'{"error": {"error": {}}}'])
def test_any_body_is_survived(body: bytes) -> None:
    assert type(_failure(500, body)) is OverloadedError


@each(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"Retry_After": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        ({"retry_after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert _failure(429, **headers).retry_after == seconds


def test_a_date_to_retry_at_is_turned_into_seconds() -> None:
    retry_after = _failure(503, retry_after="Fri, 31 Dec 9999 23:59:59 GMT").retry_after

    assert retry_after is not None
    assert retry_after > 10**9


def test_an_error_nobody_can_name_is_tried_again() -> None:
    assert type(failure_of_event({"error": {"type": "new_kind", "message": "?"}}, _PEER)) is OverloadedError
    assert type(failure_of_event(None, _PEER)) is OverloadedError


_RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}


def _google(status: str, message: str, *details: Json) -> Json:
    return [{"error": {"code": 0, "message": message, "status": status, "details": [*details]}}]


def test_googles_limits_per_minute_are_waited_for_although_they_speak_of_quota_and_billing() -> None:
    message = "You exceeded your current quota, please check your plan and billing details."

    failure = _failure(429, _google("RESOURCE_EXHAUSTED", message, _RETRY_INFO))

    assert type(failure) is RateLimitError
    assert failure.retry_after == 34.5


def test_googles_limits_per_day_are_not_waited_for() -> None:
    quota = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}]}

    failure = _failure(429, _google("RESOURCE_EXHAUSTED", "You exceeded your current quota", quota, _RETRY_INFO))

    assert type(failure) is QuotaError


def test_a_header_counts_before_what_the_body_says_of_the_wait() -> None:
    assert _failure(503, _google("UNAVAILABLE", "busy", _RETRY_INFO), retry_after="2").retry_after == 2
    assert _failure(503, _google("UNAVAILABLE", "busy", _RETRY_INFO)).retry_after == 34.5


def test_googles_answer_to_a_wrong_key_is_one_although_its_status_is_400() -> None:
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}

    failure = _failure(400, _google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", reason))

    assert type(failure) is AuthError
    assert "Check the API key of provider 'acme'" in str(failure)


def test_an_error_within_a_stream_says_when_to_come_back() -> None:
    failure = failure_of_event(_google("RESOURCE_EXHAUSTED", "slow down", _RETRY_INFO), _PEER)

    assert type(failure) is RateLimitError
    assert failure.retry_after == 34.5
