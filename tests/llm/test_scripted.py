"""The provider other tests and extension authors rely on."""

import asyncio
from contextlib import aclosing

import pytest

from kaa.core.errors import OverloadedError
from kaa.core.messages import Message, UserMessage
from kaa.core.provider import ArgumentsChunk, CallChunkStart, Model, Request, StreamDone, StreamEvent, TextChunk
from kaa.llm.scripted import Pause, ScriptedProvider, ScriptedReply, ScriptItem, reply

_MODEL = Model("m", "p", "a")


def _request(*messages: Message) -> Request:
    return Request(_MODEL, "", list(messages))


async def _collect(provider: ScriptedProvider, request: Request | None = None) -> list[StreamEvent]:
    return [event async for event in provider.stream(request or _request())]


def test_each_request_takes_the_next_item() -> None:
    provider = ScriptedProvider([reply("one"), OverloadedError("busy"), reply(["t", "wo"])])

    first = asyncio.run(_collect(provider))
    with pytest.raises(OverloadedError, match="busy"):
        asyncio.run(_collect(provider))
    second = asyncio.run(_collect(provider))

    assert first[0] == TextChunk("text", "one")
    assert second[:2] == [TextChunk("text", "t"), TextChunk("text", "wo")]
    assert second[-1] == StreamDone("stop")
    assert provider.remaining == 0


def test_tool_calls_are_encoded_unless_given_as_text() -> None:
    provider = ScriptedProvider([reply(tool_calls=[("bash", {"command": "ls"}), ("read", '{"cut', "id-2")])])

    events = asyncio.run(_collect(provider))

    assert CallChunkStart(1, "call_1", "bash") in events
    assert ArgumentsChunk(1, '{"command":"ls"}') in events
    assert CallChunkStart(2, "id-2", "read") in events
    assert ArgumentsChunk(2, '{"cut') in events
    assert events[-1] == StreamDone("toolUse")


def test_an_error_may_break_off_a_reply() -> None:
    provider = ScriptedProvider([reply("half", after=[OverloadedError("gone")])])
    seen: list[StreamEvent] = []

    async def scenario() -> None:
        async for event in provider.stream(_request()):
            seen.append(event)  # noqa: PERF401 - what came before the error matters

    with pytest.raises(OverloadedError, match="gone"):
        asyncio.run(scenario())
    assert seen[0] == TextChunk("text", "half")
    assert provider.closed == 0


def test_a_script_can_answer_what_it_is_asked() -> None:
    def echo(request: Request) -> ScriptedReply:
        return reply(str(len(request.messages)))

    script: list[ScriptItem] = [echo]
    provider = ScriptedProvider(script)

    events = asyncio.run(_collect(provider, _request(UserMessage("a"), UserMessage("b"))))

    assert events[0] == TextChunk("text", "2")


def test_requests_are_kept_as_they_were() -> None:
    provider = ScriptedProvider([reply("x")])
    messages: list[Message] = [UserMessage("a")]

    asyncio.run(_collect(provider, Request(_MODEL, "", messages)))
    messages.clear()

    assert len(provider.requests[0].messages) == 1


def test_a_request_too_many_is_reported() -> None:
    with pytest.raises(AssertionError, match="request 1 came, but the script has 0 items"):
        asyncio.run(_collect(ScriptedProvider()))


def test_a_pause_holds_the_stream_until_it_is_released() -> None:
    pause = Pause()
    provider = ScriptedProvider([reply("after", before=[pause])])

    async def scenario() -> list[StreamEvent]:
        task = asyncio.create_task(_collect(provider))
        await pause.reached.wait()
        assert not task.done()
        pause.until.set()
        return await task

    assert asyncio.run(scenario())[0] == TextChunk("text", "after")


def test_closing_a_stream_early_is_counted() -> None:
    provider = ScriptedProvider([reply(["a", "b"])])

    async def scenario() -> None:
        events = provider.stream(_request())
        async with aclosing(events) as stream:
            await anext(stream)

    asyncio.run(scenario())

    assert provider.closed == 1
