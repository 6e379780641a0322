"""Requests to OpenAI's Chat Completions and the many servers that imitate it.

Format: https://platform.openai.com/docs/api-reference/chat/create. The messages come last in the body, so
that each request of a conversation begins, byte for byte, with the one before.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Json,
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
from kaa.llm.completions.reasoning_details import unsealed
from kaa.llm.handoff import (
    joined_text,
    made_by,
    mistral_id,
    portable_name,
    shortened_id,
    takes_images,
    thinking_as_text,
)
from kaa.llm.http.transport import HttpRequest
from kaa.llm.rendering import JsonObject, RenderedOnce, RequestRenderer
from kaa.llm.thinking_levels import USUAL_EFFORTS
from kaa.llm.tuning import BUDGET_TOKENS, SMALLEST_ANSWER_TOKENS
from kaa.llm.unicode_text import clean, clean_json
from kaa.llm.wire import Endpoint

# The fields in which servers deliver reasoning; also the only ones in which it is sent back.
REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text")

# OpenAI refuses longer ones, and those of other formats can be. Characters are left alone: some models read meaning
# into the ids they gave.
_LONGEST_ID: Final = 40
_SEE_IMAGE: Final = "(see the attached image)"
_ATTACHED: Final = "Images from the tool results above:"
_ACKNOWLEDGED: Final = "I have read the tool results."


def renderer(compat: Compat) -> RequestRenderer:
    """Renders messages and tools; worth keeping from request to request."""
    return RequestRenderer(
        messages=RenderedOnce(lambda message, model: _rendered(message, model, compat)),
        tools=RenderedOnce(lambda tool, _model: _tool(tool, compat)),
    )


def completion_request(request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None) -> HttpRequest:
    """The HTTP request that asks for one streamed reply; for `kept` see `completion_body`."""
    own = endpoint.session_headers(request)
    body = msgspec.json.encode(completion_body(request, endpoint, kept))
    return HttpRequest("POST", endpoint.url("/chat/completions"), endpoint.request_headers("bearer", own), body)


def completion_body(request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None) -> JsonObject:
    """The body of the request, its keys in the order they are sent.

    Args:
        kept: the renderer of the request before; it remembers what was sent already.
    """
    model, compat = request.model, endpoint.compat
    body: JsonObject = {"model": model.id, "stream": True}
    if compat.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        body["store"] = False
    if compat.takes_cache_key and (key := endpoint.cache_key(request)):
        body["prompt_cache_key"] = key
        if endpoint.retention(request) == "long":
            body["prompt_cache_retention"] = "24h"
    body[compat.max_tokens_field] = request.reply_limit
    if compat.vllm_priority is not None:
        body["priority"] = compat.vllm_priority
    if model.reasoning:
        body |= _thinking_fields(request, endpoint)
    body |= routing_fields(compat)
    body |= endpoint.sampling.fields(request.thinking)
    render = kept or renderer(compat)
    tools = [tool for _, tool in render.tools(request.tools, model)]
    system = _system(request, compat)
    spoken = list(_conversation(render.messages(request.messages, model), model, compat))
    messages = [message for _, message in spoken]
    if compat.cache_control_format == "anthropic" and (mark := cache_mark(endpoint.retention(request))):
        for parts, positions in ((system, {0}), (messages, marked_positions(spoken, model))):
            _mark(parts, positions, mark)
        tools[-1:] = [{**tool, **mark} for tool in tools[-1:]]
    if tools:
        body["tools"] = tools
        if compat.zai_tool_stream:
            body["tool_stream"] = True
    elif compat.requires_tools_with_tool_history and _has_tool_history(request):
        body["tools"] = []
    body["messages"] = [*system, *messages]
    return body


def _has_tool_history(request: Request) -> bool:
    return any(isinstance(message, ToolResultMessage) for message in request.messages)


def _tool(tool: ToolSchema, compat: Compat) -> JsonObject:
    function: JsonObject = {
        "name": tool.name,
        "description": clean(tool.description),
        "parameters": clean_json(tool.parameters),
    }
    if compat.supports_strict_mode:
        function["strict"] = False  # in the open: some servers take schemas strictly if nothing is said
    return {"type": "function", "function": function}


def _system(request: Request, compat: Compat) -> list[JsonObject]:
    if not request.system.strip():
        return []
    role = "developer" if compat.supports_developer_role and request.model.reasoning else "system"
    return [{"role": role, "content": clean(request.system)}]


def _rendered(message: Message, model: Model, compat: Compat) -> list[JsonObject]:
    match message:
        case UserMessage():
            return _user(message, model)
        case AssistantMessage():
            return _assistant(message, model, compat)
        case ToolResultMessage():
            return [_tool_result(message, model, compat)]


def _conversation(
    rendered: Iterable[tuple[Message, list[JsonObject]]], model: Model, compat: Compat
) -> Iterable[tuple[Message, JsonObject]]:
    """The messages, each with the (last) one it was made of.

    Each is made without regard to those after it: that keeps the prefix stable.
    """
    images: list[ImageContent] = []  # of the tool results since the last reply
    before: Message | None = None
    for message, objects in rendered:
        after_result = isinstance(before, ToolResultMessage)
        if before is not None and images and not isinstance(message, ToolResultMessage):
            yield from ((before, shown) for shown in (*_bridge(compat), _images(images)))
            images, after_result = [], False
        if before is not None and after_result and isinstance(message, UserMessage):
            yield from ((before, bridge) for bridge in _bridge(compat))
        yield from ((message, spoken) for spoken in objects)
        before = message
        if isinstance(message, ToolResultMessage) and takes_images(model):
            images += (block for block in message.content if isinstance(block, ImageContent))
    if before is not None and images:
        yield from ((before, shown) for shown in (*_bridge(compat), _images(images)))


def _bridge(compat: Compat) -> list[JsonObject]:
    if not compat.requires_assistant_after_tool_result:
        return []
    return [{"role": "assistant", "content": _ACKNOWLEDGED}]


def _user(message: UserMessage, model: Model) -> list[JsonObject]:
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    if takes_images(model) and any(isinstance(block, ImageContent) for block in content):
        parts = [_image(b) if isinstance(b, ImageContent) else _text(b.text) for b in content if _is_visible(b)]
        return [{"role": "user", "content": parts}]
    # Plain text wherever possible, for many servers know nothing else.
    text = joined_text(content, model)
    return [{"role": "user", "content": text}] if text.strip() else []


def _is_visible(block: TextContent | ImageContent) -> bool:
    return isinstance(block, ImageContent) or bool(block.text)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": clean(text)}


def _image(block: ImageContent) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _images(images: Iterable[ImageContent]) -> JsonObject:
    """Tool messages hold only text here, so their images follow as if the user had shown them."""
    return {"role": "user", "content": [_text(_ATTACHED), *map(_image, images)]}


def _assistant(message: AssistantMessage, model: Model, compat: Compat) -> list[JsonObject]:
    own = made_by(message, model) and not compat.requires_thinking_as_text
    texts: list[str] = []
    calls: list[JsonObject] = []
    reasoning: dict[str, list[str]] = {}
    details: list[Json] = []
    for block in message.content:
        match block:
            case TextContent():
                texts.append(clean(block.text))
            case ThinkingContent():
                if own and (sealed := unsealed(block.thinking_signature or "")):
                    details += sealed
                elif own and block.thinking_signature in REASONING_FIELDS:
                    reasoning.setdefault(block.thinking_signature, []).append(clean(block.thinking))
                else:
                    texts.append(thinking_as_text(block))
            case ToolCall():
                calls.append(_tool_call(block, compat))
    text = "\n".join(part for part in texts if part.strip())
    if not text and not calls:
        return []
    content = text or ("" if compat.requires_non_null_assistant_content else None)
    rendered: JsonObject = {"role": "assistant", "content": content}
    rendered |= {field: "\n".join(parts) for field, parts in reasoning.items()}
    if details:
        rendered["reasoning_details"] = details
    if compat.requires_reasoning_content_on_assistant_messages:
        rendered.setdefault("reasoning_content", compat.reasoning_content_placeholder)
    if calls:
        rendered["tool_calls"] = calls
    return [rendered]


def _tool_call(call: ToolCall, compat: Compat) -> JsonObject:
    arguments = msgspec.json.encode(clean_json(call.arguments)).decode()
    function = {"name": portable_name(call.name), "arguments": arguments}
    return {"id": _call_id(call.id, compat), "type": "function", "function": function}


def _tool_result(message: ToolResultMessage, model: Model, compat: Compat) -> JsonObject:
    text = joined_text(message.content, model) or (_SEE_IMAGE if message.content else "(no output)")
    rendered = {"role": "tool", "tool_call_id": _call_id(message.tool_call_id, compat), "content": text}
    if compat.requires_tool_result_name:
        rendered["name"] = portable_name(message.tool_name)
    return rendered


def _call_id(call_id: str, compat: Compat) -> str:
    return mistral_id(call_id) if compat.requires_mistral_tool_ids else shortened_id(call_id, _LONGEST_ID)


def _mark(messages: list[JsonObject], positions: set[int], mark: JsonObject) -> None:
    """Put Anthropic's cache mark behind these messages. They are replaced, because renderings are used again."""
    for position in positions & set(range(len(messages))):
        content = messages[position]["content"]
        parts = [_text(content)] if isinstance(content, str) else list(content)
        parts[-1] = {**parts[-1], **mark}
        messages[position] = {**messages[position], "content": parts}


