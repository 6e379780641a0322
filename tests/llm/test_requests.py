"""What the two wire formats make of a conversation. That vendors accept it is judged by their SDKs elsewhere."""

import re
from typing import Literal

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
from kaa.llm.anthropic.request import messages_body, messages_request
from kaa.llm.compat import Compat, compat_for
from kaa.llm.completions.request import completion_body, completion_request
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_IMAGE = ImageContent("aGk=", "image/png")
_SEES: tuple[Literal["text", "image"], ...] = ("text", "image")
_MODEL = Model("m", "p", "a", reasoning=True, input=_SEES, max_tokens=32_000)
_BLIND = Model("m", "p", "a")
_MARK = {"type": "ephemeral"}


def _assistant(*content: AssistantContent, model: str = "m") -> AssistantMessage:
    return AssistantMessage(content, "a", "p", model, Usage(), "stop")


def _result(call_id: str, *content: TextContent | ImageContent, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(call_id, "read", content, is_error)


def _openai(*messages: Message, model: Model = _MODEL, compat: Compat | None = None) -> list[Json]:
    endpoint = Endpoint("http://localhost/v1", compat=compat or Compat())
    body: list[Json] = completion_body(Request(model, "", messages), endpoint)["messages"]
    return body


def _anthropic(*messages: Message, model: Model = _MODEL, compat: Compat | None = None) -> list[Json]:
    """Without the marks, whose place has its own test."""
    endpoint = Endpoint("https://api.anthropic.com", compat=compat or Compat())
    body: list[Json] = messages_body(Request(model, "", messages), endpoint)["messages"]
    for message in body:
        message["content"][-1].pop("cache_control", None)
    return body


def test_openai_user_text_is_plain_and_images_are_parts() -> None:
    assert _openai(UserMessage("hi")) == [{"role": "user", "content": "hi"}]
    assert _openai(UserMessage((TextContent("a"), TextContent("b")))) == [{"role": "user", "content": "a\nb"}]
    parts = _openai(UserMessage((TextContent("see"), _IMAGE)))[0]["content"]
    assert parts == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]


def test_models_that_see_nothing_are_told_of_images() -> None:
    user, result = UserMessage((TextContent("see"), _IMAGE)), _result("c", _IMAGE)
    call = _assistant(ToolCall("c", "read", {}))

    note = "(image omitted: no images can be sent to this model)"
    openai = _openai(user, call, result, model=_BLIND)
    anthropic = _anthropic(user, call, result, model=_BLIND)

    assert openai[0]["content"] == f"see\n{note}"
    assert [message["content"] for message in openai if message["role"] == "tool"] == [note]
    assert anthropic[0]["content"][1]["text"] == note
    assert anthropic[2]["content"][0]["content"] == [{"type": "text", "text": note}]


def test_openai_images_of_tool_results_follow_after_all_results() -> None:
    calls = _assistant(ToolCall("a", "read", {}), ToolCall("b", "read", {}))

    messages = _openai(
        UserMessage("q"), calls, _result("a", _IMAGE), _result("b", TextContent("t"), _IMAGE), UserMessage("more")
    )

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[2]["content"] == "(see the attached image)"
    assert messages[3]["content"] == "t"
    assert [part["type"] for part in messages[4]["content"]] == ["text", "image_url", "image_url"]


def test_openai_tool_calls_come_with_the_text_of_their_reply() -> None:
    messages = _openai(
        UserMessage("q"), _assistant(TextContent("ok"), ToolCall("a", "read", {"p": 1})), _result("a", TextContent("r"))
    )

    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"p":1}'}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]


def test_openai_reasoning_returns_to_its_model_in_its_field_and_to_others_as_text() -> None:
    reply = _assistant(ThinkingContent("hm", "reasoning_content"), TextContent("yes"))
    foreign = _assistant(ThinkingContent("hm", "reasoning_content"), TextContent("yes"), model="other")
    encrypted = _assistant(ThinkingContent("", "x", redacted=True), TextContent("yes"))

    assert _openai(reply) == [{"role": "assistant", "content": "yes", "reasoning_content": "hm"}]
    assert _openai(foreign) == [{"role": "assistant", "content": "hm\nyes"}]
    assert _openai(encrypted) == [{"role": "assistant", "content": "yes"}]
    assert _openai(reply, compat=Compat(requires_thinking_as_text=True))[0]["content"] == "hm\nyes"


