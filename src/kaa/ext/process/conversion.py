"""Between kaa's messages, results and events and the JSON of the protocol."""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from kaa.core import events
from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    UserMessage,
)
from kaa.core.tool import ToolResult
from kaa.ext.process import wire
from kaa.ext.process.wire import RpcError

# Types that models accept; anything else would make a server refuse the conversation from now on.
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAX_IMAGE_CHARACTERS = 4_500_000  # as Anthropic's API takes it, base64 encoded


class _Block(msgspec.Struct, frozen=True):
    """A content block. `type` may be missing: only images have `data`."""

    type: str = "text"
    text: str = ""
    data: str = ""
    mime: str = ""


class _ToolAnswer(msgspec.Struct, frozen=True, rename="camel"):
    content: list[Json] = []
    is_error: bool = False
    error_code: str = ""
    error_hint: str = ""


def tool_result(answer: Json) -> ToolResult:
    """The result of a tool from the answer to `tool/execute`.

    Raises:
        RpcError: it has another shape.
    """
    parsed = wire.parse(answer, _ToolAnswer)
    content = content_of(parsed.content)
    if parsed.error_code and content and isinstance(first := content[0], TextContent):
        content = (TextContent(_coded(first.text, parsed.error_code, parsed.error_hint)), *content[1:])
    return ToolResult(content or (TextContent("(no output)"),), is_error=parsed.is_error)


def content_of(blocks: Sequence[Json]) -> tuple[ToolResultContent, ...]:
    """Content blocks.

    Raises:
        RpcError: one has another shape, or is no image that models accept.
    """
    return tuple(_content(wire.parse(block, _Block)) for block in blocks)


def _content(block: _Block) -> ToolResultContent:
    if block.type != "image":
        return TextContent(block.text)
    if block.mime not in _IMAGE_TYPES:
        raise RpcError(
            wire.INVALID_PARAMS, f"an image has the type {block.mime!r}: use {', '.join(sorted(_IMAGE_TYPES))}"
        )
    if len(block.data) > _MAX_IMAGE_CHARACTERS:
        raise RpcError(
            wire.INVALID_PARAMS, f"an image has {len(block.data):,} characters: at most {_MAX_IMAGE_CHARACTERS:,}"
        )
    try:
        base64.b64decode(block.data, validate=True)
    except binascii.Error as error:
        raise RpcError(wire.INVALID_PARAMS, f"an image is not base64 encoded: {error}") from error
    return ImageContent(block.data, block.mime)


def _coded(text: str, code: str, hint: str) -> str:
    if text.startswith("[error:"):
        return text
    return f"[error:{code}] {text}" + (f"\nhint: {hint}" if hint else "")


def result_json(result: ToolResult) -> Json:
    """A result for `interceptor/after`, and as the answer to `host/executeTool`."""
    return {"content": [_block(one) for one in result.content], "isError": result.is_error}


def changed_result(result: ToolResult, details: Json) -> ToolResult | None:
    """The result that an interceptor made of `result_json`; None if it changed nothing.

    Raises:
        RpcError: it has another shape.
    """
    if details is None or details == result_json(result):
        return None
    if isinstance(details, str):
        return msgspec.structs.replace(result, content=(TextContent(details),))
    changed = wire.parse(details, _ToolAnswer)
    return msgspec.structs.replace(result, content=content_of(changed.content), is_error=changed.is_error)


def _block(content: ToolResultContent) -> Json:
    match content:
        case TextContent(text=text):
            return {"type": "text", "text": text}
        case ImageContent(data=data, mime_type=mime_type):
            return {"type": "image", "data": data, "mime": mime_type}


def compactable(message: Message) -> Json:
    """A message for `compact/execute`: its kind, and its JSON."""
    match message:
        case UserMessage():
            return {"type": "user", "data": message_json(message)}
        case AssistantMessage():
            return {"type": "assistant", "data": message_json(message)}
        case ToolResultMessage():
            return {"type": "tool_result", "data": message_json(message)}


def text_of(message: Json) -> str:
    """The text of a message from the answer to `compact/execute`, whatever kind it is.

    Raises:
        RpcError: it has another shape.
    """
    data = wire.parse(wire.parse(message, _Compacted).data, _Data)
    if isinstance(data.content, str):
        return data.content
    return "\n".join(block.text for block in (wire.parse(one, _Block) for one in data.content or []) if block.text)


class _Compacted(msgspec.Struct, frozen=True):
    type: str
    data: Json = None


class _Data(msgspec.Struct, frozen=True):
    content: str | list[Json] | None = None


