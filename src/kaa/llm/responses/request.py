"""Requests to OpenAI's Responses.

Format: https://platform.openai.com/docs/api-reference/responses/create. Servers keep nothing of a conversation
(`store` is false): all of it is sent every time, the model's reasoning encrypted as it came. The input comes last in
the body, so that each request of a conversation begins, byte for byte, with the one before.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import Final

import msgspec

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from kaa.core.provider import TOOL_SEARCH, Model, Request, ThinkingLevel, ToolSchema
from kaa.llm.compat import routing_fields
from kaa.llm.handoff import (
    joined_text,
    made_by,
    portable_id,
    portable_name,
    takes_images,
    thinking_as_text,
    visible_parts,
)
from kaa.llm.http.transport import HttpRequest
from kaa.llm.rendering import JsonObject, RenderedOnce, RequestRenderer, deferred_tools
from kaa.llm.responses import tool_search
from kaa.llm.thinking_levels import USUAL_EFFORTS, ThinkingLevels
from kaa.llm.unicode_text import clean, clean_json
from kaa.llm.wire import AuthStyle, Endpoint

_EFFORTS: Final[ThinkingLevels] = {**USUAL_EFFORTS, "off": "none"}
# OpenAI refuses a smaller limit.
_FEWEST_OUTPUT_TOKENS: Final = 16
_PHASES: Final = ("commentary", "final_answer")
# `fc_…` of function calls, `tsc_…` of searches for tools.
_ITEM_ID: Final = re.compile(r"(?:fc|tsc)[A-Za-z0-9_-]{1,61}")
_NO_OUTPUT: Final = "(no output)"


class ResponsesConcessions(msgspec.Struct, frozen=True):
    """What a server is not asked for, because it refused that before.

    Attributes:
        unreadable: signatures of reasoning that is not sent again.
        summary: the reasoning is asked for in a form that can be shown.
        stream: the reply is asked for in pieces.
        kept_long: prompts are kept for longer than usual, if the user wants that.
    """

    unreadable: frozenset[str] = frozenset()
    summary: bool = True
    stream: bool = True
    kept_long: bool = True


_NONE_MADE: Final = ResponsesConcessions()


def renderer(unreadable: frozenset[str] = frozenset()) -> RequestRenderer:
    """Renders messages and tools; worth keeping from request to request.

    Args:
        unreadable: signatures of reasoning that is not to be sent.
    """
    return RequestRenderer(
        messages=RenderedOnce(lambda message, model: _rendered(message, model, unreadable)),
        tools=RenderedOnce(lambda tool, _model: _tool(tool)),
    )


def responses_request(
    request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None, made: ResponsesConcessions = _NONE_MADE
) -> HttpRequest:
    """The HTTP request that asks for one reply; for `kept` and `made` see `responses_body`."""
    own = endpoint.session_headers(request)
    if not made.stream:
        own = [("accept", "application/json"), *own]
    body = msgspec.json.encode(responses_body(request, endpoint, kept, made))
    usual_auth: AuthStyle = "api-key" if request.model.api == "azure-openai-responses" else "bearer"
    return HttpRequest("POST", endpoint.url("/responses"), endpoint.request_headers(usual_auth, own), body)


def responses_body(
    request: Request, endpoint: Endpoint, kept: RequestRenderer | None = None, made: ResponsesConcessions = _NONE_MADE
) -> JsonObject:
    """The body of the request, its keys in the order they are sent.

    Args:
        kept: the renderer of the request before; it remembers what was sent already.
        made: what the server is not asked for.
    """
    model = request.model
    body: JsonObject = {"model": endpoint.served_as or model.id, "stream": made.stream, "store": False}
    body |= _caching(request, endpoint, kept_long=made.kept_long)
    if endpoint.compat.supports_max_output_tokens:
        body["max_output_tokens"] = max(request.reply_limit, _FEWEST_OUTPUT_TOKENS)
    if model.reasoning:
        body |= _reasoning(request.thinking, endpoint, summary=made.summary)
    body |= routing_fields(endpoint.compat)
    body |= endpoint.sampling.fields(request.thinking)
    render = kept or renderer(made.unreadable)
    rendered = render.messages(request.messages, model)
    tools = render.tools([tool for tool in request.tools if not tool.deferred], model)
    if model.defers_tools and any(tool.name == TOOL_SEARCH for tool, _ in tools):
        deferred = deferred_tools(request.tools)
        tools = [(tool, tool_search.definition(item) if tool.name == TOOL_SEARCH else item) for tool, item in tools]
        rendered = [(message, tool_search.searches(message, items, deferred, _tool)) for message, items in rendered]
    if tools:
        body["tools"] = [tool for _, tool in tools]
    items = (item for _, items in rendered for item in items)
    body["input"] = [*_system(request, endpoint), *map(_named, items, count())]
    return body


def _caching(request: Request, endpoint: Endpoint, *, kept_long: bool) -> JsonObject:
    """What the server shall keep of the request, and where requests of the same session find it."""
    compat, retention = endpoint.compat, endpoint.retention(request)
    caching: JsonObject = {}
    if compat.takes_cache_key and (key := endpoint.cache_key(request)):
        caching["prompt_cache_key"] = key
    if compat.supports_explicit_prompt_cache_mode:
        # Of the two times there are, only the usual one has a price that kaa knows: `long` is no longer here.
        return caching | ({"prompt_cache_options": {"mode": "explicit"}} if retention == "none" else {})
    if caching and retention == "long" and kept_long:
        caching["prompt_cache_retention"] = "24h"
    return caching


def _named(item: JsonObject, position: int) -> JsonObject:
    """Messages must have an id of their own each; where the model gave none, its place in the conversation is one."""
    return item if "id" in item or item.get("type") != "message" else {**item, "id": f"msg_kaa_{position}"}


def _reasoning(level: ThinkingLevel, endpoint: Endpoint, *, summary: bool) -> JsonObject:
    """The parameters that switch reasoning, and let it come in a form that can be sent back."""
    effort = endpoint.thinking_levels.get(level, _EFFORTS[level])
    reasoning: JsonObject = {}
    if effort and endpoint.compat.supports_reasoning_effort:
        reasoning["effort"] = effort
    if effort != "none" and summary:
        reasoning["summary"] = "auto"
    switches: JsonObject = {"reasoning": reasoning} if reasoning else {}
    return {**switches, "include": ["reasoning.encrypted_content"]}


def _tool(tool: ToolSchema) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": clean(tool.description),
        "parameters": clean_json(tool.parameters),
        "strict": False,
    }


def _system(request: Request, endpoint: Endpoint) -> list[JsonObject]:
    if not request.system.strip():
        return []
    # As everywhere, servers nobody knows are spoken to in the oldest words.
    role = "developer" if endpoint.compat.supports_developer_role and request.model.reasoning else "system"
    return [{"role": role, "content": clean(request.system)}]


def _rendered(message: Message, model: Model, unreadable: frozenset[str]) -> list[JsonObject]:
    """The items of one message by itself."""
    match message:
        case UserMessage():
            return _user(message, model)
        case AssistantMessage():
            return _assistant(message, model, unreadable)
        case ToolResultMessage():
            return [_tool_result(message, model)]


def _user(message: UserMessage, model: Model) -> list[JsonObject]:
    parts = visible_parts(message.content, model, _text, _image)
    return [{"role": "user", "content": parts}] if parts else []


def _text(text: str) -> JsonObject:
    return {"type": "input_text", "text": clean(text)}


def _image(block: ImageContent) -> JsonObject:
    url = f"data:{block.mime_type};base64,{block.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _assistant(message: AssistantMessage, model: Model, unreadable: frozenset[str]) -> list[JsonObject]:
    items = list(_output(message, unreadable, own=made_by(message, model)))
    # Reasoning that led to nothing, as in a reply that was cut short, is refused.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _output(message: AssistantMessage, unreadable: frozenset[str], *, own: bool) -> Iterator[JsonObject]:
    """The items a reply consists of; `own`: the model that is asked now has made it."""
    thought = False
    for block in message.content:
        match block:
            case ToolCall():
                yield _function_call(block) | (_item_id(block.id) if thought else {})
            case TextContent():
                if block.text.strip():
                    yield _said(block.text, (block.text_signature if own else None) or "")
            case ThinkingContent(thinking_signature=str(signature)) if own:
                if signature not in unreadable:
                    for item in _reasoning_again(signature):
                        thought = thought or "id" in item
                        yield item
            case ThinkingContent():
                if (text := thinking_as_text(block)).strip():
                    yield _said(text, "")


def _said(text: str, signature: str) -> JsonObject:
    message_id, phase = _names_in(signature)
    content = {"type": "output_text", "text": clean(text), "annotations": []}
    item: JsonObject = {"type": "message", "role": "assistant", "status": "completed", "content": [content]}
    if message_id:
        item["id"] = portable_id(message_id)
    if phase:
        item["phase"] = phase
    return item


def _names_in(signature: str) -> tuple[str, str]:
    """The id and the phase of a message; early sessions of pi have nothing but the id."""
    if not signature.startswith("{"):
        return signature, ""
    try:
        match msgspec.json.decode(signature):
            case {"v": 1, "id": str(message_id), "phase": str(phase)} if phase in _PHASES:
                return message_id, phase
            case {"v": 1, "id": str(message_id)}:
                return message_id, ""
    except (msgspec.DecodeError, RecursionError):
        pass
    return "", ""


def _reasoning_again(signature: str) -> Iterator[JsonObject]:
    """A reasoning item as it came; nothing if it says nothing without what its server has kept, or has not."""
    try:
        item = msgspec.json.decode(signature)
    except (msgspec.DecodeError, RecursionError):
        return
    match item:
        case {"type": "reasoning", "encrypted_content": str(encrypted)} if encrypted:
            told: JsonObject = {"encrypted_content": encrypted}
        case {"type": "reasoning", "content": [*content]} if content:
            told = {}
        case _:
            return
    known = {key: item[key] for key in ("id", "content") if item.get(key)}
    yield {"type": "reasoning", **known, "summary": item.get("summary") or [], **told}


def _function_call(call: ToolCall) -> JsonObject:
    arguments = msgspec.json.encode(clean_json(call.arguments)).decode()
    return {
        "type": "function_call",
        "call_id": _call_id(call.id),
        "name": portable_name(call.name),
        "arguments": arguments,
    }


def _item_id(call_id: str) -> JsonObject:
    """The id of the call's item. OpenAI links it to the reasoning before: it refuses one of the two without the other.

    "Item 'rs_…' of type 'reasoning' was provided without its required following item", and the other way round.
    """
    _, _, item_id = call_id.partition("|")
    return {"id": item_id} if _ITEM_ID.fullmatch(item_id) else {}


def _tool_result(message: ToolResultMessage, model: Model) -> JsonObject:
    sees = takes_images(model) and any(isinstance(block, ImageContent) for block in message.content)
    # Plain text wherever possible, for some servers know nothing else.
    output: str | list[JsonObject] = joined_text(message.content, model) or _NO_OUTPUT
    if sees:
        output = visible_parts(message.content, model, _text, _image)
    return {"type": "function_call_output", "call_id": _call_id(message.tool_call_id), "output": output}


def _call_id(call_id: str) -> str:
    """The id that pairs a call with its result: what stands before the id of its item, if there is one."""
    own, bar, item_id = call_id.partition("|")
    return portable_id(own if bar and own and item_id.startswith(("fc", "tsc")) else call_id)
