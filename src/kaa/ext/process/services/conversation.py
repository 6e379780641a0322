"""The conversation: `host/conversationMessages`, `host/appendSessionEntry`, `host/setSessionTitle` and their like."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ToolResultMessage, UserMessage
from kaa.ext.command_context import CommandContext
from kaa.ext.errors import CommandError
from kaa.ext.process.services.caller import READS_SESSION, WRITES_SESSION, Caller
from kaa.ext.process.wire import INTERNAL_ERROR, RpcError, parse


class _Entry(msgspec.Struct, frozen=True):
    kind: str = ""
    data: Json = None
    entry: Json = None


class _CustomMessage(msgspec.Struct, frozen=True):
    content: str
    role: str = ""


class _Title(msgspec.Struct, frozen=True):
    title: str = ""


async def messages(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The conversation as the model sees it, each message as Piglet writes it, with its `role`."""
    caller.require(READS_SESSION)
    return {"messages": [_as_piglet(message) for message in caller.in_conversation().session.messages]}


async def last_text(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The text of the last reply."""
    caller.require(READS_SESSION)
    said = caller.in_conversation().session.messages
    replies = (message for message in reversed(said) if isinstance(message, AssistantMessage))
    return {"text": next((reply.text for reply in replies if reply.text), "")}


async def append_entry(params: Mapping[str, Json], caller: Caller) -> Json:
    """Keep something in the session that the model does not see."""
    caller.require(WRITES_SESSION)
    entry = parse(dict(params), _Entry)
    kind = re.sub(r"[^A-Za-z0-9_.-]", "-", entry.kind)[:64]  # Piglet's kinds have colons
    try:
        caller.in_conversation().session.append(entry.data if entry.entry is None else entry.entry, kind)
    except CommandError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
    return {}


async def append_message(params: Mapping[str, Json], caller: Caller) -> Json:
    """Add a message that the model sees with its next request, and the user with the extension's name."""
    caller.require(WRITES_SESSION)
    try:
        caller.in_conversation().session.add_message(parse(dict(params), _CustomMessage).content)
    except CommandError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
    return {}


async def title(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The name of the session."""
    caller.require(READS_SESSION)
    return {"title": caller.in_conversation().naming.name or ""}


async def set_title(params: Mapping[str, Json], caller: Caller) -> Json:
    """Name the session."""
    caller.require(WRITES_SESSION)
    try:
        caller.in_conversation().naming.set_name(parse(dict(params), _Title).title)
    except CommandError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
    return {}


async def wait_for_idle(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Answered when the agent does not work. A tool must not wait for it: the run waits for the tool."""
    idle = asyncio.Event()

    async def tell(_context: CommandContext) -> None:
        idle.set()

    try:
        caller.in_conversation().when_idle(tell)
    except CommandError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
    await idle.wait()
    return {}


def _as_piglet(message: Message) -> Json:
    at = datetime.fromtimestamp(message.timestamp / 1000, UTC).isoformat().replace("+00:00", "Z")
    match message:
        case UserMessage(content=content):
            blocks = () if isinstance(content, str) else content
            only_text = all(isinstance(block, TextContent) for block in blocks)
            said: dict[str, Json] = {"role": "user", "content": message.text, "timestamp": at}
            return said if only_text else {**said, "blocks": msgspec.to_builtins(blocks)}
        case AssistantMessage(usage=usage):
            return {
                "role": "assistant",
                "content": msgspec.to_builtins(message.content),
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
                "timestamp": at,
            }
        case ToolResultMessage():
            return {
                "role": "toolResult",
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "content": msgspec.to_builtins(message.content),
                "isError": message.is_error,
                "timestamp": at,
            }
