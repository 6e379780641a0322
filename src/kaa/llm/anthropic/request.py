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
    ToolResultContent,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from kaa.core.provider import Model, Request, ThinkingLevel, ToolSchema
from kaa.llm.anthropic import vertex
from kaa.llm.cache_marks import cache_mark, marked_positions
from kaa.llm.compat import Compat
from kaa.llm.handoff import IMAGE_OMITTED, clean, clean_json, made_by, portable_id, takes_images, thinking_as_text
from kaa.llm.http.transport import HttpRequest
from kaa.llm.rendering import JsonObject, RenderedOnce, Renderer
from kaa.llm.wire import Endpoint

_VERSION: Final = "2023-06-01"
# Lets models that think by budget also think between tool calls.
_INTERLEAVED_THINKING: Final = "interleaved-thinking-2025-05-14"

_BUDGET_TOKENS: Final[dict[ThinkingLevel, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 16_384,
    "max": 16_384,
}
_SMALLEST_BUDGET_TOKENS: Final = 1024
_SMALLEST_ANSWER_TOKENS: Final = 1024

# claude-opus-4-6, us.anthropic.claude-sonnet-4-6-v1:0, claude-opus-4-20250514 (a date is no minor version).
_GENERATION: Final = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST_ADAPTIVE: Final = (4, 6)
_FIRST_WITH_XHIGH: Final = (4, 7)


def renderer(compat: Compat) -> Renderer:
    """Renders messages and tools; worth keeping from request to request."""
    return Renderer(
        messages=RenderedOnce(lambda message, model: _rendered(message, model, compat)),
        tools=RenderedOnce(lambda tool, _model: _tool(tool, compat)),
    )


def messages_request(request: Request, endpoint: Endpoint, kept: Renderer | None = None) -> HttpRequest:
    """The HTTP request that asks for one streamed reply; for `kept` see `messages_body`."""
    body = messages_body(request, endpoint, kept)
    own = [("anthropic-version", _VERSION)]
    if "budget_tokens" in body.get("thinking", {}) and endpoint.host.endswith("anthropic.com"):
        own.append(("anthropic-beta", _INTERLEAVED_THINKING))
    own += endpoint.session_headers(request)
    if request.model.api == vertex.API:
        url = vertex.vertex_url(endpoint, request.model.id)
        content = msgspec.json.encode(vertex.vertex_body(body))
        return HttpRequest("POST", url, endpoint.request_headers("bearer", own[1:]), content)
    # The SDKs take base URLs without the version; users also write it down.
    path = "/messages" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1/messages"
    headers = endpoint.request_headers("x-api-key", own)
    return HttpRequest("POST", endpoint.url(path), headers, msgspec.json.encode(body))


def messages_body(request: Request, endpoint: Endpoint, kept: Renderer | None = None) -> JsonObject:
    """The body of the request, its keys in the order they are sent.

    Args:
        request: what to ask.
        endpoint: whom.
        kept: the renderer of the request before; it remembers what was sent already.
    """
    model, compat = request.model, endpoint.compat
    body: JsonObject = {"model": model.id, "max_tokens": request.reply_limit, "stream": True}
    if model.reasoning:
        body |= _thinking(request, endpoint)
    render = kept or renderer(compat)
    mark = cache_mark(endpoint.retention(request))
    if request.system.strip():
        body["system"] = [{"type": "text", "text": clean(request.system), **mark}]
    if request.tools:
        tools = [tool for _, tool in render.tools(request.tools, model)]
        if compat.supports_cache_control_on_tools:
            tools[-1] = {**tools[-1], **mark}
        body["tools"] = tools
    spoken = list(_conversation(render.messages(request.messages, model)))
    messages = [message for _, message in spoken]
    for position in marked_positions(spoken, model) if mark else ():
        messages[position] = _marked(messages[position], mark)
    body["messages"] = messages
    return body


def _thinking(request: Request, endpoint: Endpoint) -> JsonObject:
    """The parameters that switch reasoning."""
    level, model = request.thinking, request.model
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    generation = _generation(model.id)
    adaptive = endpoint.compat.force_adaptive_thinking
    if adaptive is None:
        adaptive = generation >= _FIRST_ADAPTIVE
    if adaptive:
        effort = endpoint.thinking_levels.get(level) or _effort(level, generation)
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
    # Both the reasoning and the answer come out of max_tokens.
    wanted = max(_SMALLEST_BUDGET_TOKENS, endpoint.tuning.budgets(_BUDGET_TOKENS)[level])
    budget = min(wanted, request.reply_limit - _SMALLEST_ANSWER_TOKENS)
    if budget < _SMALLEST_BUDGET_TOKENS:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _generation(model_id: str) -> tuple[int, int]:
    match = _GENERATION.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _effort(level: ThinkingLevel, generation: tuple[int, int]) -> str:
    if level == "minimal":
        return "low"
    if level == "xhigh" and generation < _FIRST_WITH_XHIGH:
        return "high"
    return level


def _tool(tool: ToolSchema, compat: Compat) -> JsonObject:
    schema = {"type": "object", **clean_json(tool.parameters)}
    rendered: JsonObject = {"name": tool.name, "description": clean(tool.description), "input_schema": schema}
    if compat.supports_eager_tool_input_streaming:
        rendered["eager_input_streaming"] = True
    return rendered


def _marked(message: JsonObject, mark: JsonObject) -> JsonObject:
    """The message with a cache mark at its end; a copy, because the rendering is used again."""
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, **mark}]}


