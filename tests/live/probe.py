"""Four questions to a real model: text, a tool, an image, and the same beginning twice."""

import base64
import io
from collections.abc import Sequence
from contextlib import aclosing

from PIL import Image

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Request, ToolSchema
from kaa.core.reply import ReplyBuilder
from kaa.llm.http.transport import Transport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.resolved import ResolvedModel

# More than any vendor's least length for its cache: 4096 tokens of the largest, about 4 characters each.
LONG_PROMPT = "Rule {}: answer briefly and never guess.\n"
_RULES = 800
_WEATHER = ToolSchema(
    "weather",
    "Tells the weather in a city. Always use it for questions about the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
# Enough for reasoning and a short answer, so that a runaway costs cents.
_MOST_TOKENS = 4000


async def ask(
    resolved: ResolvedModel,
    transport: Transport,
    messages: Sequence[Message],
    *,
    system: str = "You are brief.",
    tools: Sequence[ToolSchema] = (),
) -> AssistantMessage:
    """The model's reply, as kaa would keep it."""
    request = Request(
        resolved.model,
        system,
        messages,
        tools=tools,
        thinking=resolved.thinking,
        session_id="kaa-live-suite",
        max_tokens=_MOST_TOKENS,
    )
    builder = ReplyBuilder(resolved.model)
    async with aclosing(create_provider(resolved, transport).stream(request)) as stream:
        async for event in stream:
            builder.fold(event)
    return builder.message(builder.stop_reason or "error")


def said(reply: AssistantMessage) -> str:
    """The text of a reply, in lower case."""
    return " ".join(block.text for block in reply.content if isinstance(block, TextContent)).lower()


async def text(resolved: ResolvedModel, transport: Transport) -> AssistantMessage:
    """A reply that says a word."""
    reply = await ask(resolved, transport, [UserMessage("Answer with the one word: pong")])
    assert "pong" in said(reply)
    assert reply.stop_reason == "stop"
    assert reply.usage.input + reply.usage.cache_read + reply.usage.cache_write > 0
    assert reply.usage.output > 0
    return reply


async def tool(resolved: ResolvedModel, transport: Transport) -> AssistantMessage:
    """A call with right arguments, and a reply that knows its result."""
    question = UserMessage("What is the weather in Oslo? Use the tool.")
    first = await ask(resolved, transport, [question], tools=[_WEATHER])
    calls = [block for block in first.content if isinstance(block, ToolCall)]
    assert first.stop_reason == "toolUse"
    assert [call.name for call in calls] == ["weather"]
    assert "oslo" in str(calls[0].arguments["city"]).lower()
    result = ToolResultMessage(calls[0].id, "weather", (TextContent("It rains frogs, 7 degrees."),), False)
    second = await ask(resolved, transport, [question, first, result], tools=[_WEATHER])
    assert "frog" in said(second)
    return second


async def image(resolved: ResolvedModel, transport: Transport) -> AssistantMessage:
    """A reply that tells the colour of a picture."""
    picture = io.BytesIO()
    Image.new("RGB", (64, 64), (255, 0, 0)).save(picture, "PNG")
    shown = ImageContent(base64.b64encode(picture.getvalue()).decode(), "image/png")
    question = UserMessage((TextContent("Which colour is this? One word."), shown))
    reply = await ask(resolved, transport, [question])
    assert "red" in said(reply)
    return reply


async def cache(resolved: ResolvedModel, transport: Transport) -> Usage:
    """The usage of a second request that begins as the first did."""
    system = "".join(LONG_PROMPT.format(number) for number in range(_RULES))
    question = UserMessage("Answer with the one word: pong")
    first = await ask(resolved, transport, [question], system=system)
    second = await ask(resolved, transport, [question, first, UserMessage("Again, please.")], system=system)
    return second.usage