def test_openai_compat_of_servers_with_wishes() -> None:
    compat = Compat(
        requires_tool_result_name=True,
        requires_assistant_after_tool_result=True,
        requires_reasoning_content_on_assistant_messages=True,
    )

    messages = _openai(
        _assistant(ToolCall("a", "read", {})), _result("a", TextContent("r")), UserMessage("q"), compat=compat
    )

    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "user"]
    assert messages[0]["reasoning_content"] == ""
    assert messages[1]["name"] == "read"


@each(
    ("compat", "level", "expected"),
    [
        (Compat(), "off", {}),
        (Compat(), "minimal", {"reasoning_effort": "minimal"}),
        (Compat(), "xhigh", {"reasoning_effort": "high"}),
        (Compat(supports_reasoning_effort=False), "high", {}),
        (Compat(thinking_format="openrouter"), "low", {"reasoning": {"effort": "low"}}),
        (Compat(thinking_format="openrouter"), "off", {"reasoning": {"effort": "none"}}),
        (Compat(thinking_format="together"), "low", {"reasoning": {"enabled": True}, "reasoning_effort": "low"}),
        (Compat(thinking_format="deepseek"), "off", {"thinking": {"type": "disabled"}}),
        (
            Compat(thinking_format="zai", supports_reasoning_effort=False),
            "low",
            {"thinking": {"type": "enabled", "clear_thinking": False}},
        ),
        (Compat(thinking_format="qwen"), "off", {"enable_thinking": False}),
        (
            Compat(thinking_format="qwen-chat-template"),
            "low",
            {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}},
        ),
        (
            Compat(thinking_format="baseten"),
            "low",
            {"chat_template_args": {"enable_thinking": True}, "reasoning_effort": "low"},
        ),
        (Compat(thinking_format="baseten"), "off", {"chat_template_args": {"enable_thinking": False}}),
        (Compat(thinking_format="ant-ling"), "low", {}),
        (Compat(thinking_format="ant-ling"), "off", {}),
    ],
)
def test_openai_thinking_levels(compat: Compat, level: ThinkingLevel, expected: Json) -> None:
    request = Request(_MODEL, "", [UserMessage("q")], thinking=level)

    body = completion_body(request, Endpoint("http://h", compat=compat))

    fixed = {"model", "stream", "stream_options", "max_tokens", "messages"}
    assert {key: value for key, value in body.items() if key not in fixed} == expected


def test_a_model_may_name_its_levels() -> None:
    request = Request(_MODEL, "", [UserMessage("q")], thinking="xhigh")

    body = completion_body(request, Endpoint("http://h", thinking_levels={"xhigh": "extreme"}))

    assert body["reasoning_effort"] == "extreme"


def test_models_without_reasoning_are_sent_no_level() -> None:
    request = Request(_BLIND, "", [UserMessage("q")], thinking="high")

    assert "reasoning_effort" not in completion_body(request, Endpoint("http://h"))
    assert "thinking" not in messages_body(request, Endpoint("http://h"))


def test_openrouter_marks_the_cache_of_anthropic_models() -> None:
    endpoint = Endpoint("http://h", compat=Compat(cache_control_format="anthropic"))
    tools = [ToolSchema("a", "", {}), ToolSchema("b", "", {})]
    request = Request(_MODEL, "sys", [UserMessage("one"), _assistant(TextContent("x")), UserMessage("two")], tools)

    body = completion_body(request, endpoint)

    assert [("cache_control" in tool) for tool in body["tools"]] == [False, True]
    marked = [m["role"] for m in body["messages"] if isinstance(m["content"], list)]
    assert marked == ["system", "user", "user"]
    assert body["messages"][-1]["content"] == [{"type": "text", "text": "two", "cache_control": _MARK}]


def test_the_session_routes_to_its_cache_only_where_understood() -> None:
    request = Request(_MODEL, "", [UserMessage("q")], session_id="s-1")
    fireworks = "https://api.fireworks.ai/inference/v1"

    openai = completion_body(
        request, Endpoint("https://api.openai.com/v1", compat=compat_for("https://api.openai.com"))
    )
    affine = completion_request(request, Endpoint(fireworks, compat=compat_for(fireworks)))

    assert openai["prompt_cache_key"] == "s-1"
    assert ("x-session-affinity", "s-1") in affine.headers


