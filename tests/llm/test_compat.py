"""What each compatibility flag changes in what is sent, and what is known of servers by their address alone."""

from typing import get_args

import msgspec
import pytest

from kaa.core.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ThinkingLevel, ToolSchema
from kaa.llm.anthropic.request import messages_body, messages_request
from kaa.llm.catalogue import known_models, provider_names
from kaa.llm.compat import Compat, ThinkingFormat, compat_for
from kaa.llm.completions.request import completion_body, completion_request
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.wire import Endpoint
from tests.support.tables import each

_MODEL = Model("m", "p", "openai-completions", reasoning=True)
_TOOL = ToolSchema("read", "Reads", {"type": "object"})
_CALLED: tuple[Message, ...] = (
    UserMessage("q"),
    AssistantMessage((ToolCall("a", "read", {}),), "openai-completions", "p", "m", Usage(), "toolUse"),
    ToolResultMessage("a", "read", (TextContent("r"),), False),
)
# What a server nobody knows is sent, and nothing else.
_PLAIN = {"model", "stream", "stream_options", "max_tokens", "messages"}


def _body(
    compat: Json,
    messages: tuple[Message, ...] = (UserMessage("q"),),
    *,
    tools: tuple[ToolSchema, ...] = (),
    thinking: ThinkingLevel = "off",
    levels: dict[ThinkingLevel, str | None] | None = None,
) -> dict[str, Json]:
    endpoint = Endpoint("http://h/v1", compat=msgspec.convert(compat, Compat), thinking_levels=levels or {})
    return completion_body(Request(_MODEL, "", messages, tools=tools, thinking=thinking), endpoint)


def _added(compat: Json, **more: Json) -> dict[str, Json]:
    return {name: value for name, value in _body(compat, **more).items() if name not in _PLAIN}


def test_a_server_nobody_knows_gets_a_plain_request() -> None:
    request = Request(_MODEL, "be brief", _CALLED, tools=(_TOOL,), session_id="s-1")

    sent = completion_request(
        request, Endpoint("http://localhost:8080/v1", compat=compat_for("http://localhost:8080/v1"))
    )

    body = msgspec.json.decode(sent.body)
    assert set(body) == _PLAIN | {"tools"}
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert set(body["tools"][0]["function"]) == {"name", "description", "parameters"}
    assert {name for name, _ in sent.headers} == {"content-type", "accept"}


@pytest.mark.parametrize(
    ("compat", "added"),
    [
        ({"supportsStore": True}, {"store": False}),
        ({"openRouterRouting": {"order": ["a"], "zdr": True}}, {"provider": {"order": ["a"], "zdr": True}}),
        ({"vercelGatewayRouting": {"only": ["a"]}}, {"providerOptions": {"gateway": {"only": ["a"]}}}),
    ],
)
def test_what_a_server_takes_is_sent_to_it(compat: Json, added: Json) -> None:
    assert _added(compat) == added


def test_the_limit_and_the_usage_are_asked_for_as_the_server_wants() -> None:
    body = _body({"maxTokensField": "max_completion_tokens", "supportsUsageInStreaming": False})

    assert "max_completion_tokens" in body
    assert not {"max_tokens", "stream_options"} & set(body)


def test_tools_say_that_schemas_are_not_strict_and_stream_where_servers_take_that() -> None:
    body = _body({"supportsStrictMode": True, "zaiToolStream": True}, tools=(_TOOL,))

    assert body["tools"][0]["function"]["strict"] is False
    assert body["tool_stream"] is True
    assert "tool_stream" not in _body({"zaiToolStream": True})


def test_servers_that_want_tools_beside_results_get_an_empty_list() -> None:
    flag = {"requiresToolsWithToolHistory": True}

    assert _body(flag, _CALLED)["tools"] == []
    assert "tools" not in _body(flag)
    assert "tools" not in _body({}, _CALLED)


def test_servers_that_refuse_null_get_an_empty_text() -> None:
    assert _body({"requiresNonNullAssistantContent": True}, _CALLED)["messages"][1]["content"] == ""
    assert _body({}, _CALLED)["messages"][1]["content"] is None


_TEMPLATE = {
    "on": {"$var": "thinking.enabled"},
    "effort": {"$var": "thinking.effort", "omitWhenOff": True},
    "fixed": 7,
}


