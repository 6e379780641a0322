"""Reasoning that goes back to OpenRouter as it came."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import AssistantMessage, Json, Message, ThinkingContent, UserMessage
from kaa.core.provider import Model, Request
from kaa.core.reply import ReplyBuilder
from kaa.llm.completions.reply import CompletionParser
from kaa.llm.completions.request import completion_body
from kaa.llm.http.sse import SseEvent
from kaa.llm.wire import Endpoint, Peer

_MODEL = Model("google/gemini-3-pro", "openrouter", "openai-completions", reasoning=True)
_CALL: Json = {"index": 0, "id": "call_1", "function": {"name": "read", "arguments": "{}"}}


def _reply(*deltas: Json, model: Model = _MODEL) -> AssistantMessage:
    parser = CompletionParser(Peer("openrouter", "m", "openrouter.ai"))
    builder = ReplyBuilder(model)
    for delta in deltas:
        parser.accept(SseEvent("", msgspec.json.encode({"choices": [{"index": 0, "delta": delta}]})))
    parser.accept(SseEvent("", b"[DONE]"))
    parser.finish()
    for event in parser.drain():
        builder.fold(event)
    return builder.message("toolUse")


def _sent_again(message: Message, model: Model = _MODEL) -> Json:
    body = completion_body(Request(model, "", [UserMessage("q"), message]), Endpoint("https://openrouter.ai/api/v1"))
    return body["messages"][1]


def test_pieces_go_back_joined_and_sealed_entries_as_they_are() -> None:
    sealed = {"type": "reasoning.encrypted", "data": "c2Vh", "id": "call_1", "format": "google-gemini-v1", "index": 1}

    sent = _sent_again(
        _reply(
            {"reasoning": "I ", "reasoning_details": [{"type": "reasoning.text", "text": "I ", "index": 0}]},
            {"reasoning": "read", "reasoning_details": [{"type": "reasoning.text", "text": "read", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "s1", "index": 0}]},
            {"tool_calls": [_CALL], "reasoning_details": [sealed]},
        )
    )

    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "text": "I read", "index": 0, "signature": "s1"},
        sealed,
    ]
    assert "reasoning" not in sent


def test_sealed_reasoning_without_words_is_kept() -> None:
    sealed = {"type": "reasoning.encrypted", "data": "c2Vh"}

    assert _sent_again(_reply({"tool_calls": [_CALL], "reasoning_details": [sealed]}))["reasoning_details"] == [sealed]


def test_other_models_are_told_in_words() -> None:
    details = [{"type": "reasoning.text", "text": "hm"}]

    sent = _sent_again(_reply({"reasoning": "hm", "reasoning_details": details}), Model("other", "p", _MODEL.api))

    assert sent == {"role": "assistant", "content": "hm"}


@pytest.mark.parametrize("signature", ["[", "[" * 5000, "{}", "reasoning", '["x"'])
def test_what_a_session_has_instead_is_no_reason_to_stop(signature: str) -> None:
    message = _reply({"content": "yes"})
    message = msgspec.structs.replace(message, content=(ThinkingContent("hm", signature), *message.content))

    assert "reasoning_details" not in _sent_again(message)


_ANY: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "summary", "data", "index"]), inner, max_size=4)
    ),
    max_leaves=8,
)
_TYPED = st.fixed_dictionaries({"type": st.sampled_from(["reasoning.text", "reasoning.summary", "x"]), "text": _ANY})


@given(st.lists(_ANY | st.lists(_TYPED, max_size=4), max_size=4))
def test_whatever_a_server_sends_the_reply_can_be_sent_again(details: list[Json]) -> None:
    message = _reply(*({"reasoning_details": one} for one in details), {"content": "yes"})

    assert _sent_again(message)["content"] == "yes"