def test_anthropic_results_of_one_reply_are_one_message() -> None:
    calls = _assistant(ToolCall("a", "read", {"p": 1}), ToolCall("b", "read", {}))

    messages = _anthropic(
        UserMessage("q"), calls, _result("a", TextContent("r")), _result("b", is_error=True), UserMessage("more")
    )

    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert messages[1]["content"][0] == {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}}
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "r"}]},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "(no output)"}],
            "is_error": True,
        },
    ]


def test_anthropic_images_stay_where_they_are() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}

    messages = _anthropic(UserMessage((_IMAGE,)), _assistant(ToolCall("a", "read", {})), _result("a", _IMAGE))

    assert messages[0]["content"] == [{"type": "image", "source": source}]
    assert messages[2]["content"][0]["content"] == [{"type": "image", "source": source}]


def test_anthropic_thinking_returns_only_to_its_model_and_only_signed() -> None:
    signed, unsigned = ThinkingContent("hm", "c2ln"), ThinkingContent("hm")
    encrypted = ThinkingContent("", "ZW5j", redacted=True)

    def content(block: ThinkingContent, model: str = "m", compat: Compat | None = None) -> Json:
        return _anthropic(_assistant(block, TextContent("yes"), model=model), compat=compat)[0]["content"][:-1]

    assert content(signed) == [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
    assert content(encrypted) == [{"type": "redacted_thinking", "data": "ZW5j"}]
    assert content(unsigned) == [{"type": "text", "text": "hm"}]
    assert content(unsigned, compat=Compat(allow_empty_signature=True)) == [
        {"type": "thinking", "thinking": "hm", "signature": ""}
    ]
    assert content(signed, model="other") == [{"type": "text", "text": "hm"}]
    assert content(encrypted, model="other") == []


def test_anthropic_marks_system_tools_and_the_last_two_user_turns() -> None:
    tools = [ToolSchema("a", "", {}), ToolSchema("b", "", {})]
    history: list[Message] = [
        UserMessage("one"),
        _assistant(ToolCall("a", "read", {})),
        _result("a", TextContent("r")),
        _assistant(TextContent("x")),
        UserMessage((TextContent("two"), TextContent("three"))),
    ]

    body = messages_body(Request(_MODEL, "sys", history, tools), Endpoint("https://api.anthropic.com"))

    assert body["system"] == [{"type": "text", "text": "sys", "cache_control": _MARK}]
    assert [("cache_control" in tool) for tool in body["tools"]] == [False, True]
    marked = [[("cache_control" in block) for block in message["content"]] for message in body["messages"]]
    assert marked == [[False], [False], [True], [False], [False, True]]


@each(
    ("model_id", "adaptive"),
    [
        ("claude-opus-4-6", True),
        ("us.anthropic.claude-sonnet-4-6-v1:0", True),
        ("anthropic/claude-opus-4.7", True),
        ("claude-opus-5", True),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-7-sonnet-20250219", False),
        ("some-other-model", False),
    ],
)
def test_newer_models_decide_how_long_they_think(model_id: str, adaptive: bool) -> None:
    model = Model(model_id, "p", "a", reasoning=True, max_tokens=32_000)

    body = messages_body(Request(model, "", [UserMessage("q")], thinking="medium"), Endpoint("http://h"))

    if adaptive:
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": "medium"}
    else:
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 8192}


