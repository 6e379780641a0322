"""Replies of Gemini.

Format: https://ai.google.dev/api/generate-content. Each chunk of a stream is a reply of its own kind, with the parts
that are new; the stream has no mark at its end, and a reason to finish may come before the last chunk.
"""

from typing import Final

import msgspec

from kaa.core.messages import Json, StopReason, Usage
from kaa.core.provider import BlockEnd, CallChunkStart, StreamDone, TextChunk, ThinkingChunk
from kaa.llm import reply_json
from kaa.llm.failures import broken_off, ended_early, malformed, refused_answer
from kaa.llm.http.streaming import ReplyParser
from kaa.llm.wire import Peer


class _FunctionCall(msgspec.Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    args: Json = None


class _Part(msgspec.Struct, rename="camel", frozen=True):
    """A part of the content. Kinds that kaa did not ask for have none of these."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct, frozen=True):
    parts: tuple[_Part, ...] | None = None


class _Candidate(msgspec.Struct, rename="camel", frozen=True):
    index: int | None = None
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Usage(msgspec.Struct, rename="camel", frozen=True):
    """Counts so far; None where a chunk says nothing of one."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None

    def updated(self, later: "_Usage") -> "_Usage":
        """These counts, replaced by those `later` has."""
        return _Usage(
            *(
                new if new is not None else old
                for old, new in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(later), strict=True)
            )
        )

    def counted(self) -> Usage:
        """As kaa counts: `input` without the cached tokens, `output` with those of the reasoning."""
        cached = self.cached_content_token_count or 0
        fresh = max(0, (self.prompt_token_count or 0) - cached) + (self.tool_use_prompt_token_count or 0)
        output = (self.candidates_token_count or 0) + (self.thoughts_token_count or 0)
        return Usage(fresh, output, cached, total_tokens=fresh + cached + output)


class _Feedback(msgspec.Struct, rename="camel", frozen=True):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Chunk(msgspec.Struct, rename="camel", frozen=True):
    candidates: tuple[_Candidate, ...] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Json = None


_CHUNK: Final = msgspec.json.Decoder(_Chunk)
_CHUNKS: Final = msgspec.json.Decoder(tuple[_Chunk, ...])

_STOP_REASONS: Final[dict[str, StopReason]] = {"MAX_TOKENS": "length", "CONTINUATION": "length"}
# https://ai.google.dev/api/generate-content#FinishReason, and those of google-genai 3.4.
_WITHHELD: Final = {
    "SAFETY": "its safety filter stopped it",
    "RECITATION": "it would have repeated a source word for word",
    "LANGUAGE": "it does not speak this language",
    "BLOCKLIST": "it reached a word that is not allowed",
    "PROHIBITED_CONTENT": "its filter stopped it for prohibited content",
    "SPII": "it came to personal data",
    "MODEL_ARMOR": "Model Armor stopped it",
    "ESCALATION": "a filter of the vendor stopped it",
    "IMAGE_SAFETY": "its safety filter stopped an image",
    "IMAGE_PROHIBITED_CONTENT": "its filter stopped an image for prohibited content",
    "IMAGE_RECITATION": "an image would have repeated a source",
}
_BROKEN_OFF: Final = {
    "MALFORMED_FUNCTION_CALL": "it wrote a tool call that cannot be read",
    "UNEXPECTED_TOOL_CALL": "it called a tool that it was not given",
    "TOO_MANY_TOOL_CALLS": "it made too many tool calls",
    "MALFORMED_RESPONSE": "it wrote something that cannot be read",
    "OTHER": "it gave no reason",
}
# As errors of google.rpc.Code, which say the same in place of a reply.
_REFUSED: Final = {
    "MISSING_THOUGHT_SIGNATURE": "INVALID_ARGUMENT",
    "PUP_LIMITED_DISABLED": "PERMISSION_DENIED",
}


