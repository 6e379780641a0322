"""A reply that broke off, put together from the events that had been shown of it."""

import msgspec

from kaa.core.events import (
    AssistantMessageEvent,
    ReplyDone,
    ReplyFailed,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from kaa.core.messages import AssistantContent, AssistantMessage, TextContent, ThinkingContent, ToolCall
from kaa.core.partial_json import PartialJson

_INTERRUPTED_CALL = "the arguments are not complete: kaa was interrupted"


class PartialReply:
    """Collects the events of one reply.

    Args:
        begun: the message as it was when the reply began: without content.
    """

    def __init__(self, begun: AssistantMessage) -> None:
        self._begun = begun
        self._texts: dict[int, list[str]] = {}
        self._thinking: dict[int, list[str]] = {}
        self._calls: dict[int, ToolCallStart] = {}
        self._arguments: dict[int, list[str]] = {}
        self._whole_calls: dict[int, ToolCall] = {}

    def add(self, event: AssistantMessageEvent) -> None:
        """Take the next event."""
        match event:
            case TextDelta(index, delta):
                self._texts.setdefault(index, []).append(delta)
            case ThinkingDelta(index, delta):
                self._thinking.setdefault(index, []).append(delta)
            case ToolCallStart(index):
                self._calls[index] = event
            case ToolCallDelta(index, delta):
                self._arguments.setdefault(index, []).append(delta)
            case ToolCallEnd(index, call):
                self._whole_calls[index] = call
            case TextStart() | TextEnd() | ThinkingStart() | ThinkingEnd() | ReplyDone() | ReplyFailed():
                pass

    def message(self, error: str) -> AssistantMessage | None:
        """The aborted message as far as it came; None if nothing of it was shown."""
        indices = sorted({*self._texts, *self._thinking, *self._calls, *self._whole_calls})
        content = tuple(self._block(index) for index in indices)
        if not content:
            return None
        return msgspec.structs.replace(self._begun, content=content, stop_reason="aborted", error_message=error)

    def _block(self, index: int) -> AssistantContent:
        if index in self._texts:
            return TextContent("".join(self._texts[index]))
        if index in self._thinking:
            return ThinkingContent("".join(self._thinking[index]))
        if index in self._whole_calls:
            return self._whole_calls[index]
        return self._unfinished_call(self._calls[index], "".join(self._arguments.get(index, ())))

    def _unfinished_call(self, start: ToolCallStart, arguments: str) -> ToolCall:
        partial = PartialJson()
        partial.feed(arguments)
        return ToolCall(start.id, start.name, partial.value, None if partial.complete else _INTERRUPTED_CALL)