def _rendered(message: Message, model: Model, compat: Compat) -> list[JsonObject]:
    """The content blocks of one message by itself."""
    match message:
        case UserMessage():
            return _user(message, model)
        case AssistantMessage():
            return list(_assistant(message, model, compat))
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


def _user(message: UserMessage, model: Model) -> list[JsonObject]:
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    return _visible(content, model)


def _visible(content: Iterable[UserContent | ToolResultContent], model: Model) -> list[JsonObject]:
    """Text and images as blocks; blank text, which the server refuses, is left out."""
    blocks: list[JsonObject] = []
    for block in content:
        if isinstance(block, ImageContent):
            blocks.append(_image(block) if takes_images(model) else _text(IMAGE_OMITTED))
        elif block.text.strip():
            blocks.append(_text(block.text))
    return blocks


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": clean(text)}


def _image(block: ImageContent) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": block.mime_type, "data": block.data}}


def _assistant(message: AssistantMessage, model: Model, compat: Compat) -> Iterator[JsonObject]:
    own = made_by(message, model)
    for block in message.content:
        rendered = _assistant_block(block, compat, own=own)
        if rendered is not None:
            yield rendered


def _assistant_block(block: AssistantContent, compat: Compat, *, own: bool) -> JsonObject | None:
    match block:
        case TextContent():
            return _text(block.text) if block.text.strip() else None
        case ToolCall():
            arguments = clean_json(block.arguments)
            return {"type": "tool_use", "id": portable_id(block.id), "name": clean(block.name), "input": arguments}
        case ThinkingContent(redacted=True, thinking_signature=sealed):
            return {"type": "redacted_thinking", "data": sealed} if own and sealed else None
        case ThinkingContent():
            signature = block.thinking_signature or ""
            if own and (signature or compat.allow_empty_signature):
                return {"type": "thinking", "thinking": clean(block.thinking), "signature": signature}
            text = thinking_as_text(block)
            return _text(text) if text.strip() else None


def _tool_result(message: ToolResultMessage, model: Model) -> JsonObject:
    content = _visible(message.content, model) or [_text("(no output)")]
    rendered: JsonObject = {
        "type": "tool_result",
        "tool_use_id": portable_id(message.tool_call_id),
        "content": content,
    }
    if message.is_error:
        rendered["is_error"] = True
    return rendered
