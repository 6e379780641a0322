"""The conversation: `host/conversationMessages`, `host/appendSessionEntry`, `host/setSessionTitle` and their like."""

import asyncio
import re
from collections.abc import Mapping

import msgspec

from kaa.core.messages import AssistantMessage, Json
from kaa.ext.command_context import CommandContext
from kaa.ext.process.conversion import conversation_message
from kaa.ext.process.services.caller import READS_SESSION, WRITES_SESSION, Caller
from kaa.ext.process.wire import parse


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
    said = caller.in_conversation().session.messages
    return {"messages": [conversation_message(one) for one in said]}


async def last_text(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The text of the last reply."""
    caller.require(READS_SESSION)
    said = caller.in_conversation().session.messages
    replies = (message for message in reversed(said) if isinstance(message, AssistantMessage))
    return {"text": next((reply.text for reply in replies if reply.text), "")}


async def append_entry(params: Mapping[str, Json], caller: Caller) -> Json:
    """Keep something in the session that the model does not see."""
    caller.require(WRITES_SESSION)
    entry = parse(params, _Entry)
    kind = re.sub(r"[^A-Za-z0-9_.-]", "-", entry.kind)[:64]  # Piglet's kinds have colons
    caller.in_conversation().session.append(entry.data if entry.entry is None else entry.entry, kind)
    return {}


async def append_message(params: Mapping[str, Json], caller: Caller) -> Json:
    """Add a message that the model sees with its next request, and the user with the extension's name."""
    caller.require(WRITES_SESSION)
    caller.in_conversation().session.add_message(parse(params, _CustomMessage).content)
    return {}


async def title(_params: Mapping[str, Json], caller: Caller) -> Json:
    """The name of the session."""
    caller.require(READS_SESSION)
    return {"title": caller.in_conversation().naming.name or ""}


async def set_title(params: Mapping[str, Json], caller: Caller) -> Json:
    """Name the session."""
    caller.require(WRITES_SESSION)
    caller.in_conversation().naming.set_name(parse(params, _Title).title)
    return {}


async def wait_for_idle(_params: Mapping[str, Json], caller: Caller) -> Json:
    """Answered when the agent does not work. A tool must not wait for it: the run waits for the tool."""
    idle = asyncio.Event()

    async def tell(_context: CommandContext) -> None:
        idle.set()

    caller.in_conversation().when_idle(tell)
    await idle.wait()
    return {}
