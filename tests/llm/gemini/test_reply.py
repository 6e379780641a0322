"""Replies of Gemini, from Google and from servers that imitate it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    MalformedStreamError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from kaa.core.messages import AssistantMessage, Json, StopReason, TextContent, ThinkingContent, ToolCall, Usage
from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    Model,
    ReplyInfo,
    StreamDone,
    StreamEvent,
    TextChunk,
)
from kaa.core.reply import ReplyBuilder
from kaa.llm.gemini.reply import GeminiParser
from kaa.llm.http.sse import SseDecoder, SseEvent
from kaa.llm.wire import Peer
from tests.support.tables import each

_PEER = Peer("google", "gemini-3-pro", "generativelanguage.googleapis.com", ("k3y-that-must-stay-secret",))


def _chunk(*parts: Json, finish: str | None = None, **rest: Json) -> Json:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}], **rest}


def _text(text: str, **rest: Json) -> Json:
    return {"text": text, **rest}


def _thought(text: str, **rest: Json) -> Json:
    return {"text": text, "thought": True, **rest}


def _call(name: str = "read", call_id: str | None = None, signature: str | None = None, **arguments: Json) -> Json:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}, "thoughtSignature": signature}


_STOP = _chunk(finish="STOP")


def _reply(*chunks: Json) -> list[StreamEvent]:
    parser = GeminiParser(_PEER, call_id_prefix="call_7")
    for chunk in chunks:
        parser.accept(SseEvent("", msgspec.json.encode(chunk)))
    parser.finish()
    return parser.drain()


def _message(events: list[StreamEvent]) -> AssistantMessage:
    builder = ReplyBuilder(Model("gemini-3-pro", "google", "google-generative-ai"))
    for event in events:
        builder.fold(event)
    assert builder.stop_reason is not None
    return builder.message(builder.stop_reason)


def _fails(kind: type[ProviderError], *chunks: Json) -> str:
    with pytest.raises(ProviderError) as caught:
        _reply(*chunks)
    assert type(caught.value) is kind
    return str(caught.value)


def test_deltas_that_arrive_together_travel_together() -> None:
    assert _reply(*[_chunk(_text("word "))] * 1000, _STOP) == [
        TextChunk(1, "word " * 1000),
        BlockEnd(1),
        StreamDone("stop"),
    ]


def test_reasoning_and_text_are_blocks_of_their_own() -> None:
    message = _message(
        _reply(_chunk(_thought("let ")), _chunk(_thought("me see"), _text("It")), _chunk(_text(" is")), _STOP)
    )

    assert message.content == (ThinkingContent("let me see"), TextContent("It is"))


def test_a_signature_in_an_empty_last_part_is_that_of_the_text_before() -> None:
    chunks = (_chunk(_text("done")), _chunk(_text("", thoughtSignature="c2ln"), finish="STOP"))

    assert _message(_reply(*chunks)).content == (TextContent("done", "c2ln"),)


def test_a_signature_that_comes_after_its_text_was_shown_is_kept() -> None:
    parser = GeminiParser(_PEER)
    parser.accept(SseEvent("", msgspec.json.encode(_chunk(_text("done")))))
    shown = parser.drain()
    parser.accept(SseEvent("", msgspec.json.encode(_chunk(_text("", thoughtSignature="c2ln"), finish="STOP"))))
    parser.finish()

    assert shown == [TextChunk(1, "done")]
    assert parser.drain() == [TextChunk(1, "", "c2ln"), BlockEnd(1), StreamDone("stop")]


def test_a_signature_of_reasoning_stays_with_it() -> None:
    message = _message(_reply(_chunk(_thought("hm", thoughtSignature="c2ln")), _chunk(_text("ok")), _STOP))

    assert message.content == (ThinkingContent("hm", "c2ln"), TextContent("ok"))


def test_calls_come_whole_with_their_signature() -> None:
    events = _reply(_chunk(_call("read", "id-1", "c2ln", path="a")), _STOP)

    assert events == [
        CallChunkStart(1, "id-1", "read", "c2ln"),
        ArgumentsChunk(1, '{"path":"a"}'),
        BlockEnd(1),
        StreamDone("toolUse"),
    ]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("same", "same"), (None, "call_7_1")])
def test_calls_without_an_id_of_their_own_get_one(ids: tuple[str | None, str | None]) -> None:
    calls = _message(_reply(_chunk(*[_call("read", call_id, path="a") for call_id in ids], finish="STOP"))).tool_calls

    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)


def test_text_between_calls_keeps_its_place() -> None:
    message = _message(_reply(_chunk(_text("a"), _call("x", "1"), _text("b"), _call("y", "2"), finish="STOP")))

    assert message.content == (TextContent("a"), ToolCall("1", "x", {}), TextContent("b"), ToolCall("2", "y", {}))


@pytest.mark.parametrize("arguments", [None, {}, "{}"])
def test_a_call_without_arguments(arguments: Json) -> None:
    events = _reply(_chunk({"functionCall": {"name": "list", "args": arguments}}, finish="STOP"))

    assert _message(events).tool_calls == [ToolCall("call_7_1", "list", {})]


@pytest.mark.parametrize(
    ("reason", "expected"), [("STOP", "stop"), ("MAX_TOKENS", "length"), ("A_REASON_STILL_TO_COME", "stop")]
)
def test_reasons_to_stop(reason: str, expected: StopReason) -> None:
    assert _reply(_chunk(_text("x"), finish=reason))[-1] == StreamDone(expected)


def test_a_call_that_the_limit_of_tokens_follows_is_no_reason_to_go_on() -> None:
    assert _reply(_chunk(_call("read", "1"), finish="MAX_TOKENS"))[-1] == StreamDone("length")


def test_a_reason_in_every_chunk_does_not_end_the_reply_early() -> None:
    events = _reply(_chunk(_text("Hello, "), finish="STOP"), _chunk(_text("world"), finish="STOP"))

    assert _message(events).text == "Hello, world"


def test_usage_counts_the_cache_apart_and_reasoning_as_output() -> None:
    counts = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "thoughtsTokenCount": 30}
    events = _reply(
        _chunk(_text("a"), usageMetadata=counts, responseId="r-1", modelVersion="gemini-3-pro-001"),
        _chunk(finish="STOP", usageMetadata={"promptTokenCount": 100, "candidatesTokenCount": 5}),
    )

    infos = [event for event in events if isinstance(event, ReplyInfo)]
    assert infos[0].response_id == "r-1"
    assert infos[-1].response_model == "gemini-3-pro-001"
    assert infos[-1].usage == Usage(40, 35, 60, 0, total_tokens=135)


def test_what_is_no_answer_of_the_model_is_passed_over() -> None:
    other = {"candidates": [{"index": 1, "content": {"parts": [{"text": "another draft"}]}}]}
    strange = _chunk({"executableCode": {"code": "1"}}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}})
    empty = {"candidates": [{"content": {}}, {}], "somethingNew": [1]}

    assert _message(_reply(other, strange, empty, _chunk(_text("yes"), finish="STOP"))).text == "yes"


@each("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY"])
def test_a_withheld_answer_is_no_reply_and_not_asked_for_again(reason: str) -> None:
    message = _fails(BadRequestError, _chunk(_text("I")), _chunk(finish=reason))

    assert reason in message
    assert "rephrase the request" in message


def test_a_blocked_question_says_why() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not with k3y-that-must-stay-secret"}

    message = _fails(BadRequestError, {"promptFeedback": feedback})

    assert "PROHIBITED_CONTENT: not with [redacted]" in message


def test_feedback_that_blocks_nothing_is_no_error() -> None:
    assert _reply({"promptFeedback": {"safetyRatings": []}}, _chunk(_text("x"), finish="STOP"))[-1] == StreamDone(
        "stop"
    )


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"])
def test_an_answer_that_went_wrong_is_asked_for_again(reason: str) -> None:
    candidate = {"finishReason": reason, "finishMessage": "call: print(x"}

    message = _fails(MalformedStreamError, {"candidates": [candidate]})

    assert MalformedStreamError.transient
    assert f"{reason}: call: print(x" in message


def test_a_missing_signature_is_not_asked_for_again() -> None:
    assert "MISSING_THOUGHT_SIGNATURE" in _fails(BadRequestError, _chunk(finish="MISSING_THOUGHT_SIGNATURE"))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}, OverloadedError),
        ({"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}, RateLimitError),
        ({"code": 403, "message": "no", "status": "PERMISSION_DENIED"}, AuthError),
        (
            {
                "code": 400,
                "message": "The input token count (2) exceeds the maximum number",
                "status": "INVALID_ARGUMENT",
            },
            ContextOverflowError,
        ),
    ],
)
def test_errors_within_a_stream(error: Json, kind: type[ProviderError]) -> None:
    _fails(kind, _chunk(_text("half")), {"error": error})


@each("data", [b"{", b'{"candidates": 1}', b"hello", b"\xff", b"[" * 100_000, b'[{"candidates": 2}]'])
def test_what_cannot_be_read_is_quoted(data: bytes) -> None:
    with pytest.raises(MalformedStreamError, match="cannot be read"):
        GeminiParser(_PEER).accept(SseEvent("", data))


def test_a_stream_that_ends_without_a_reason_ended_early() -> None:
    parser = GeminiParser(_PEER)
    parser.accept(SseEvent("", msgspec.json.encode(_chunk(_text("half")))))

    with pytest.raises(MalformedStreamError, match="ended its answer before it was complete"):
        parser.finish()


def test_the_end_mark_of_proxies_is_one() -> None:
    parser = GeminiParser(_PEER)
    parser.accept(SseEvent("", msgspec.json.encode(_chunk(_text("all")))))
    parser.accept(SseEvent("", b"[DONE]"))
    parser.finish()

    assert parser.finished
    assert parser.drain()[-1] == StreamDone("stop")


@pytest.mark.parametrize("as_array", [False, True])
def test_a_reply_in_one_piece(as_array: bool) -> None:
    body: Json = _chunk(_text("hi"), finish="STOP")
    if as_array:
        body = [_chunk(_text("h")), _chunk(_text("i"), finish="STOP")]
    parser = GeminiParser(_PEER)

    parser.accept_whole(msgspec.json.encode(body))
    parser.finish()

    assert parser.finished
    assert _message(parser.drain()).text == "hi"


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"hello": "world"}', b"[1]"])
def test_a_body_that_is_no_reply(body: bytes) -> None:
    with pytest.raises(MalformedStreamError):
        GeminiParser(_PEER).accept_whole(body)


_PARTS = st.one_of(
    st.builds(_text, st.text(st.characters(codec="utf-8"), max_size=9)),
    st.builds(_thought, st.text(st.characters(codec="utf-8"), max_size=9)),
    st.builds(_call, st.sampled_from(["read", "bash"]), st.none() | st.sampled_from(["a", "b"])),
)


@given(st.lists(st.lists(_PARTS, max_size=3), max_size=5), st.sampled_from(["\n\n", "\r\n\r\n"]), st.data())
def test_cuts_anywhere_change_nothing(parts: list[list[Json]], line_end: str, data: st.DataObject) -> None:
    chunks = [*[_chunk(*some) for some in parts], _STOP]
    stream = b"".join(b"data: " + msgspec.json.encode(chunk) + line_end.encode() for chunk in chunks)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    parser, decoder = GeminiParser(_PEER, call_id_prefix="call_7"), SseDecoder()

    events: list[StreamEvent] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        for event in decoder.feed(stream[start:end]):
            parser.accept(event)
        events += parser.drain()
    parser.finish()
    events += parser.drain()

    assert _message(events).content == _message(_reply(*chunks)).content


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "candidates",
                        "content",
                        "parts",
                        "text",
                        "functionCall",
                        "args",
                        "error",
                        "promptFeedback",
                        "usageMetadata",
                        "finishReason",
                        "index",
                    ]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_server_sends_ends_in_a_reply_or_a_typed_error(payload: Json) -> None:
    parser = GeminiParser(_PEER)
    try:
        parser.accept(SseEvent("", msgspec.json.encode(payload)))
        parser.finish()
    except ProviderError:
        return
    assert isinstance(parser.drain()[-1], StreamDone)
