"""Replies of OpenAI's Chat Completions and of the servers that imitate it, more or less.

Format: https://platform.openai.com/docs/api-reference/chat-streaming.
"""

from typing import Final

import msgspec

from kaa.core.messages import Json, StopReason, Usage
from kaa.core.provider import BlockEnd, CallChunkStart, StreamDone, TextChunk, ThinkingChunk
from kaa.llm import reply_json
from kaa.llm.completions.reasoning_details import ReasoningDetails
from kaa.llm.failures import ended_early, malformed, refused_answer
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.reply_json import ReportedCost
from kaa.llm.wire import Peer


class _Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: Json = None  # a string; some servers send the object itself


class _ToolCall(msgspec.Struct, frozen=True):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


# A reply consists of thousands. They cannot form cycles, so the garbage collector need not look at them.
class _Delta(msgspec.Struct, frozen=True, gc=False):
    content: Json = None  # a string; Mistral also sends a list of parts
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: Json = None  # OpenRouter
    refusal: str | None = None
    tool_calls: tuple[_ToolCall, ...] | None = None
    function_call: _Function | None = None


class _PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _CompletionDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int | None = None


class _Usage(ReportedCost, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None  # DeepSeek
    cached_tokens: int | None = None  # Moonshot


class _Choice(msgspec.Struct, frozen=True, gc=False):
    index: int | None = None
    delta: _Delta | None = None
    message: _Delta | None = None  # in a reply that is not streamed
    finish_reason: str | None = None
    usage: _Usage | None = None  # Moonshot


class _Chunk(msgspec.Struct, frozen=True, gc=False):
    id: str | None = None
    model: str | None = None
    choices: tuple[_Choice, ...] | None = None
    usage: _Usage | None = None
    error: Json = None
    object: str | None = None
    message: Json = None


_DECODER: Final = msgspec.json.Decoder(_Chunk)

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral's word for the end of the window
    "tool_calls": "toolUse",
    "function_call": "toolUse",
}
# A server that broke off: zai, DeepSeek, OpenRouter.
_BROKEN_OFF: Final = ("error", "network_error", "insufficient_system_resource", "abort")