# Each server has its own fields for reasoning.

_BASETEN_ARGUMENTS: Final[dict[str, Json]] = {"enable_thinking": {"$var": "thinking.enabled"}}


def _thinking_fields(request: Request, endpoint: Endpoint) -> JsonObject:
    """The fields of a request that make a model think as hard as the request wants, or not think with `off`."""
    field, budget = endpoint.compat.budget_field, _budget(request, endpoint)
    limit: JsonObject = {field: budget} if field and budget else {}
    return {**_switches(request.thinking, endpoint, budget), **limit}


def _budget(request: Request, endpoint: Endpoint) -> int | None:
    """The most tokens of reasoning; None without reasoning, or where the reply has too few for it."""
    wanted = endpoint.tuning.budgets(BUDGET_TOKENS).get(request.thinking)
    room = request.reply_limit - SMALLEST_ANSWER_TOKENS
    return min(wanted, room) if wanted and room > 0 else None


def _switches(level: ThinkingLevel, endpoint: Endpoint, budget: int | None) -> JsonObject:
    compat, levels = endpoint.compat, endpoint.thinking_levels
    effort = levels.get(level, USUAL_EFFORTS.get(level))
    by_effort: JsonObject = {"reasoning_effort": effort} if effort and compat.supports_reasoning_effort else {}
    match compat.thinking_format:
        case "openai":
            return by_effort
        case "baseten":
            return _by_template(compat, effort, budget, enabled=level != "off") | by_effort
        case "chat-template" | "qwen-chat-template":
            return _by_template(compat, effort, budget, enabled=level != "off")
        case "ant-ling":
            # Only efforts that the model's entry names: the server refuses others.
            return {"reasoning": {"effort": named}} if level != "off" and (named := levels.get(level)) else {}
    if level != "off":
        return _switched_on(compat, effort, by_effort)
    # Where a model cannot be kept from thinking, saying so would be refused.
    return _switched_off(compat, effort) if "off" not in levels or effort else {}


