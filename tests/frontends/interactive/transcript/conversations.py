"""Conversations for tests of the transcript: as events, as they would be stored, and as they are shown."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AssistantMessageEvent,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ReplyDone,
    RunEndReason,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    Json,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    Usage,
    user_message,
)
from kaa.frontends.interactive.transcript.transcript_view import TranscriptView
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.context import ASCII, Context, Size
from kaa.tui.document import Block, Document
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from kaa.tui.width import plain
from tests.tui.blocks import Dock

KEYS = {"app.tools.expand": ["ctrl+o"], "app.thinking.toggle": ["ctrl+t"], "app.transcript": ["ctrl+shift+t"]}


class Session:
    """A transcript on a document."""

    def __init__(self, *, ascii_only: bool = False, styles: dict[str, str] | None = None, **view: Any) -> None:
        palette = Palette(Theme("plain", styles or {}))
        context = Context(palette, Keymap(KEYS), Size(), ASCII if ascii_only else None)
        self.view = ViewOptions(context, **view)
        self.document = Document(Dock(cursor=None))
        self.transcript = TranscriptView(self.document, self.view)

    def show(self, *events: Event) -> "Session":
        for event in events:
            self.transcript.show(event)
        return self

    def painted(self, width: int = 60) -> list[str]:
        return [line for block in self.document.blocks for line in block.render(width)]

    def text(self, width: int = 60) -> str:
        return text_of(self.document.blocks, width)


def text_of(blocks: Sequence[Block], width: int = 60) -> str:
    """What a reader sees of blocks."""
    return "\n".join(plain(line).rstrip() for block in blocks for line in block.render(width)).strip("\n")


def reply(*content: AssistantContent, stop: StopReason = "stop", error: str | None = None) -> AssistantMessage:
    return AssistantMessage(content, "api", "provider", "model", Usage(), stop, 1, error_message=error)


def result(call: ToolCall, text: str, *, error: bool = False, details: Json = None, **more: Any) -> ToolResultMessage:
    content: tuple[ToolResultContent, ...] = (TextContent(text), *more.get("images", ()))
    return ToolResultMessage(call.id, call.name, content, error, details, 1)


def says(text: str) -> list[Event]:
    """The user says something."""
    message = user_message(text)
    return [MessageStart(message), MessageEnd(message)]


def streams(message: AssistantMessage, pieces: int = 7) -> list[Event]:
    """The model replies, a few characters at a time."""
    changes = [change for index, content in enumerate(message.content) for change in _changes(index, content, pieces)]
    return [
        MessageStart(reply()),
        *(MessageUpdate(change) for change in changes),
        MessageUpdate(ReplyDone(message.stop_reason)),
        MessageEnd(message),
    ]


def begins(call: ToolCall) -> Event:
    return ToolExecutionStart(call.id, call.name, call.arguments)


def prints(call: ToolCall, text: str, skipped: int = 0) -> Event:
    return ToolExecutionUpdate(call.id, call.name, text, skipped)


def ends(call: ToolCall, message: ToolResultMessage, milliseconds: int = 5) -> list[Event]:
    return [
        MessageStart(message),
        MessageEnd(message),
        ToolExecutionEnd(call.id, call.name, message, message.is_error, milliseconds),
    ]


def runs(call: ToolCall, message: ToolResultMessage, milliseconds: int = 5) -> list[Event]:
    """A tool runs from beginning to end."""
    return [begins(call), *ends(call, message, milliseconds)]


def run_of(*events: Event, reason: RunEndReason = "done", error: str | None = None) -> list[Event]:
    return [AgentStart(), *events, AgentEnd(reason, (), error)]


def _changes(index: int, content: AssistantContent, size: int) -> Iterator[AssistantMessageEvent]:
    match content:
        case TextContent(text=text):
            yield TextStart(index)
            yield from (TextDelta(index, piece) for piece in _pieces(text, size))
            yield TextEnd(index)
        case ThinkingContent(thinking=text):
            yield ThinkingStart(index)
            yield from (ThinkingDelta(index, piece) for piece in _pieces(text, size))
            yield ThinkingEnd(index)
        case ToolCall():
            yield ToolCallStart(index, content.id, content.name)
            text = msgspec.json.encode(content.arguments).decode()
            yield from (ToolCallDelta(index, piece) for piece in _pieces(text, size))
            yield ToolCallEnd(index, content)


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