class _OpenCall:
    """A tool call that still arrives."""

    def __init__(self, key: str, call_id: str, index: int | None, *, has_own_id: bool) -> None:
        self.key = key
        self.id = call_id
        self.has_own_id = has_own_id
        self.index = index
        self.name = ""
        self.started = False
        self.arguments: list[str] = []

    @property
    def is_whole(self) -> bool:
        """Whether no more arguments can come."""
        text = "".join(self.arguments)
        if not text.rstrip().endswith("}"):
            return False
        try:
            msgspec.json.decode(text, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True


class CompletionParser(ReplyParser):
    """Understands one reply.

    Args:
        peer: as for `ReplyParser`, likewise `call_id_prefix`.
        ends_with_reason: the server says why a reply ends; otherwise the end of the stream is its end.
    """

    def __init__(self, peer: Peer, call_id_prefix: str = "call", *, ends_with_reason: bool = True) -> None:
        super().__init__(peer, call_id_prefix)
        self._ends_with_reason = ends_with_reason
        self._block: type[TextChunk | ThinkingChunk] | None = None  # the kind of the block that is open
        self._blocks = 0
        self._calls: list[_OpenCall] = []
        self._call_at: dict[int, _OpenCall] = {}  # the last of each index
        self._call_named: dict[str, _OpenCall] = {}  # the first of each id
        self._details = ReasoningDetails()
        self._thoughts: int | None = None  # the first block of reasoning
        self._finish_reason: str | None = None

    def accept_whole(self, body: bytes) -> None:
        self._take(body)
        if self._finish_reason is None and not self._blocks and not self._calls:
            raise malformed("something other than a model's answer", body, self._peer)
        self.finished = True

    def finish(self) -> None:
        if self._finish_reason is None and not self.finished and self._ends_with_reason:
            raise ended_early(self._peer)
        self._end_block()
        for call in self._calls:
            self._start(call)
        if details := self._details.sealed:
            self._buffer.thinking(self._thoughts or self._blocks + 1, "", details)
        reason = _STOP_REASONS.get(self._finish_reason or "", "stop")
        self._buffer.add(StreamDone("toolUse" if reason == "stop" and self._calls else reason))

    def _take(self, data: bytes, kind: str = "") -> None:
        chunk = self._decode(_DECODER, data)
        if chunk.error or kind == "error" or chunk.object == "error":
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(reply_json.decode_any(data), self._peer)
        self._report(chunk.id, chunk.model, _usage(chunk.usage) if chunk.usage else None)
        for choice in chunk.choices or ():
            if choice.index:
                continue  # another draft of the reply, which kaa never asks for
            if choice.usage:
                self._report(None, None, _usage(choice.usage))
            delta = choice.delta or choice.message
            if delta is not None:
                self._take_delta(delta)
            if choice.finish_reason:
                self._stop(choice.finish_reason)

    def _stop(self, reason: str) -> None:
        if reason == "content_filter":
            raise refused_answer("its content filter stopped it", self._peer)
        if reason in _BROKEN_OFF:
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event(f"the answer was broken off: {reason}", self._peer)
        self._finish_reason = reason

    def _take_delta(self, delta: _Delta) -> None:
        if delta.reasoning_details:
            self._details.add(delta.reasoning_details)
        # Some servers send the same reasoning in two fields.
        if delta.reasoning_content:
            self._think(delta.reasoning_content, "reasoning_content")
        elif delta.reasoning:
            self._think(delta.reasoning, "reasoning")
        elif delta.reasoning_text:
            self._think(delta.reasoning_text, "reasoning_text")
        if delta.content:
            if isinstance(delta.content, str):
                self._write(delta.content)
            else:
                self._take_parts(delta.content)
        if delta.refusal:
            self._write(delta.refusal)
        for call in delta.tool_calls or ():
            self._take_call(call)
        if delta.function_call is not None:
            self._take_call(_ToolCall(0, None, delta.function_call))

    def _take_parts(self, parts: Json) -> None:
        """Content as a list, as Mistral sends it: text, and thinking that is itself a list of text."""
        for part in parts if isinstance(parts, list) else ():
            match part:
                case {"type": "text", "text": str(text)}:
                    self._write(text)
                case {"type": "thinking", "thinking": [*inner]}:
                    for piece in inner:
                        if isinstance(piece, dict) and isinstance(piece.get("text"), str):
                            self._think(piece["text"], "thinking")
                case _:
                    pass  # references and whatever else is to come

    def _write(self, text: str) -> None:
        if self._block is not TextChunk:
            self._begin_block(TextChunk)
        self._buffer.text(self._blocks, text)

    def _think(self, text: str, field: str) -> None:
        if self._block is not ThinkingChunk:
            self._begin_block(ThinkingChunk)
            self._thoughts = self._thoughts or self._blocks
            self._buffer.thinking(self._blocks, text, field)
        else:
            self._buffer.thinking(self._blocks, text)

    def _begin_block(self, kind: type[TextChunk | ThinkingChunk]) -> None:
        self._end_block()
        self._block = kind
        self._blocks += 1

    def _end_block(self) -> None:
        if self._block is not None:
            self._buffer.add(BlockEnd(self._blocks))
            self._block = None

    def _take_call(self, delta: _ToolCall) -> None:
        self._end_block()
        function = delta.function or _Function()
        call = self._call_of(delta, function)
        call.name = call.name or function.name or ""
        arguments = function.arguments
        if arguments is not None and not isinstance(arguments, str):
            arguments = reply_json.encode(arguments).decode()
        if call.name:
            self._start(call)
        if arguments:
            call.arguments.append(arguments)
            if call.started:
                self._buffer.arguments(call.key, arguments)

    def _call_of(self, delta: _ToolCall, function: _Function) -> _OpenCall:
        """The call `delta` belongs to; servers count by index, by id, by name, or not at all."""
        if delta.index is not None:
            known = self._call_at.get(delta.index)
        else:
            known = self._call_named.get(delta.id or "")
            if known is None and self._calls:
                known = self._calls[-1]
        if known is None or self._is_another(known, delta, function):
            number = len(self._calls) + 1
            call_id = delta.id or f"{self._call_id_prefix}_{number}"
            known = _OpenCall(f"call{number}", call_id, delta.index, has_own_id=bool(delta.id))
            self._calls.append(known)
            self._call_named.setdefault(known.id, known)
            if known.index is not None:
                self._call_at[known.index] = known
        return known

    @staticmethod
    def _is_another(known: _OpenCall, delta: _ToolCall, function: _Function) -> bool:
        """Whether `delta` begins a call of its own although it looks like more of `known`."""
        if not function.name:
            return False
        # Servers that give every call the index 0; others repeat the name, or invent a new id, with every delta.
        other_id = bool(delta.id) and delta.id != known.id
        if delta.index is not None and not other_id:
            # Without ids, arguments after whole ones, with a name before them, are those of the next call.
            return not delta.id and not known.has_own_id and bool(_visible(function.arguments)) and known.is_whole
        return known.is_whole or (other_id and not known.arguments)

    def _start(self, call: _OpenCall) -> None:
        if not call.started:
            call.started = True
            self._buffer.add(CallChunkStart(call.key, call.id, call.name))
            for arguments in call.arguments:
                self._buffer.arguments(call.key, arguments)


def _visible(arguments: Json) -> Json:
    return arguments.strip() if isinstance(arguments, str) else arguments


def _usage(usage: _Usage) -> Usage:
    """Tokens as kaa counts them: `input` without the cached ones."""
    details = usage.prompt_tokens_details or _PromptDetails()
    cached = details.cached_tokens or usage.prompt_cache_hit_tokens or usage.cached_tokens or 0
    written = details.cache_write_tokens or 0
    prompt, output = usage.prompt_tokens or 0, usage.completion_tokens or 0
    reasoning = (usage.completion_tokens_details or _CompletionDetails()).reasoning_tokens or 0
    if reasoning and usage.total_tokens == prompt + output + reasoning:
        output += reasoning  # xAI counts reasoning apart from the completion
    return Usage(
        input=max(0, prompt - cached - written),
        output=output,
        cache_read=cached,
        cache_write=written,
        total_tokens=max(0, prompt - cached - written) + cached + written + output,
        cost=usage.reported,
    )
