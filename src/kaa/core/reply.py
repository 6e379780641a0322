"""Folds the small events of a stream into one assistant message, and says what changed on the way."""

from collections.abc import Callable
from typing import Final

import msgspec

from kaa.core import events, provider
from kaa.core.errors import EndlessReplyError
from kaa.core.messages import (
    MAX_JSON_DEPTH,
    AssistantContent,
    AssistantMessage,
    Cost,
    Json,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    now_ms,
)
from kaa.core.prices import price
from kaa.core.provider import Model
from kaa.core.usage import CHARACTERS_PER_TOKEN, context_parts, prompt_tokens

MOST_CHARACTERS: Final = 16 * 1024 * 1024
"""Of one reply: some four million tokens, ten times what any model may answer. What goes on is no reply."""
# What a block counts that has nothing in it: it takes memory too.
_BLOCK_CHARACTERS: Final = 256


class _TextBlock:
    """A text block that still grows."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._parts: list[str] = []
        self._signature: str | None = None

    def start(self) -> events.AssistantMessageEvent:
        return events.TextStart(self.index)

    def feed(self, delta: provider.TextChunk) -> events.AssistantMessageEvent | None:
        self._parts.append(delta.text)
        self._signature = delta.signature or self._signature
        return events.TextDelta(self.index, delta.text) if delta.text else None

    def content(self) -> TextContent | None:
        text = "".join(self._parts)
        return TextContent(text, self._signature) if text else None

    def end(self) -> events.AssistantMessageEvent:
        return events.TextEnd(self.index)


class _ThinkingBlock:
    """A block of reasoning that still grows."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._parts: list[str] = []
        self._signature: str | None = None
        self._redacted = False

    def start(self) -> events.AssistantMessageEvent:
        return events.ThinkingStart(self.index)

    def feed(self, delta: provider.ThinkingChunk) -> events.AssistantMessageEvent | None:
        self._parts.append(delta.text)
        self._signature = delta.signature or self._signature
        self._redacted = self._redacted or delta.redacted
        return events.ThinkingDelta(self.index, delta.text) if delta.text else None

    def content(self) -> ThinkingContent | None:
        text = "".join(self._parts)
        return ThinkingContent(text, self._signature, self._redacted) if text or self._signature else None

    def end(self) -> events.AssistantMessageEvent:
        return events.ThinkingEnd(self.index)