def _switched_off(compat: Compat, effort: str | None) -> JsonObject:
    match compat.thinking_format:
        case "openrouter":
            return {"reasoning": {"effort": effort or "none"}}
        case "together":
            return {"reasoning": {"enabled": False}}
        case "deepseek" | "zai":
            return {"thinking": {"type": "disabled"}}
        case "qwen":
            return {"enable_thinking": False}
        case "string-thinking":
            return {"thinking": effort or "none"}
        case _:
            return {}


def _switched_on(compat: Compat, effort: str | None, by_effort: JsonObject) -> JsonObject:
    match compat.thinking_format:
        case "openrouter":
            return {"reasoning": {"effort": effort}} if effort else {}
        case "together":
            return {"reasoning": {"enabled": True}} | by_effort
        case "deepseek":
            return {"thinking": {"type": "enabled"}} | by_effort
        case "zai":
            # The reasoning of earlier turns is sent back, and shall count.
            return {"thinking": {"type": "enabled", "clear_thinking": False}} | by_effort
        case "qwen":
            return {"enable_thinking": True} | by_effort
        case "string-thinking":
            return {"thinking": effort} if effort else {}
        case _:
            return by_effort


def _by_template(compat: Compat, effort: str | None, budget: int | None, *, enabled: bool) -> JsonObject:
    """The arguments of the model's chat template."""
    if compat.thinking_format == "qwen-chat-template":
        return {"chat_template_kwargs": {"enable_thinking": enabled, "preserve_thinking": True}}
    if compat.thinking_format == "baseten":
        field, written = "chat_template_args", compat.chat_template_args or _BASETEN_ARGUMENTS
    else:
        field, written = "chat_template_kwargs", compat.chat_template_kwargs
    values = {name: _template_value(value, effort, budget, enabled=enabled) for name, value in written.items()}
    given = {name: value for name, value in values.items() if value is not None}
    return {field: given} if given else {}


def _template_value(value: Json, effort: str | None, budget: int | None, *, enabled: bool) -> Json:
    """A value as models.json has it: literal, or `{"$var": "thinking.enabled" | "thinking.effort" | …}`."""
    if not isinstance(value, dict):
        return value
    if value.get("omitWhenOff") and not enabled:
        return None
    match value.get("$var"):
        case "thinking.enabled":
            return enabled
        case "thinking.effort":
            return effort
        case "thinking.budget":
            return budget
        case _:
            return None