class GeminiParser(ReplyParser):
    """Understands one reply. Arguments as for `ReplyParser`; a call with the id of another one gets one of kaa's."""

    def __init__(self, peer: Peer, call_id_prefix: str = "call") -> None:
        super().__init__(peer, call_id_prefix)
        self._block: type[TextChunk | ThinkingChunk] | None = None  # the kind of the block that is open
        self._blocks = 0
        self._call_ids: set[str] = set()
        self._usage = _Usage()
        self._finish_reason: str | None = None

    def accept_whole(self, body: bytes) -> None:
        """Take a body that is no stream: a server that does not know `alt=sse` sends the chunks as one array."""
        self._take(body)
        if self._finish_reason is None and not self._blocks:
            raise malformed("something other than a model's answer", body, self._peer)
        self.finished = True

    def finish(self) -> None:
        if self._finish_reason is None and not self.finished:
            raise ended_early(self._peer)
        self._end_block()
        reason = _STOP_REASONS.get(self._finish_reason or "", "stop")
        self._buffer.add(StreamDone("toolUse" if reason == "stop" and self._call_ids else reason))

    def _take(self, data: bytes, kind: str = "") -> None:
        chunks = self._decode(_CHUNKS, data) if data.startswith(b"[") else (self._decode(_CHUNK, data),)
        for chunk in chunks:
            if chunk.error:
                from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

                raise failure_of_event({"error": chunk.error}, self._peer)
            self._inform(chunk)
            if chunk.prompt_feedback is not None:
                self._heed(chunk.prompt_feedback)
            for candidate in chunk.candidates or ():
                if not candidate.index:  # others are further drafts of the reply, which kaa never asks for
                    self._take_candidate(candidate)

    def _inform(self, chunk: _Chunk) -> None:
        if chunk.usage_metadata is not None:
            self._usage = self._usage.updated(chunk.usage_metadata)
        usage = self._usage.counted() if chunk.usage_metadata is not None else None
        self._report(chunk.response_id, chunk.model_version, usage)

    def _heed(self, feedback: _Feedback) -> None:
        if feedback.block_reason:
            details = f": {feedback.block_reason_message}" if feedback.block_reason_message else ""
            raise refused_answer(f"its filter blocked the question, {feedback.block_reason}{details}", self._peer)

    def _take_candidate(self, candidate: _Candidate) -> None:
        for part in (candidate.content.parts if candidate.content else None) or ():
            if part.function_call is not None:
                self._call(part.function_call, part.thought_signature)
            elif part.thought:
                self._grow(ThinkingChunk, part.text or "", part.thought_signature)
            elif part.text is not None:
                self._grow(TextChunk, part.text, part.thought_signature)
        if candidate.finish_reason:
            self._stop(candidate.finish_reason, candidate.finish_message)

    def _grow(self, kind: type[TextChunk | ThinkingChunk], text: str, signature: str | None) -> None:
        """Text or reasoning. The last part of a stream is often empty: it brings the signature of those before."""
        if not text and (not signature or (kind is TextChunk and self._block is not TextChunk)):
            return
        if self._block is not kind:
            self._end_block()
            self._block = kind
            self._blocks += 1
        if kind is TextChunk:
            self._buffer.text(self._blocks, text, signature)
        else:
            self._buffer.thinking(self._blocks, text, signature)

    def _end_block(self) -> None:
        if self._block is not None:
            self._buffer.add(BlockEnd(self._blocks))
            self._block = None

    def _call(self, call: _FunctionCall, signature: str | None) -> None:
        self._end_block()
        self._blocks += 1
        number = len(self._call_ids) + 1
        call_id = call.id if call.id and call.id not in self._call_ids else f"{self._call_id_prefix}_{number}"
        self._call_ids.add(call_id)
        self._buffer.add(CallChunkStart(self._blocks, call_id, call.name or "", signature))
        # A string is not Google's, but of servers that translate from other formats.
        arguments = call.args if isinstance(call.args, str) else reply_json.encode(call.args or {}).decode()
        self._buffer.arguments(self._blocks, arguments)
        self._buffer.add(BlockEnd(self._blocks))

    def _stop(self, reason: str, message: str | None) -> None:
        said = f": {message}" if message else ""
        if reason in _WITHHELD:
            raise refused_answer(f"{_WITHHELD[reason]}, {reason}{said}", self._peer)
        if reason in _REFUSED:
            from kaa.llm.server_errors import failure_of_event  # lazy: few requests fail

            raise failure_of_event({"status": _REFUSED[reason], "message": f"{reason}{said}"}, self._peer)
        if reason in _BROKEN_OFF:
            raise broken_off(f"{_BROKEN_OFF[reason]}, {reason}{said}", self._peer)
        self._finish_reason = reason
