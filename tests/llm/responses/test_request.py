"""What is sent as Responses. That OpenAI accepts it is judged by its SDK next door."""

from typing import Literal

import msgspec
import pytest

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ThinkingLevel, ToolSchema
from kaa.llm.compat import Compat, compat_for
from kaa.llm.responses.request import responses_body, responses_request
from kaa.llm.tuning import Tuning
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_SEES: tuple[Literal["text", "image"], ...] = ("text", "image")
_MODEL = Model("m", "openai", "openai-responses", reasoning=True, input=_SEES, max_tokens=32_000)
_BLIND = msgspec.structs.replace(_MODEL, input=("text",))
_PLAIN = msgspec.structs.replace(_MODEL, reasoning=False)
_OFFICIAL = "https://api.openai.com/v1"
_OPENAI = Endpoint(_OFFICIAL, "key", compat=compat_for(_OFFICIAL))
_UNKNOWN = Endpoint("http://localhost:8080/v1")
_IMAGE = ImageContent("aGk=", "image/png")
_SHOWN = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}
_REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "c2VhbGVk",
}


def _signed(item: Json) -> ThinkingContent:
    return ThinkingContent("hm", msgspec.json.encode(item).decode())


def _assistant(*content: AssistantContent, model: Model = _MODEL) -> AssistantMessage:
    return AssistantMessage(content, model.api, model.provider, model.id, Usage(), "stop", timestamp=1)


def _result(call_id: str, *content: TextContent | ImageContent) -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", content, False)


def _input(*messages: Message, model: Model = _MODEL) -> list[Json]:
    items: list[Json] = responses_body(Request(model, "", messages), _OPENAI)["input"]
    return items


def _asked(endpoint: Endpoint = _OPENAI, level: ThinkingLevel = "medium", model: Model = _MODEL) -> dict[str, Json]:
    return responses_body(Request(model, "Be brief.", [UserMessage("q")], thinking=level, session_id="s-1"), endpoint)


def test_the_whole_request() -> None:
    request = Request(
        _MODEL,
        "Be brief.",
        [UserMessage("q")],
        [ToolSchema("read", "Reads", {"type": "object"})],
        thinking="low",
        session_id="s-1",
        max_tokens=5000,
    )

    sent = responses_request(request, _OPENAI)

    assert (sent.method, sent.url) == ("POST", "https://api.openai.com/v1/responses")
    assert ("authorization", "Bearer key") in sent.headers
    body = msgspec.json.decode(sent.body)
    assert list(body)[-1] == "input"
    assert body == {
        "model": "m",
        "stream": True,
        "store": False,
        "prompt_cache_key": "s-1",
        "max_output_tokens": 5000,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
        ],
    }


def test_a_server_nobody_knows_gets_nothing_only_openai_understands() -> None:
    body = _asked(_UNKNOWN)

    assert body["input"][0] == {"role": "system", "content": "Be brief."}
    assert "prompt_cache_key" not in body
    assert body["store"] is False  # part of the format: nobody shall keep the conversation


@each(
    ("level", "levels", "compat", "reasoning"),
    [
        ("off", {}, Compat(), {"effort": "none"}),
        ("minimal", {}, Compat(), {"effort": "minimal", "summary": "auto"}),
        ("xhigh", {}, Compat(), {"effort": "high", "summary": "auto"}),
        ("xhigh", {"xhigh": "xhigh"}, Compat(), {"effort": "xhigh", "summary": "auto"}),
        ("off", {"off": None}, Compat(), {"summary": "auto"}),
        ("off", {"off": "minimal"}, Compat(), {"effort": "minimal", "summary": "auto"}),
        ("high", {}, Compat(supports_reasoning_effort=False), {"summary": "auto"}),
    ],
)
def test_thinking_levels(
    level: ThinkingLevel, levels: dict[ThinkingLevel, str | None], compat: Compat, reasoning: Json
) -> None:
    body = _asked(Endpoint("http://h", compat=compat, thinking_levels=levels), level)

    assert body["reasoning"] == reasoning
    assert body["include"] == ["reasoning.encrypted_content"]


def test_models_without_reasoning_are_asked_for_none() -> None:
    body = _asked(level="high", model=_PLAIN)

    assert not {"reasoning", "include"} & body.keys()
    assert body["input"][0]["role"] == "system"


def test_prompts_are_kept_as_long_as_the_user_wants() -> None:
    compat = compat_for(_OFFICIAL, "gpt-5.2")

    def kept(tuning: Tuning) -> tuple[Json, Json]:
        body = _asked(Endpoint(_OFFICIAL, compat=compat, tuning=tuning))
        return body.get("prompt_cache_key"), body.get("prompt_cache_retention")

    assert kept(Tuning("short")) == ("s-1", None)
    assert kept(Tuning("long")) == ("s-1", "24h")
    assert kept(Tuning("none")) == (None, None)


def test_models_that_charge_for_the_cache_write_nothing_that_is_not_wanted() -> None:
    compat = compat_for(_OFFICIAL, "gpt-6-sol", {"supportsExplicitPromptCacheMode": True})

    def options(tuning: Tuning, *, once: bool = False) -> tuple[Json, bool]:
        request = Request(_MODEL, "", [UserMessage("q")], session_id="s-1", once=once)
        body = responses_body(request, Endpoint(_OFFICIAL, compat=compat, tuning=tuning))
        return body.get("prompt_cache_options"), "prompt_cache_retention" in body

    assert options(Tuning("short")) == (None, False)
    assert options(Tuning("long")) == (None, False)
    assert options(Tuning("none")) == ({"mode": "explicit"}, False)
    assert options(Tuning("short"), once=True) == ({"mode": "explicit"}, False)


