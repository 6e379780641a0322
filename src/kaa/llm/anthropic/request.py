"""Requests to Anthropic's Messages.

Format: https://platform.claude.com/docs/en/api/messages. The messages come last in the body; but for the
cache marks, which must move, each request of a conversation begins, byte for byte, with the one before.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ThinkingLevel, ToolSchema
from kaa.llm.cache_marks import cache_mark, marked_positions
from kaa.llm.compat import Compat, routing_fields
from kaa.llm.handoff import made_by, portable_id, portable_name, thinking_as_text, visible_parts
from kaa.llm.http.transport import HttpRequest
from kaa.llm.rendering import JsonObject, RenderedOnce, RequestRenderer, deferred_tools, found_tools
from kaa.llm.tuning import BUDGET_TOKENS, SMALLEST_ANSWER_TOKENS
from kaa.llm.unicode_text import clean, clean_json
from kaa.llm.wire import Endpoint

_VERSION: Final = "2023-06-01"
# Lets models that think by budget also think between tool calls.
_INTERLEAVED_THINKING: Final = "interleaved-thinking-2025-05-14"


class AnthropicConcessions(msgspec.Struct, frozen=True):
    """What a server is not asked for, because it refused that before.

    Attributes:
        unreadable: signatures of reasoning that is not sent again.
        adaptive_only: the model decides how long it thinks, and cannot be kept from it.
    """

    unreadable: frozenset[str] = frozenset()
    adaptive_only: bool = False


_NONE_MADE: Final = AnthropicConcessions()


def renderer(compat: Compat, unreadable: frozenset[str] = frozenset()) -> RequestRenderer:
    """Renders messages and tools; worth keeping from request to request.

    Args:
        unreadable: signatures of reasoning that is not to be sent.
    """
    return RequestRenderer(
        messages=RenderedOnce(lambda message, model: _rendered(message, model, compat, unreadable)),
        tools=RenderedOnce(lambda tool, _model: _tool(tool, compat)),
    )


def messages_request(
    request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None, made: AnthropicConcessions = _NONE_MADE
) -> HttpRequest:
    """The HTTP request that asks for one streamed reply; for `kept` and `made` see `messages_body`."""
    body = messages_body(request, endpoint, kept, made)
    own = [("anthropic-version", _VERSION)]
    if "budget_tokens" in body.get("thinking", {}) and endpoint.host.endswith("anthropic.com"):
        own.append(("anthropic-beta", _INTERLEAVED_THINKING))
    own += endpoint.session_headers(request)
    if request.model.api == "anthropic-vertex":
        from kaa.llm.anthropic import vertex  # lazy: few ask Claude there

        url = vertex.vertex_url(endpoint, request.model.id)
        content = msgspec.json.encode(vertex.vertex_body(body))
        # The version is in the body.
        return HttpRequest("POST", url, endpoint.request_headers("bearer", own[1:]), content)
    # The SDKs take base URLs without the version; users also write it down.
    path = "/messages" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1/messages"
    headers = endpoint.request_headers("x-api-key", own)
    return HttpRequest("POST", endpoint.url(path), headers, msgspec.json.encode(body))


def messages_body(
    request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None, made: AnthropicConcessions = _NONE_MADE
) -> JsonObject:
    """The body of the request, its keys in the order they are sent.

    Args:
        kept: the renderer of the request before; it remembers what was sent already.
        made: what the server is not asked for.
    """
    model, compat = request.model, endpoint.compat
    render = kept or renderer(compat, made.unreadable)
    rendered = render.messages(request.messages, model)
    if deferred := deferred_tools(request.tools):
        rendered = [(message, _with_references(message, content, deferred)) for message, content in rendered]
    spoken = list(_conversation(rendered))
    body: JsonObject = {"model": model.id, "max_tokens": request.reply_limit, "stream": True}
    if model.reasoning:
        broken_in = _begun_without_thinking(spoken)
        body |= _thinking_fields(request, endpoint, broken_in=broken_in, adaptive_only=made.adaptive_only)
    body |= routing_fields(compat)
    body |= _sampling(request, endpoint, body)
    mark = cache_mark(endpoint.retention(request))
    if request.system.strip():
        body["system"] = [{"type": "text", "text": clean(request.system), **mark}]
    if request.tools:
        tools = [tool for _, tool in render.tools(request.tools, model)]
        lasting = [place for place, tool in enumerate(request.tools) if not tool.deferred]  # no mark may be on others
        if compat.supports_cache_control_on_tools and lasting:
            tools[lasting[-1]] = {**tools[lasting[-1]], **mark}
        body["tools"] = tools
    messages = [message for _, message in spoken]
    for position in marked_positions(spoken, model) if mark else ():
        messages[position] = _marked(messages[position], mark)
    body["messages"] = messages
    return body


def _sampling(request: Request, endpoint: Endpoint, body: JsonObject) -> JsonObject:
    """What the user wants besides. While a Claude thinks, it takes neither a temperature nor `top_k`.

    https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility
    """
    refused = set() if endpoint.compat.supports_temperature else {"temperature"}
    if body.get("thinking", {}).get("type", "disabled") != "disabled":
        refused |= {"temperature", "top_k"}
    return {name: value for name, value in endpoint.sampling.fields(request.thinking).items() if name not in refused}


def _tool(tool: ToolSchema, compat: Compat) -> JsonObject:
    schema = {"type": "object", **clean_json(tool.parameters)}
    rendered: JsonObject = {"name": tool.name, "description": clean(tool.description), "input_schema": schema}
    if compat.supports_eager_tool_input_streaming:
        rendered["eager_input_streaming"] = True
    if tool.deferred:
        rendered["defer_loading"] = True
    return rendered


def _with_references(message: Message, content: list[JsonObject], deferred: dict[str, ToolSchema]) -> list[JsonObject]:
    """The content of a message, with references in the place of the definitions that a search has found.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#custom-tool-search-implementation
    """
    found = found_tools(message, deferred)
    if not found:
        return content
    return [{**content[0], "content": [{"type": "tool_reference", "tool_name": tool.name} for tool in found]}]


def _marked(message: JsonObject, mark: JsonObject) -> JsonObject:
    """The message with a cache mark at its end; a copy, because the rendering is used again."""
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, **mark}]}


def _rendered(message: Message, model: Model, compat: Compat, unreadable: frozenset[str]) -> list[JsonObject]:
    """The content blocks of one message by itself."""
    match message:
        case UserMessage():
            return visible_parts(message.content, model, _text, _image)
        case AssistantMessage():
            return list(_assistant(message, model, compat, unreadable))
        case ToolResultMessage():
            return [_tool_result(message, model)]


def _conversation(rendered: Iterable[tuple[Message, list[JsonObject]]]) -> Iterator[tuple[Message, JsonObject]]:
    """The messages, each with the (last) one it was made of.

    The results of one reply's calls must be in one message; nothing else is joined.
    """
    results: list[JsonObject] = []
    result: Message | None = None
    for message, content in rendered:
        if isinstance(message, ToolResultMessage):
            results += content
            result = message
            continue
        if result is not None:
            yield result, {"role": "user", "content": results}
            results, result = [], None
        if content:
            yield (
                message,
                {"role": "assistant" if isinstance(message, AssistantMessage) else "user", "content": content},
            )
    if result is not None:
        yield result, {"role": "user", "content": results}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": clean(text)}


def _image(block: ImageContent) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": block.mime_type, "data": block.data}}


def _assistant(
    message: AssistantMessage, model: Model, compat: Compat, unreadable: frozenset[str]
) -> Iterator[JsonObject]:
    own = made_by(message, model)
    for block in message.content:
        if own and isinstance(block, ThinkingContent) and block.thinking_signature in unreadable:
            continue
        rendered = _assistant_block(block, compat, own=own)
        if rendered is not None:
            yield rendered


def _assistant_block(block: AssistantContent, compat: Compat, *, own: bool) -> JsonObject | None:
    match block:
        case TextContent():
            return _text(block.text) if block.text.strip() else None
        case ToolCall():
            arguments = clean_json(block.arguments)
            return {
                "type": "tool_use",
                "id": portable_id(block.id),
                "name": portable_name(block.name),
                "input": arguments,
            }
        case ThinkingContent(redacted=True, thinking_signature=sealed):
            return {"type": "redacted_thinking", "data": sealed} if own and sealed else None
        case ThinkingContent():
            signature = block.thinking_signature or ""
            if own and (signature or compat.allow_empty_signature):
                return {"type": "thinking", "thinking": clean(block.thinking), "signature": signature}
            text = thinking_as_text(block)
            return _text(text) if text.strip() else None


def _tool_result(message: ToolResultMessage, model: Model) -> JsonObject:
    content = visible_parts(message.content, model, _text, _image) or [_text("(no output)")]
    rendered: JsonObject = {
        "type": "tool_result",
        "tool_use_id": portable_id(message.tool_call_id),
        "content": content,
    }
    if message.is_error:
        rendered["is_error"] = True
    return rendered


# Claude up to 4.5 takes a budget of tokens for its thinking, later models an effort.
#
# Sources: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting, which lists what each model
# takes, and https://platform.claude.com/docs/en/build-with-claude/effort.

_SMALLEST_BUDGET_TOKENS: Final = 1024

# claude-opus-4-6, us.anthropic.claude-sonnet-4-6-v1:0, claude-opus-4-20250514 (a date is no minor version).
_GENERATION: Final = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST_ADAPTIVE: Final = (4, 6)
_FIRST_WITH_XHIGH: Final = (4, 7)
_OFF: Final[JsonObject] = {"thinking": {"type": "disabled"}}


def _thinking_fields(request: Request, endpoint: Endpoint, *, broken_in: bool, adaptive_only: bool) -> JsonObject:
    """The parameters that switch reasoning.

    Args:
        request: what is asked, of a model that can think.
        broken_in: the turn that goes on has begun without thinking; see `_begun_without_thinking`.
        adaptive_only: the server has said that the model decides for itself, and always thinks.
    """
    level, model, levels = request.thinking, request.model, endpoint.thinking_levels
    if level == "off":
        if not adaptive_only and levels.get("off", "") is not None:
            return _OFF
        level = "minimal"  # kaa's own requests ask for none whatever the model
    generation = _generation(model.id)
    adaptive = adaptive_only or endpoint.compat.force_adaptive_thinking
    if adaptive is None:
        adaptive = generation >= _FIRST_ADAPTIVE
    if adaptive:
        effort = levels.get(level) or _effort(level, generation)
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
    if broken_in and "claude" in model.id:
        return _OFF
    # Both the reasoning and the answer come out of max_tokens.
    wanted = max(_SMALLEST_BUDGET_TOKENS, endpoint.tuning.budgets(BUDGET_TOKENS)[level])
    budget = min(wanted, request.reply_limit - SMALLEST_ANSWER_TOKENS)
    if budget < _SMALLEST_BUDGET_TOKENS:
        return _OFF
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _begun_without_thinking(spoken: Iterable[tuple[Message, JsonObject]]) -> bool:
    """Whether the turn that goes on has begun without thinking: another model began it, or thinking was off.

    A turn lasts until its model calls no tool any more. One that is told to think by a budget has to begin with
    thinking; otherwise the server refuses the request ("Expected `thinking` or `redacted_thinking`, but found …")
    and advises to switch thinking off. https://platform.claude.com/docs/en/build-with-claude/extended-thinking

    Args:
        spoken: the messages as they are sent, each with (the last of) what it was made of.
    """
    missing, begins, after_results = False, True, False
    for message, sent in spoken:
        if not isinstance(message, AssistantMessage):
            results = isinstance(message, ToolResultMessage)
            # What the user says between results and the reply to them may or may not begin a turn.
            begins = begins or not results
            missing = missing and (results or after_results)
            after_results = results
        else:
            missing = missing or (begins and "thinking" not in sent["content"][0]["type"])
            begins = after_results = False
    return missing


def _generation(model_id: str) -> tuple[int, int]:
    match = _GENERATION.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _effort(level: ThinkingLevel, generation: tuple[int, int]) -> str:
    if level == "minimal":
        return "low"
    if level == "xhigh" and generation < _FIRST_WITH_XHIGH:
        return "high"
    return level
