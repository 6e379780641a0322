"""Replies of Anthropic's Messages.

Format: https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from typing import Final

import msgspec

from kaa.core.messages import Json, StopReason, Usage
from kaa.core.provider import BlockEnd, CallChunkStart, ReplyInfo, StreamDone, ThinkingChunk
from kaa.llm import reply_json
from kaa.llm.failures import ended_early, malformed, refused_answer
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.reply_json import ReportedCost
from kaa.llm.wire import Peer


class _Written(msgspec.Struct, frozen=True):
    """What was written to the cache, by how long it is kept."""

    ephemeral_1h_input_tokens: int | None = None


class _Usage(ReportedCost, frozen=True, kw_only=True):
    """Counts so far; None where an event says nothing of one."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Written | None = None

    def updated(self, later: "_Usage") -> "_Usage":
        """These counts, replaced by those `later` has. Servers that imitate Anthropic repeat some as 0."""
        money = later if later.cost is not None else self
        return _Usage(
            input_tokens=later.input_tokens or self.input_tokens,
            output_tokens=later.output_tokens if later.output_tokens is not None else self.output_tokens,
            cache_read_input_tokens=later.cache_read_input_tokens or self.cache_read_input_tokens,
            cache_creation_input_tokens=later.cache_creation_input_tokens or self.cache_creation_input_tokens,
            cache_creation=later.cache_creation or self.cache_creation,
            cost=money.cost,
            is_byok=money.is_byok,
            cost_details=money.cost_details,
        )

    def counted(self) -> Usage:
        """As kaa counts: Anthropic's `input_tokens` excludes the cached ones already."""
        parts = (
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )
        kept_long = self.cache_creation.ephemeral_1h_input_tokens if self.cache_creation else None
        long = min(kept_long or 0, parts[3]) or msgspec.UNSET
        return Usage(*parts, total_tokens=sum(parts), cost=self.reported, cache_write_1h=long)


class _Block(msgspec.Struct, frozen=True):
    """A content block. The fields of all kinds, for kinds kaa does not know must not be errors."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Json = None


# A reply consists of thousands. They cannot form cycles, so the garbage collector need not look at them.
class _Delta(msgspec.Struct, frozen=True, gc=False):
    """The delta of a block, or (with `stop_reason`) of the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_details: Json = None


class _Message(msgspec.Struct, frozen=True):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    content: tuple[_Block, ...] | None = None
    stop_reason: str | None = None
    stop_details: Json = None


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    index: int | None = None
    message: Json = None  # a message at the start; some servers put the text of an error here
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Json = None


_EVENTS: Final = msgspec.json.Decoder(_Event)
_MESSAGES: Final = msgspec.json.Decoder(_Message)

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    # Only tools that run at Anthropic pause a turn, and kaa offers none.
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
}


class MessageParser(ReplyParser):
    """Understands one reply. Arguments as for `ReplyParser`."""

    def __init__(self, peer: Peer, call_id_prefix: str = "call") -> None:
        super().__init__(peer, call_id_prefix)
        self._usage = _Usage()
        self._stop_reason: str | None = None
        self._kinds: dict[int, str] = {}  # of the blocks that are open
        self._inputs: dict[int, Json] = {}  # given at the start of a call, of which no part has come yet
        self._calls = 0

    def accept_whole(self, body: bytes) -> None:
        event = self._decode(_EVENTS, body)
        if event.error or event.type == "error":
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(reply_json.decode_any(body), self._peer)
        message = self._decode(_MESSAGES, body)
        if message.stop_reason is None and not message.content:
            raise malformed("something other than a model's answer", body, self._peer)
        self._inform(message)
        for index, block in enumerate(message.content or ()):
            self._begin(index, block)
            self._end(index)
        self._stop(message.stop_reason or "end_turn", message.stop_details)
        self.finished = True

    def finish(self) -> None:
        if self._stop_reason is None and not self.finished:
            raise ended_early(self._peer)
        for index in list(self._kinds):
            self._end(index)
        reason = _STOP_REASONS.get(self._stop_reason or "", "stop")
        self._buffer.add(StreamDone("toolUse" if reason == "stop" and self._calls else reason))

    def _take(self, data: bytes, kind: str) -> None:
        event = self._decode(_EVENTS, data)
        index = event.index or 0
        match event.type or kind:
            case "content_block_delta":
                if event.delta is not None:
                    self._grow(index, event.delta)
            case "content_block_start":
                if event.content_block is not None:
                    self._begin(index, event.content_block)
            case "content_block_stop":
                self._end(index)
            case "message_start":
                self._inform(self._decode(_MESSAGES, reply_json.encode(event.message or {})))
            case "message_delta":
                self._count(event.usage)
                if event.delta is not None and event.delta.stop_reason:
                    self._stop(event.delta.stop_reason, event.delta.stop_details)
            case "message_stop":
                self.finished = True
            case _:
                if event.error or kind == "error":
                    from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

                    raise failure_of_event(reply_json.decode_any(data), self._peer)
                # `ping`, and events that are still to be invented.

    def _inform(self, message: _Message) -> None:
        self._buffer.add(ReplyInfo(message.id, message.model))
        self._count(message.usage)

    def _count(self, usage: _Usage | None) -> None:
        if usage is not None:
            self._usage = self._usage.updated(usage)
            self._buffer.add(ReplyInfo(usage=self._usage.counted()))

    def _stop(self, reason: str, details: Json) -> None:
        if reason == "refusal":
            explanation = details.get("explanation") if isinstance(details, dict) else None
            raise refused_answer(str(explanation or "it declined to answer"), self._peer)
        self._stop_reason = reason

    def _begin(self, index: int, block: _Block) -> None:
        self._kinds[index] = block.type
        match block.type:
            case "text":
                self._buffer.text(index, block.text or "")
            case "thinking":
                self._buffer.thinking(index, block.thinking or "", block.signature)
            case "redacted_thinking":
                self._buffer.add(ThinkingChunk(index, "", block.data, redacted=True))
            case "tool_use":
                self._calls += 1
                call_id = block.id or f"{self._call_id_prefix}_{self._calls}"
                self._buffer.add(CallChunkStart(index, call_id, block.name or ""))
                if block.input:
                    self._inputs[index] = block.input
            case _:
                del self._kinds[index]  # a kind kaa did not ask for

    def _grow(self, index: int, delta: _Delta) -> None:
        if delta.text:
            self._kinds.setdefault(index, "text")  # a start that never came
        kind = self._kinds.get(index)
        if delta.text and kind == "text":
            self._buffer.text(index, delta.text)
        elif delta.partial_json and kind == "tool_use":
            self._inputs.pop(index, None)
            self._buffer.arguments(index, delta.partial_json)
        elif kind == "thinking" and (delta.thinking or delta.signature):
            self._buffer.thinking(index, delta.thinking or "", delta.signature)

    def _end(self, index: int) -> None:
        if self._kinds.pop(index, None) is None:
            return
        whole = self._inputs.pop(index, None)
        if whole is not None:
            self._buffer.arguments(index, reply_json.encode(whole).decode())
        self._buffer.add(BlockEnd(index))
