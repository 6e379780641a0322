"""Messages, events and session files for tests of the session layer."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kaa.core.events import Event, MessageEnd, MessageStart, MessageUpdate, TextDelta, ToolExecutionStart
from kaa.core.messages import AssistantContent, AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage
from kaa.session.context import build_context
from kaa.session.file.file_store import FileStore
from kaa.session.recorder import SessionRecorder
from kaa.session.store import SessionStore
from tests.support.agents import run, say

JsonObject = dict[str, Any]

HEADER: JsonObject = {
    "type": "session",
    "version": 3,
    "id": "01a1f7ee-caf1-7e9f-8904-a39d66b696a1",
    "timestamp": "2026-11-20T07:49:44.305Z",
    "cwd": "/home/u/p",
}


def entry(kind: str, entry_id: str, parent: str | None, /, **fields: Any) -> JsonObject:
    """An entry as pi writes it."""
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": "2026-11-20T07:49:45.000Z", **fields}


def user_entry(entry_id: str, parent: str | None, text: str) -> JsonObject:
    """A user message as pi writes it."""
    content = [{"type": "text", "text": text}]
    return entry("message", entry_id, parent, message={"role": "user", "content": content, "timestamp": 1795160984342})


def write_session(path: Path, *entries: JsonObject, header: JsonObject = HEADER) -> Path:
    """A session file of these entries."""
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (header, *entries)))
    return path


@contextmanager
def opened(path: Path) -> Iterator[FileStore]:
    """An existing session, closed at the end."""
    store = FileStore.open(path)
    try:
        yield store
    finally:
        run(store.close())


def texts(store: SessionStore) -> list[str]:
    """What the messages of the context say."""
    said = []
    for message in build_context(store).messages:
        content = message.content
        said.append(content if isinstance(content, str) else "".join(getattr(block, "text", "") for block in content))
    return said


def reply(*content: AssistantContent | str) -> AssistantMessage:
    """A complete reply of a model."""
    blocks = tuple(TextContent(block) if isinstance(block, str) else block for block in content)
    calls = any(isinstance(block, ToolCall) for block in blocks)
    return AssistantMessage(blocks, "openai-completions", "fake", "m", Usage(), "toolUse" if calls else "stop")


def result(call_id: str, text: str) -> ToolResultMessage:
    """The result of a tool call."""
    return ToolResultMessage(call_id, "bash", (TextContent(text),), is_error=False)


def streamed(*deltas: str) -> list[Event]:
    """A reply that begins and has not ended."""
    return [MessageStart(reply()), *(MessageUpdate(TextDelta(0, delta)) for delta in deltas)]


def running(call_id: str) -> list[Event]:
    """A reply that calls a tool, which begins to run."""
    call = ToolCall(call_id, "bash", {"command": "make"})
    return [
        MessageStart(reply()),
        MessageEnd(reply(call)),
        ToolExecutionStart(call_id, "bash", {"command": "make"}),
    ]


def record_all(recorder: SessionRecorder, events: Sequence[Event]) -> None:
    """Record events in order."""
    for event in events:
        recorder.record(event)


def prompt(text: str) -> list[Event]:
    """The user says something."""
    return [MessageStart(say(text)), MessageEnd(say(text))]
