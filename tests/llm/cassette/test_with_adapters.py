"""The wire formats through their real adapters: recorded in one directory, replayed in another."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kaa.core.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    user_message,
)
from kaa.core.provider import ArgumentsChunk, CallChunkStart, Model, Request, StreamEvent, TextChunk, ToolSchema
from kaa.llm.cassette import CassetteDivergence, RecordingTransport, ReplayTransport
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse, Transport
from kaa.llm.models.adapters import create_provider
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.wire import Endpoint

_TOOLS = (ToolSchema("read", "Reads a file", {"type": "object", "properties": {"path": {"type": "string"}}}),)


def _openai(*deltas: Json, finish: str) -> bytes:
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _openai_call(**fields: Json) -> Json:
    return {"tool_calls": [{"index": 0, **fields}]}


def _anthropic(block: Json, *deltas: Json, stop: str) -> bytes:
    events: list[Json] = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def _gemini(*parts: Json) -> bytes:
    chunks: list[Json] = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    chunks.append({"candidates": [{"finishReason": "STOP"}]})
    return b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)


def _responses(item: Json, kind: str, *deltas: str) -> bytes:
    """One output item; what it says is in the deltas, and once more in the ends of the item and of the reply."""
    field: Json = {"arguments": "".join(deltas)}
    if item["type"] == "message":
        field = {"content": [{"type": "output_text", "text": "".join(deltas)}]}
    place = {"output_index": 0, "item_id": item["id"]}
    events: list[Json] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": f"response.{kind}.delta", **place, "delta": delta} for delta in deltas),
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, **field}},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [{**item, **field}]}},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


# A tool call whose path comes in three pieces (of Gemini in one), then a text.
_BODIES = {
    "openai-completions": [
        _openai(
            _openai_call(id="call_1", type="function", function={"name": "read", "arguments": ""}),
            *(_openai_call(function={"arguments": part}) for part in ('{"path": "/tmp/th', "en/a", '.py"}')),
            finish="tool_calls",
        ),
        _openai({"content": "done in /tmp"}, {"content": "/then"}, finish="stop"),
    ],
    "anthropic-messages": [
        _anthropic(
            {"type": "tool_use", "id": "call_1", "name": "read", "input": {}},
            *({"type": "input_json_delta", "partial_json": part} for part in ('{"path": "/tmp/th', "en/a", '.py"}')),
            stop="tool_use",
        ),
        _anthropic(
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "done in /tmp"},
            {"type": "text_delta", "text": "/then"},
            stop="end_turn",
        ),
    ],
    "openai-responses": [
        _responses(
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": ""},
            "function_call_arguments",
            *('{"path": "/tmp/th', "en/a", '.py"}'),
        ),
        _responses({"type": "message", "id": "msg_1", "content": []}, "output_text", "done in /tmp", "/then"),
    ],
    "google-generative-ai": [
        _gemini(
            {"text": "I read /tmp", "thought": True},
            {"functionCall": {"name": "read", "args": {"path": "/tmp/then/a.py"}}, "thoughtSignature": "c2ln"},
        ),
        _gemini({"text": "done in /tmp"}, {"text": "/then"}, {"text": "", "thoughtSignature": "c2ln"}),
    ],
}


class _Server:
    def __init__(self, bodies: list[bytes]) -> None:
        self._bodies = list(bodies)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        yield HttpResponse(200, Headers((("content-type", "text/event-stream"),)), self._play(self._bodies.pop(0)))

    async def _play(self, body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 37):
            yield body[start : start + 37]

    async def close(self) -> None:
        pass


async def _run(api: str, transport: Transport, cwd: str, output: str, question: str = "fix it") -> tuple[str, str]:
    """Two turns: what the tool was asked to read, and what was said in the end."""
    model = Model("m", "p", api)
    provider = create_provider(ResolvedModel(model, Endpoint("https://host/v1", "k3y-of-the-run")), transport)
    history: list[Message] = [user_message(f"{question} in {cwd}")]

    async def ask() -> list[StreamEvent]:
        request = Request(model, f"You are in {cwd}.", tuple(history), _TOOLS)
        return [event async for event in provider.stream(request)]

    events = await ask()
    [start] = [event for event in events if isinstance(event, CallChunkStart)]
    arguments = json.loads("".join(event.json for event in events if isinstance(event, ArgumentsChunk)))
    call = ToolCall(start.id, start.name, arguments)
    history += (
        AssistantMessage((call,), api, "p", "m", Usage(), "toolUse"),
        ToolResultMessage(call.id, call.name, (TextContent(output),), False),
    )
    answer = "".join(event.text for event in await ask() if isinstance(event, TextChunk))
    return arguments["path"], answer


def _record(path: Path, api: str) -> tuple[str, str]:
    async def run() -> tuple[str, str]:
        transport = RecordingTransport(_Server(_BODIES[api]), path, {"cwd": "/tmp/then"})
        return await _run(api, transport, "/tmp/then", "1 passed in 0.12s at /tmp/then")

    return asyncio.run(run())


@pytest.mark.parametrize("api", _BODIES)
def test_a_run_replays_elsewhere_without_divergence(tmp_path: Path, api: str) -> None:
    recorded = _record(tmp_path / "run.jsonl", api)

    async def run() -> tuple[str, str]:
        transport = ReplayTransport(tmp_path / "run.jsonl", {"cwd": "/home/me/now"})
        return await _run(api, transport, "/home/me/now", "1 passed in 11.5s at /home/me/now")

    assert recorded == ("/tmp/then/a.py", "done in /tmp/then")
    assert asyncio.run(run()) == ("/home/me/now/a.py", "done in /home/me/now")
    assert "k3y" not in (tmp_path / "run.jsonl").read_text()
    assert "/tmp/then" not in (tmp_path / "run.jsonl").read_text()


@pytest.mark.parametrize("api", _BODIES)
def test_another_question_is_refused_and_other_tool_output_is_not(tmp_path: Path, api: str) -> None:
    _record(tmp_path / "run.jsonl", api)

    async def run(output: str, question: str) -> None:
        transport = ReplayTransport(tmp_path / "run.jsonl", {"cwd": "/now"})
        await _run(api, transport, "/now", output, question)

    asyncio.run(run("1 failed in 0.1s at /now", "fix it"))
    with pytest.raises(CassetteDivergence, match=r"request 1, ((messages|input)\[\d\]\.content|contents\[\d\]\.parts)"):
        asyncio.run(run("1 passed in 0.1s at /now", "break it"))
