"""Servers that cut characters in two, or send bytes that are no text, in all wire formats."""

from collections.abc import Callable

import pytest

from kaa.core.errors import MalformedStreamError, ProviderError
from kaa.core.messages import AssistantMessage
from kaa.core.provider import Model
from kaa.core.reply import ReplyBuilder
from kaa.llm.anthropic.reply import MessageParser
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.gemini.reply import GeminiParser
from kaa.llm.http.sse import SseEvent
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.responses.reply import ResponseParser
from kaa.llm.wire import Peer

_PEER = Peer("p", "m", "host")
# By format: the parser, a delta of text with TEXT in it, and the end.
_FORMATS: dict[str, tuple[Callable[[Peer], ReplyParser], bytes, list[bytes]]] = {
    "completions": (
        CompletionParser,
        b'{"choices":[{"index":0,"delta":{"content":"TEXT"}}]}',
        [b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', b"[DONE]"],
    ),
    "anthropic": (
        MessageParser,
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}',
        [b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}', b'{"type":"message_stop"}'],
    ),
    "responses": (
        ResponseParser,
        b'{"type":"response.output_text.delta","output_index":0,"item_id":"i","delta":"TEXT"}',
        [b'{"type":"response.completed","response":{"status":"completed"}}'],
    ),
    "gemini": (
        GeminiParser,
        b'{"candidates":[{"content":{"parts":[{"text":"TEXT"}]}}]}',
        [b'{"candidates":[{"finishReason":"STOP"}]}'],
    ),
}


@pytest.fixture(params=_FORMATS)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _reply(wire: str, *pieces: bytes, at_once: bool = False) -> AssistantMessage:
    make, delta, ending = _FORMATS[wire]
    parser, builder = make(_PEER), ReplyBuilder(Model("m", "p", "api"))
    for data in [delta.replace(b"TEXT", piece) for piece in pieces] + ending:
        parser.accept(SseEvent("", data))
        for event in [] if at_once else parser.drain():
            builder.fold(event)
    parser.finish()
    for event in parser.drain():
        builder.fold(event)
    assert builder.stop_reason is not None
    return builder.message(builder.stop_reason)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((rb"a \ud83d", rb"\ude00 b"), "a 😀 b"),
        ((rb"\ud83d", rb"\ude00\ud83d", rb"\ude00"), "😀😀"),
        ((rb"a \ud83d", b"b"), "a \ufffdb"),
        ((rb"a \ud83d",), "a \ufffd"),
        ((rb"\ude00 a", rb"\\ud83d"), "\ufffd a\\ud83d"),
        ((b"a \xff b", b"c"), "a \ufffd bc"),
        ((b"\xf0\x9f\x98", b"ok"), "\ufffdok"),
        (("é 😀".encode(), rb" \ud83d\ude00"), "é 😀 😀"),
    ],
)
def test_halves_of_characters_are_joined_or_replaced(
    wire: str, pieces: tuple[bytes, ...], text: str, *, at_once: bool
) -> None:
    assert _reply(wire, *pieces, at_once=at_once).text == text


def test_what_is_no_json_for_another_reason_is_still_refused(wire: str) -> None:
    for broken in (b'\\ud83d", broken', b'\xff", broken', b'\\ud83d", "n": NaN, "m": "'):
        with pytest.raises(MalformedStreamError):
            _reply(wire, broken)


@pytest.mark.parametrize(
    ("wire_name", "event"),
    [
        (
            "completions",
            rb'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":'
            rb'{"name":"echo","arguments":{"text":"a\ud83d"}}}]},"finish_reason":"tool_calls"}]}',
        ),
        (
            "anthropic",
            rb'{"type":"content_block_start","index":0,"content_block":'
            rb'{"type":"tool_use","id":"c","name":"echo","input":{"text":"a\ud83d"}}}',
        ),
        (
            "responses",
            rb'{"type":"response.output_item.done","output_index":0,"item":'
            rb'{"type":"function_call","id":"f","call_id":"c","name":"echo","arguments":"{\"text\":\"a\\ud83d\"}"}}',
        ),
        (
            "gemini",
            rb'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"echo","args":{"text":"a\ud83d"}}}]}}]}',
        ),
    ],
)
def test_arguments_of_calls_are_replaced_too(wire_name: str, event: bytes) -> None:
    make, _, ending = _FORMATS[wire_name]
    parser, builder = make(_PEER), ReplyBuilder(Model("m", "p", "api"))
    for data in (event, *ending):
        parser.accept(SseEvent("", data))
    parser.finish()
    for change in parser.drain():
        builder.fold(change)

    (call,) = builder.message("toolUse").tool_calls
    assert (call.name, call.arguments, call.arguments_error) == ("echo", {"text": "a\ufffd"}, None)


def test_an_error_is_read_whatever_its_text_is(wire: str) -> None:
    make, _, _ = _FORMATS[wire]

    with pytest.raises(ProviderError, match="the server is full"):
        make(_PEER).accept(SseEvent("error", rb'{"type":"error","error":{"message":"the server is full \ud83d"}}'))