class _ToolCallBlock:
    """A tool call whose arguments still arrive as text."""

    def __init__(self, index: int, start: provider.CallChunkStart, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self._name = start.name
        self._signature = start.thought_signature
        self._parts: list[str] = []
        self._content: ToolCall | None = None
        self._closed = False

    def start(self) -> events.AssistantMessageEvent:
        return events.ToolCallStart(self.index, self.id, self._name)

    def feed(self, delta: provider.ArgumentsChunk) -> events.AssistantMessageEvent | None:
        self._parts.append(delta.json)
        self._content = None
        return events.ToolCallDelta(self.index, delta.json) if delta.json else None

    def content(self) -> ToolCall:
        if self._content is None:
            arguments, error, self._closed = _decode_arguments("".join(self._parts))
            self._content = ToolCall(self.id, self._name, arguments, error, self._signature)
        return self._content

    def cut_off(self) -> ToolCall:
        """The call of a reply that was cut off: brackets that are missing were not just forgotten."""
        call = self.content()
        return msgspec.structs.replace(call, arguments_error=_CUT_OFF) if self._closed else call

    def end(self) -> events.AssistantMessageEvent:
        return events.ToolCallEnd(self.index, self.content())


_Block = _TextBlock | _ThinkingBlock | _ToolCallBlock


_CUT_OFF: Final = "the arguments are not a complete JSON object (the reply was cut off before their end)"


def _decode_arguments(text: str) -> tuple[dict[str, Json], str | None, bool]:
    """The arguments; why they cannot be used if they are not one JSON object; whether brackets had to be closed.

    What is read here is what is stored and sent back, so slips are repaired once.
    """
    if not text.strip():
        return {}, None, False
    reason = "nested too deeply"
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH:  # whatever is between them, this is shallow
        try:
            return msgspec.json.decode(text, type=dict[str, Json]), None, False
        except msgspec.DecodeError:
            pass
        from kaa.core.json_repair import BrokenJsonError, repair_json  # lazy: few models write broken JSON

        try:
            repaired = repair_json(text)
        except BrokenJsonError as error:
            reason = str(error)
        else:
            if isinstance(repaired.value, dict):
                return repaired.value, None, repaired.closed
            reason = "expected an object in braces, but found a list"
    from kaa.core.partial_json import PartialJson  # lazy: most calls are complete

    partial = PartialJson()
    partial.feed(text)
    problem = None if partial.complete else f"the arguments are not a complete JSON object ({reason})"
    return partial.value, problem, False


def _size(event: provider.StreamEvent) -> int:
    """The characters that an event brings to be kept."""
    match event:
        case provider.TextChunk() | provider.ThinkingChunk():
            return len(event.text) + len(event.signature or "")
        case provider.CallChunkStart():
            return len(event.id) + len(event.name) + len(event.thought_signature or "")
        case provider.ArgumentsChunk():
            return len(event.json)
        case _:
            return 0


class ReplyBuilder:
    """Builds the assistant message of one reply.

    `fold` takes the provider's events one by one; `message` is valid at any time, so that a reply that breaks
    off keeps what came.

    Args:
        model: that answers.
        most_characters: how large the reply may become.
        known_as: gives the name of the tool that a name in the reply means.
    """

    def __init__(
        self, model: Model, most_characters: int = MOST_CHARACTERS, known_as: Callable[[str], str] = str
    ) -> None:
        self._model = model
        self._most_characters = most_characters
        self._known_as = known_as
        self._characters = 0
        self._received = 0  # characters of the reply itself
        self._blocks: dict[int | str, _Block] = {}
        self._open: set[int | str] = set()
        self._call_ids: set[str] = set()
        self._next_suffix: dict[str, int] = {}  # by the id that several calls came with
        self._info = provider.ReplyInfo()
        self._timestamp = now_ms()
        self.stop_reason: StopReason | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing worth keeping has come yet."""
        return all(block.content() is None for block in self._blocks.values())

    @property
    def is_answer(self) -> bool:
        """Whether there is a tool call, or text that can be seen. Thinking alone is no answer."""
        contents = [block.content() for block in self._blocks.values()]
        return any(
            isinstance(content, ToolCall) or (isinstance(content, TextContent) and content.text.strip())
            for content in contents
        )

    def fold(self, event: provider.StreamEvent) -> list[events.AssistantMessageEvent]:
        """Take one event of the stream; returns what it means for the message.

        Raises:
            EndlessReplyError: the reply has become too large; the event is not taken.
        """
        size = _size(event)
        self._grow(size + 1)  # a flood of empty events is no reply either
        self._received += size
        match event:
            case provider.TextChunk():
                return self._feed_text(event)
            case provider.ThinkingChunk():
                return self._feed_thinking(event)
            case provider.CallChunkStart():
                return self._start_tool_call(event)
            case provider.ArgumentsChunk():
                return self._feed_tool_call(event)
            case provider.BlockEnd():
                return self._end(event.key)
            case provider.ReplyInfo():
                self._info = provider.ReplyInfo(
                    event.response_id or self._info.response_id,
                    event.response_model or self._info.response_model,
                    event.usage or self._info.usage,
                )
                return []
            case provider.StreamDone():
                self.stop_reason = event.stop_reason
                ended = [change for key in list(self._open) for change in self._end(key)]
                return [*ended, events.ReplyDone(event.stop_reason)]

    def message(self, stop_reason: StopReason, error: str | None = None) -> AssistantMessage:
        """The message as far as it came, with this stop reason."""
        contents: list[AssistantContent] = []
        for block in self._blocks.values():
            cut_off = stop_reason not in ("stop", "toolUse")
            content = block.cut_off() if cut_off and isinstance(block, _ToolCallBlock) else block.content()
            if content is not None:
                contents.append(content)
        return AssistantMessage(
            content=tuple(contents),
            api=self._model.api,
            provider=self._model.provider,
            model=self._model.id,
            usage=price(self._info.usage or Usage(), self._model.cost),
            stop_reason=stop_reason,
            timestamp=self._timestamp,
            response_id=self._info.response_id,
            response_model=self._info.response_model,
            error_message=error,
        )

    def paid(self, request: provider.Request) -> Usage | None:
        """What the reply used so far, for budgets; None if the server has not answered.

        An estimate takes the place of what the server did not report. A reply that breaks off mostly ends before the
        report of its output, so the text that was received counts where it is more.
        """
        told = self._info.usage or Usage()
        if not prompt_tokens(told) + told.output + self._received:
            return None
        received = -(-self._received // CHARACTERS_PER_TOKEN)
        is_complete = self.stop_reason is not None and told.output > 0
        output = told.output if is_complete else max(told.output, received)
        asked = 0 if prompt_tokens(told) else context_parts(request.system, request.tools, request.messages).total
        if asked or output != told.output:
            told = msgspec.structs.replace(told, input=told.input + asked, output=output, cost=Cost())
        return price(told, self._model.cost)

    def _feed_text(self, delta: provider.TextChunk) -> list[events.AssistantMessageEvent]:
        block = self._blocks.get(delta.key)
        if isinstance(block, _TextBlock):
            return _present(block.feed(delta))
        fresh = _TextBlock(len(self._blocks))
        return [*self._begin(delta.key, fresh), *_present(fresh.feed(delta))]

    def _feed_thinking(self, delta: provider.ThinkingChunk) -> list[events.AssistantMessageEvent]:
        block = self._blocks.get(delta.key)
        if isinstance(block, _ThinkingBlock):
            return _present(block.feed(delta))
        fresh = _ThinkingBlock(len(self._blocks))
        return [*self._begin(delta.key, fresh), *_present(fresh.feed(delta))]

    def _start_tool_call(self, start: provider.CallChunkStart) -> list[events.AssistantMessageEvent]:
        start = msgspec.structs.replace(start, name=self._known_as(start.name))
        return self._begin(start.key, _ToolCallBlock(len(self._blocks), start, self._unused_id(start.id)))

    def _unused_id(self, wanted: str) -> str:
        """An id of its own for a call: some servers number the calls of every reply, or all of them, alike."""
        call_id = wanted
        while call_id in self._call_ids:
            suffix = self._next_suffix.get(wanted, 2)
            call_id, self._next_suffix[wanted] = f"{wanted}_{suffix}", suffix + 1
        self._call_ids.add(call_id)
        return call_id

    def _feed_tool_call(self, delta: provider.ArgumentsChunk) -> list[events.AssistantMessageEvent]:
        block = self._blocks.get(delta.key)
        return _present(block.feed(delta)) if isinstance(block, _ToolCallBlock) else []

    def _grow(self, characters: int) -> None:
        self._characters += characters
        if self._characters > self._most_characters:
            raise EndlessReplyError(
                f"The reply did not end: kaa stopped it after {self._most_characters:,} characters, more than any "
                "model may answer. Check the server, or choose another model."
            )

    def _begin(self, key: int | str, block: _Block) -> list[events.AssistantMessageEvent]:
        self._grow(_BLOCK_CHARACTERS)
        self._blocks[key] = block
        self._open.add(key)
        return [block.start()]

    def _end(self, key: int | str) -> list[events.AssistantMessageEvent]:
        if key not in self._open:
            return []
        self._open.remove(key)
        return [self._blocks[key].end()]


def _present(event: events.AssistantMessageEvent | None) -> list[events.AssistantMessageEvent]:
    return [] if event is None else [event]