@each(
    ("compat", "level", "levels", "added"),
    [
        ({"thinkingFormat": "together"}, "off", {}, {"reasoning": {"enabled": False}}),
        ({"thinkingFormat": "deepseek"}, "high", {}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ({"thinkingFormat": "deepseek"}, "off", {"off": None}, {}),
        ({"thinkingFormat": "openrouter"}, "off", {"off": None}, {}),
        ({"thinkingFormat": "qwen"}, "low", {}, {"enable_thinking": True, "reasoning_effort": "low"}),
        ({"thinkingFormat": "string-thinking"}, "high", {"high": "deep"}, {"thinking": "deep"}),
        ({"thinkingFormat": "string-thinking"}, "off", {}, {"thinking": "none"}),
        ({"thinkingFormat": "ant-ling"}, "high", {}, {}),
        ({"thinkingFormat": "ant-ling"}, "high", {"high": "high"}, {"reasoning": {"effort": "high"}}),
        ({"thinkingFormat": "ant-ling"}, "off", {}, {}),
        (
            {"thinkingFormat": "chat-template", "chatTemplateKwargs": _TEMPLATE},
            "low",
            {},
            {"chat_template_kwargs": {"on": True, "effort": "low", "fixed": 7}},
        ),
        (
            {"thinkingFormat": "chat-template", "chatTemplateKwargs": _TEMPLATE},
            "off",
            {"off": "none"},
            {"chat_template_kwargs": {"on": False, "fixed": 7}},
        ),
        ({"thinkingFormat": "chat-template"}, "low", {}, {}),
        (
            {"thinkingFormat": "baseten", "chatTemplateArgs": {"enable_thinking": {"$var": "thinking.enabled"}}},
            "low",
            {},
            {"chat_template_args": {"enable_thinking": True}, "reasoning_effort": "low"},
        ),
        ({"thinkingFormat": "openai"}, "off", {"off": "none"}, {"reasoning_effort": "none"}),
    ],
)
def test_reasoning_is_switched_in_the_dialect_of_the_server(
    compat: Json, level: ThinkingLevel, levels: dict[ThinkingLevel, str | None], added: Json
) -> None:
    assert _added(compat, thinking=level, levels=levels) == added


@each("dialect", get_args(ThinkingFormat))
@each("level", get_args(ThinkingLevel))
def test_models_that_do_not_reason_are_sent_nothing_of_it(dialect: str, level: ThinkingLevel) -> None:
    plain = msgspec.structs.replace(_MODEL, reasoning=False)
    endpoint = Endpoint("http://h/v1", compat=msgspec.convert({"thinkingFormat": dialect}, Compat))

    assert set(completion_body(Request(plain, "", [UserMessage("q")], thinking=level), endpoint)) == _PLAIN


@each(
    ("compat", "names"),
    [
        ({}, set()),
        ({"sendSessionAffinityHeaders": True}, {"x-session-affinity"}),
        (
            {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": "openai"},
            {"session_id", "x-client-request-id", "x-session-affinity"},
        ),
        ({"sessionAffinityFormat": "openai-nosession"}, {"x-client-request-id", "x-session-affinity"}),
        (
            {"sessionAffinityFormat": "openai", "sendSessionIdHeader": False},
            {"x-client-request-id", "x-session-affinity"},
        ),
        ({"sendSessionIdHeader": True}, {"session_id", "x-client-request-id", "x-session-affinity"}),
        ({"sendSessionAffinityHeaders": True, "sessionAffinityFormat": "openrouter"}, {"x-session-id"}),
        ({"sessionHeader": "x-opencode-session"}, {"x-opencode-session"}),
    ],
)
def test_the_session_goes_into_the_headers_its_router_reads(compat: Json, names: set[str]) -> None:
    endpoint = Endpoint("http://h/v1", compat=msgspec.convert(compat, Compat))
    request = Request(_MODEL, "", [UserMessage("q")], session_id="s-1")

    for sent in (completion_request(request, endpoint), messages_request(request, endpoint)):
        assert {name for name, value in sent.headers if value == "s-1"} == names
    once = msgspec.structs.replace(request, once=True)
    assert not [name for name, value in completion_request(once, endpoint).headers if value == "s-1"]


def test_anthropic_streams_the_arguments_of_calls_early_and_imitators_are_not_asked_to() -> None:
    request = Request(_MODEL, "", [UserMessage("q")], tools=(_TOOL,))

    def tool(base_url: str) -> Json:
        return messages_body(request, Endpoint(base_url, compat=compat_for(base_url)))["tools"][0]

    assert tool("https://api.anthropic.com")["eager_input_streaming"] is True
    assert "eager_input_streaming" not in tool("https://api.minimax.io/anthropic")


@each(
    ("base_url", "flag", "value"),
    [
        ("https://api.openai.com/v1", "max_tokens_field", "max_completion_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens_field", "max_tokens"),
        ("https://openrouter.ai/api/v1", "session_affinity_format", "openrouter"),
        ("https://api.deepseek.com", "requires_reasoning_content_on_assistant_messages", True),
        ("https://gateway.ai.cloudflare.com/v1/a/b/openai", "supports_reasoning_effort", True),
        ("https://api.x.ai/v1", "supports_reasoning_effort", True),
        ("https://integrate.api.nvidia.com/v1", "supports_reasoning_effort", False),
        ("https://opencode.ai/inference/openai/v1", "session_header", "x-opencode-session"),
        ("https://api.x.ai/v1", "session_header", "x-grok-conv-id"),
        ("https://api.x.ai/v1", "send_prompt_cache_key", True),
        ("http://[", "supports_store", False),
    ],
)
def test_vendors_are_known_by_their_host(base_url: str, flag: str, value: Json) -> None:
    assert getattr(compat_for(base_url), flag) == value


@each("provider", sorted(BUILTINS))
def test_every_flag_of_the_catalogue_can_be_read(provider: str) -> None:
    assert provider in provider_names()
    for known in known_models(provider):
        base_url = known.base_url or BUILTINS[provider].base_url
        assert isinstance(compat_for(base_url, known.model.id, known.compat), Compat)


@pytest.mark.parametrize(
    ("model_id", "kept"),
    [("gpt-5.2", True), ("gpt-4.1", True), ("gpt-5.1-codex-mini", True), ("gpt-5-mini", False), ("gpt-4o", False)],
)
def test_only_openais_larger_models_keep_prompts_for_a_day(model_id: str, kept: bool) -> None:
    assert compat_for("https://api.openai.com/v1", model_id).supports_long_cache_retention is kept