def test_replies_are_never_limited_below_what_openai_takes() -> None:
    body = responses_body(Request(_MODEL, "", [UserMessage("q")], max_tokens=3), _OPENAI)

    assert body["max_output_tokens"] == 16


def test_images_are_shown_by_users_and_by_tools() -> None:
    call = _assistant(ToolCall("c", "read", {}))

    shown = _input(UserMessage((TextContent("see"), _IMAGE)), call, _result("c", TextContent("a.png"), _IMAGE))
    told = _input(UserMessage((TextContent("see"), _IMAGE)), call, _result("c", _IMAGE), model=_BLIND)

    note = "(image omitted: no images can be sent to this model)"
    assert shown[0]["content"] == [{"type": "input_text", "text": "see"}, _SHOWN]
    assert shown[2]["output"] == [{"type": "input_text", "text": "a.png"}, _SHOWN]
    assert told[0]["content"][1]["text"] == note
    assert told[2]["output"] == note


def test_a_reply_goes_back_to_its_model_as_it_came() -> None:
    reply = _assistant(
        _signed(_REASONING),
        TextContent("yes", '{"v":1,"id":"msg_1","phase":"final_answer"}'),
        ToolCall("call_1|fc_1", "read", {"p": 1}),
    )

    assert _input(reply, _result("call_1|fc_1", TextContent("done"))) == [
        _REASONING,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "yes", "annotations": []}],
            "phase": "final_answer",
        },
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"p":1}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    ]


@pytest.mark.parametrize("call_id", ["call_1", "call_1|fc_" + "x" * 400, "call_1|it.em", "toolu_1"])
def test_calls_without_an_id_that_openai_takes_have_none(call_id: str) -> None:
    assert "id" not in _input(_assistant(_signed(_REASONING), ToolCall(call_id, "read", {})))[1]


def test_calls_whose_reasoning_is_not_sent_do_not_ask_for_it() -> None:
    """OpenAI knows by the id which reasoning a call came of, and refuses it without."""
    assert "id" not in _input(_assistant(ToolCall("call_1|fc_1", "read", {})))[0]


def test_replies_of_other_models_come_as_text_under_new_names() -> None:
    other = msgspec.structs.replace(_MODEL, id="other")
    reply = _assistant(_signed(_REASONING), TextContent("yes", '{"v":1,"id":"msg_1"}'), model=other)

    items = _input(reply)

    assert [item["content"][0]["text"] for item in items] == ["hm", "yes"]
    assert len({item["id"] for item in items} | {"msg_1"}) == 3


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "id": "rs_1", "summary": []},  # its server has kept the rest, or has not
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": ""},
        {"type": "message", "encrypted_content": "x"},
        ["reasoning"],
    ],
)
def test_reasoning_that_says_nothing_by_itself_is_left_out(item: Json) -> None:
    assert [item["type"] for item in _input(_assistant(_signed(item), TextContent("yes")))] == ["message"]


def test_reasoning_with_a_broken_signature_is_left_out() -> None:
    broken = (ThinkingContent("hm", "reasoning_content"), ThinkingContent("hm", '{"type": "rea'))

    assert [item["type"] for item in _input(_assistant(*broken, TextContent("yes")))] == ["message"]


def test_reasoning_in_the_open_is_sent_back_as_such() -> None:
    """As llama.cpp and vLLM give it; they refuse an item without `content`."""
    item = {"type": "reasoning", "id": "rs", "content": [{"type": "reasoning_text", "text": "hm"}], "summary": []}

    [sent, _] = _input(_assistant(_signed(item | {"status": None, "encrypted_content": ""}), TextContent("yes")))

    assert sent == item


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    assert _input(_assistant(_signed(_REASONING))) == []
    assert len(_input(_assistant(_signed(_REASONING), TextContent("yes"), _signed(_REASONING)))) == 2


def test_names_openai_would_refuse_are_made_fit_and_stay_different() -> None:
    calls = [ToolCall(f"toolu:{'x' * 80}{end}", "read", {}) for end in "ab"]
    results = [_result(call.id, TextContent("r")) for call in calls]
    long_id = TextContent("yes", f'{{"v":1,"id":"msg_{"y" * 80}"}}')

    items = _input(_assistant(*calls, long_id), *results)

    names = [item["call_id"] for item in items if "call_id" in item]
    assert names[:2] == names[2:]
    assert len(set(names)) == 2
    assert all(len(name) <= 64 for name in (*names, items[2]["id"]))


@each("signature", [None, "", "{}", '{"v":2,"id":"x"}', '{"v":1', '{"v":1,"id":""}'])
def test_messages_without_a_name_are_given_one_that_stays(signature: str | None) -> None:
    said = TextContent("a", signature)
    first = _input(_assistant(said, said))
    later = _input(_assistant(said, said), UserMessage("q"), _assistant(said))

    assert later[:2] == first
    assert len({item["id"] for item in later if "id" in item}) == 3
    assert all("phase" not in item for item in later)


def test_sessions_of_pi_are_continued() -> None:
    """Its old text signatures are bare ids, and a phase it does not know is not passed on."""
    reply = _assistant(TextContent("a", "msg_0a"), TextContent("b", '{"v":1,"id":"msg_0b","phase":"later"}'))

    assert [(item["id"], "phase" in item) for item in _input(reply)] == [("msg_0a", False), ("msg_0b", False)]


def test_what_says_nothing_is_left_out() -> None:
    assert _input(UserMessage((TextContent(" "),)), _assistant(TextContent("\n"))) == []
    assert _input(_assistant(ToolCall("c", "read", {})), _result("c"))[1]["output"] == "(no output)"