@pytest.mark.parametrize(
    ("model_id", "level", "effort"),
    [
        ("claude-opus-4-6", "minimal", "low"),
        ("claude-opus-4-6", "xhigh", "high"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-opus-4-6", "max", "max"),
    ],
)
def test_anthropic_effort(model_id: str, level: ThinkingLevel, effort: str) -> None:
    model = Model(model_id, "p", "a", reasoning=True)

    body = messages_body(Request(model, "", [UserMessage("q")], thinking=level), Endpoint("http://h"))

    assert body["output_config"] == {"effort": effort}


@pytest.mark.parametrize(("max_tokens", "budget"), [(64_000, 16_384), (4096, 3072), (2048, 1024), (2000, None)])
def test_a_budget_leaves_room_for_the_answer(max_tokens: int, budget: int | None) -> None:
    model = Model("claude-opus-4-5", "p", "a", reasoning=True, max_tokens=max_tokens)

    body = messages_body(Request(model, "", [UserMessage("q")], thinking="high"), Endpoint("http://h"))

    assert body.get("thinking", {}).get("budget_tokens") == budget


def test_only_anthropic_itself_is_asked_to_think_between_tool_calls() -> None:
    request = Request(_MODEL, "", [UserMessage("q")], thinking="high")

    anthropic = dict(messages_request(request, Endpoint("https://api.anthropic.com")).headers)
    other = dict(messages_request(request, Endpoint("http://localhost:1")).headers)

    assert anthropic["anthropic-beta"].startswith("interleaved-thinking")
    assert "anthropic-beta" not in other


@pytest.mark.parametrize("base", ["http://h", "http://h/", "http://h/v1", "http://h/v1/"])
def test_anthropic_base_urls_with_and_without_version(base: str) -> None:
    request = Request(_MODEL, "", [UserMessage("q")])

    assert messages_request(request, Endpoint(base)).url == "http://h/v1/messages"


@pytest.mark.parametrize(("asked", "sent"), [(None, 32_000), (500, 500), (99_000, 32_000)])
def test_a_reply_can_be_limited_but_not_beyond_the_models_own_limit(asked: int | None, sent: int) -> None:
    request = Request(_MODEL, "", (UserMessage("hi"),), max_tokens=asked)

    assert messages_body(request, Endpoint("https://api.anthropic.com"))["max_tokens"] == sent
    openai = completion_body(request, Endpoint("http://localhost/v1"))
    assert openai[Compat().max_tokens_field] == sent


def test_thinking_comes_out_of_the_limit_of_the_reply() -> None:
    thinking: ThinkingLevel = "high"
    request = Request(_MODEL, "", (UserMessage("hi"),), thinking=thinking, max_tokens=4_096)

    body = messages_body(request, Endpoint("https://api.anthropic.com"))

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4_096 - 1_024}


def test_no_cache_is_paid_for_what_is_sent_once() -> None:
    tools = (ToolSchema("t", "d", {}),)
    request = Request(_MODEL, "system", (UserMessage("hi"),), tools, once=True)
    openrouter = Compat(cache_control_format="anthropic")

    bodies = (
        messages_body(request, Endpoint("https://api.anthropic.com")),
        completion_body(request, Endpoint("http://localhost/v1", compat=openrouter)),
    )

    assert all("cache_control" not in str(body) for body in bodies)


def test_mistral_is_given_ids_and_fields_that_it_takes() -> None:
    compat = compat_for("https://api.mistral.ai/v1")
    model = Model("devstral-latest", "mistral", "openai-completions")
    history: list[Message] = [
        UserMessage("q"),
        _assistant(ToolCall("call_0fypS1hVX", "read", {}), ToolCall("D681PevKs", "read", {})),
        _result("call_0fypS1hVX", TextContent("a")),
        _result("D681PevKs", TextContent("b")),
    ]

    body = completion_body(Request(model, "", history), Endpoint("https://api.mistral.ai/v1", compat=compat))

    _, asked, first, second = body["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert all(re.fullmatch("[A-Za-z0-9]{9}", one) for one in ids)
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert ids[1] == "D681PevKs"
    assert "stream_options" not in body


def test_names_that_a_model_made_up_are_sent_as_vendors_take_them() -> None:
    call = ToolCall("a", "read file!", {})
    nameless = ToolCall("b", "", {})

    chat = _openai(UserMessage("q"), _assistant(call, nameless))[1]["tool_calls"]
    messages = _anthropic(UserMessage("q"), _assistant(call, nameless))[1]["content"]

    assert [one["function"]["name"] for one in chat] == ["read_file_", "unnamed"]
    assert [one["name"] for one in messages] == ["read_file_", "unnamed"]


@pytest.mark.parametrize(
    ("host", "filler"), [("api.moonshot.ai", " "), ("api.kimi.com", " "), ("api.deepseek.com", "")]
)
def test_models_that_miss_the_reasoning_of_other_models_are_given_none(host: str, filler: str) -> None:
    compat = compat_for(f"https://{host}/v1")

    call = _openai(UserMessage("q"), _assistant(ToolCall("a", "read", {}), model="other"), compat=compat)[1]
    thought = ThinkingContent("hm", "reasoning_content")
    own = _openai(UserMessage("q"), _assistant(thought, ToolCall("a", "read", {})), compat=compat)[1]

    assert call["reasoning_content"] == filler
    assert own["reasoning_content"] == "hm"