def message_json(message: Message) -> dict[str, Json]:
    """A message as Piglet encodes it."""
    timestamp = datetime.fromtimestamp(message.timestamp / 1000, UTC).isoformat().replace("+00:00", "Z")
    match message:
        case UserMessage():
            blocks = () if isinstance(message.content, str) else message.content
            only_text = all(isinstance(block, TextContent) for block in blocks)
            said: dict[str, Json] = {"content": message.text, "timestamp": timestamp}
            return said if only_text else {**said, "blocks": [_stored_block(block) for block in blocks]}
        case AssistantMessage():
            usage = message.usage
            return {
                "content": [_reply_block(block) for block in message.content],
                "model": message.model,
                "provider": message.provider,
                "usage": {
                    "inputTokens": usage.input,
                    "outputTokens": usage.output,
                    "cacheReadTokens": usage.cache_read,
                    "cacheWriteTokens": usage.cache_write,
                    "cost": usage.cost.total,
                },
                "stopReason": message.stop_reason,
                **({"error": message.error_message} if message.error_message else {}),
                "timestamp": timestamp,
            }
        case ToolResultMessage():
            return {
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "content": [_stored_block(block) for block in message.content],
                "isError": message.is_error,
                "timestamp": timestamp,
            }


def conversation_message(message: Message) -> dict[str, Json]:
    """A message as Piglet encodes it, and whose it is."""
    return {"role": _ROLES[type(message)], **message_json(message)}


_ROLES: dict[type[Message], str] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "toolResult",
}


def _reply_block(block: TextContent | ThinkingContent | ToolCall) -> Json:
    match block:
        case TextContent(text=text):
            return {"text": text}
        case ThinkingContent(thinking=thinking):
            return {"thinking": thinking}
        case ToolCall():
            return {"id": block.id, "name": block.name, "arguments": block.arguments}


def _stored_block(block: ToolResultContent) -> Json:
    match block:
        case TextContent(text=text):
            return {"text": text}
        case ImageContent(data=data, mime_type=mime_type):
            return {"data": data, "mimeType": mime_type}


def event_name(event: events.Event) -> str:
    """What Piglet calls an event; empty if it has none of this kind."""
    match event:
        case events.MessageUpdate(assistant_message_event=change):
            is_delta = isinstance(change, events.TextDelta | events.ThinkingDelta | events.ToolCallDelta)
            return "EventStreamDelta" if is_delta else ""
        case events.MessageStart(message=UserMessage()):
            return "EventMessagePre"
        case events.MessageEnd(message=AssistantMessage()):
            return "EventStreamDone"
        case events.CompactionEnd() if event.aborted or event.error is not None:
            return ""
        case _:
            return _EVENT_NAMES.get(type(event), "")


_EVENT_NAMES: dict[type[events.Event], str] = {
    events.AgentStart: "EventAgentStart",
    events.AgentEnd: "EventAgentEnd",
    events.TurnStart: "EventTurnStart",
    events.TurnEnd: "EventTurnEnd",
    events.ToolExecutionStart: "EventToolStart",
    events.ToolExecutionUpdate: "EventToolUpdate",
    events.ToolExecutionEnd: "EventToolEnd",
    events.AutoRetryStart: "EventRetry",
    events.CompactionEnd: "EventCompact",
}


def event_data(event: events.Event) -> Json:
    """The fields of an event that has a name, as Go encodes them."""
    match event:
        case events.AgentEnd():
            return {"Messages": [message_json(message) for message in event.messages]}
        case events.TurnEnd():
            results = [message_json(result) for result in event.tool_results]
            return {"Assistant": message_json(event.message), "ToolResults": results}
        case events.MessageUpdate(assistant_message_event=change):
            return _delta(change)
        case events.MessageEnd(message=message):
            return {"Message": message_json(message)}
        case events.MessageStart(message=UserMessage() as message):
            return {"Content": message.text}
        case events.ToolExecutionStart():
            return {"ToolCallID": event.tool_call_id, "ToolName": event.tool_name, "Args": event.args}
        case events.ToolExecutionUpdate():
            return {"ToolCallID": event.tool_call_id, "ToolName": event.tool_name, "Partial": event.delta}
        case events.ToolExecutionEnd(result=result):
            content = {"content": [_block(one) for one in result.content]}
            known = {"ToolCallID": event.tool_call_id, "ToolName": event.tool_name}
            return {**known, "Result": content, "IsError": event.is_error}
        case events.AutoRetryStart():
            waits = {"Attempt": event.attempt, "Max": event.max_attempts, "DelayMs": event.delay_ms}
            return {**waits, "Error": event.error_message}
        case events.CompactionEnd():
            return {"Before": event.dropped, "After": 1, "TokensAtCompact": event.tokens_before}
        case _:
            return {}


def _delta(change: events.AssistantMessageEvent) -> Json:
    match change:
        case events.TextDelta():
            return {"Kind": "text", "Index": change.content_index, "Delta": change.delta}
        case events.ThinkingDelta():
            return {"Kind": "thinking", "Index": change.content_index, "Delta": change.delta}
        case events.ToolCallDelta():
            return {"Kind": "toolcall", "Index": change.content_index, "Delta": change.delta}
        case _:
            return {}
