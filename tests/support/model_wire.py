"""Renders scripted answers as the vendors' servers stream them, one small renderer per wire format."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec

from kaa.core.messages import Json
from tests.support.model_script import Answer, Refusal, Tokens

Wire = Literal["openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai"]

MODEL_ID = "test-model"


class SseEvent(NamedTuple):
    """One event as sent. `is_delta`: it carries a piece of the reply, so a fault may follow it."""

    data: bytes
    is_delta: bool = False


def render(answer: Answer, wire: Wire, number: int = 1) -> list[SseEvent]:
    """The stream of `answer`, the `number`th of its server, complete and without its fault."""
    calls = (
        msgspec.structs.replace(call, id=call.id or f"call_{number}_{index}")
        for index, call in enumerate(answer.calls, start=1)
    )
    return list(_RENDERERS[wire](msgspec.structs.replace(answer, calls=tuple(calls))))


def render_failure(wire: Wire) -> bytes:
    """The event with which a server says, inside a stream, that it failed."""
    payload = _FAILURES[wire]
    return _sse(payload, named="type" in payload).data


def refusal_body(refusal: Refusal, wire: Wire) -> bytes:
    """The body of an error response."""
    if refusal.body is not None:
        return refusal.body.encode()
    kind, message = _ANTHROPIC_ERRORS.get(refusal.status, ("api_error", "Internal server error"))
    if wire == "anthropic-messages":
        if refusal.overflow:
            message = "prompt is too long: 212345 tokens > 200000 maximum"
        body: Json = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        return msgspec.json.encode(body)
    if wire == "google-generative-ai":
        name, message = _GOOGLE_ERRORS.get(refusal.status, ("INTERNAL", "An internal error has occurred"))
        if refusal.overflow:
            message = "The input token count (1212345) exceeds the maximum number of tokens allowed (1048576)."
        return msgspec.json.encode({"error": {"code": refusal.status, "message": message, "status": name}})
    kind, message = _OPENAI_ERRORS.get(refusal.status, ("server_error", "The server had an error"))
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(refusal.status)
    if refusal.overflow:
        code = "context_length_exceeded"
        message = (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. "
            "Please reduce the length of the messages."
        )
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


_ANTHROPIC_ERRORS = {
    400: ("invalid_request_error", "invalid request"),
    401: ("authentication_error", "invalid x-api-key"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
_OPENAI_ERRORS = {
    400: ("invalid_request_error", "invalid request"),
    401: ("invalid_request_error", "Incorrect API key provided"),
    429: ("requests", "Rate limit reached for requests. Please try again later."),
    500: ("server_error", "The server had an error while processing your request"),
    529: ("server_error", "The engine is currently overloaded, please try again later"),
}
_GOOGLE_ERRORS = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    500: ("INTERNAL", "An internal error has occurred."),
    529: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
}
_FAILURES: dict[Wire, Json] = {
    "openai-completions": {"error": {"message": "The server had an error", "type": "server_error", "code": None}},
    "anthropic-messages": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "openai-responses": {
        "type": "response.failed",
        "response": {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "The server failed"}},
    },
    "google-generative-ai": {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
}


def _sse(payload: Json, named: bool, *, is_delta: bool = False) -> SseEvent:
    name = b"event: " + payload["type"].encode() + b"\n" if named else b""
    return SseEvent(name + b"data: " + msgspec.json.encode(payload) + b"\n\n", is_delta)


def _halves(text: str) -> tuple[str, ...]:
    """Arguments come in more than one delta, as from a real model."""
    middle = len(text) // 2
    return tuple(part for part in (text[:middle], text[middle:]) if part)


# OpenAI Chat Completions (https://platform.openai.com/docs/api-reference/chat-streaming).


def _completions(answer: Answer) -> Iterator[SseEvent]:
    yield _chunk({"role": "assistant", "content": ""})
    for delta in answer.thinking:
        yield _chunk({"reasoning_content": delta}, is_delta=True)
    for delta in answer.text:
        yield _chunk({"content": delta}, is_delta=True)
    for index, call in enumerate(answer.calls):
        function: Json = {"name": call.name, "arguments": ""}
        start = {"index": index, "id": call.id, "type": "function", "function": function}
        yield _chunk({"tool_calls": [start]})
        for part in _halves(call.arguments):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]}, is_delta=True)
    yield _chunk({}, {"end": "stop", "length": "length", "tool_use": "tool_calls"}[answer.stop_kind])
    if answer.usage is not None:
        yield _sse({**_chunk_frame([]), "usage": _openai_usage(answer.usage)}, named=False)
    yield SseEvent(b"data: [DONE]\n\n")


def _chunk(delta: Json, finish_reason: str | None = None, *, is_delta: bool = False) -> SseEvent:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _sse(_chunk_frame([choice]), named=False, is_delta=is_delta)


def _chunk_frame(choices: list[Json]) -> dict[str, Json]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": MODEL_ID,
        "choices": choices,
    }


def _openai_usage(usage: Tokens) -> Json:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        **_cost(usage),
    }


def _cost(usage: Tokens) -> dict[str, Json]:
    return {} if usage.cost is None else {"cost": usage.cost, "is_byok": False, "cost_details": {}}


# Anthropic Messages (https://docs.claude.com/en/docs/build-with-claude/streaming).


def _messages(answer: Answer) -> Iterator[SseEvent]:
    usage = answer.usage or Tokens(0, 0, 0)
    frame: dict[str, Json] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL_ID,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.prompt - usage.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": 1,
        },
    }
    yield _sse({"type": "message_start", "message": frame}, named=True)
    index = 0
    if answer.thinking:
        deltas: list[Json] = [{"type": "thinking_delta", "thinking": delta} for delta in answer.thinking]
        deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
        yield from _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
        index += 1
    if answer.text:
        deltas = [{"type": "text_delta", "text": delta} for delta in answer.text]
        yield from _block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for call in answer.calls:
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in _halves(call.arguments)]
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield from _block(index, block, deltas)
        index += 1
    reason = {"end": "end_turn", "length": "max_tokens", "tool_use": "tool_use"}[answer.stop_kind]
    ending = {"stop_reason": reason, "stop_sequence": None}
    yield _sse(
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage.output, **_cost(usage)}}, named=True
    )
    yield _sse({"type": "message_stop"}, named=True)


def _block(index: int, block: Json, deltas: list[Json]) -> Iterator[SseEvent]:
    yield _sse({"type": "content_block_start", "index": index, "content_block": block}, named=True)
    for delta in deltas:
        yield _sse({"type": "content_block_delta", "index": index, "delta": delta}, named=True, is_delta=True)
    yield _sse({"type": "content_block_stop", "index": index}, named=True)


# OpenAI Responses (https://platform.openai.com/docs/api-reference/responses-streaming).


def _responses(answer: Answer) -> Iterator[SseEvent]:
    frame: dict[str, Json] = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": MODEL_ID}
    frame |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    begun = {**frame, "status": "in_progress", "incomplete_details": None, "output": []}
    events: list[tuple[Json, bool]] = [({"type": "response.created", "response": begun}, False)]
    output: list[Json] = []
    if answer.thinking:
        item: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
        events += _responses_item(output, item, _responses_summary(answer.thinking))
    if answer.text:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
        events += _responses_item(output, item, _responses_text(answer.text))
    for number, call in enumerate(answer.calls, start=1):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.id, "name": call.name, "arguments": ""}
        item |= {"namespace": call.namespace} if call.namespace else {}
        events += _responses_item(output, item, _responses_arguments(call.arguments))
    status = "incomplete" if answer.stop_kind == "length" else "completed"
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    ended = {**frame, "status": status, "incomplete_details": details, "output": output}
    ended["usage"] = _responses_usage(answer.usage or Tokens(0, 0, 0))
    events.append(({"type": f"response.{status}", "response": ended}, False))
    for number, (event, is_delta) in enumerate(events):
        yield _sse({**event, "sequence_number": number}, named=True, is_delta=is_delta)


def _responses_item(
    output: list[Json], item: Json, inner: tuple[list[tuple[Json, bool]], Json]
) -> Iterator[tuple[Json, bool]]:
    """The events of one output item, which is appended to `output`."""
    place = {"output_index": len(output)}
    events, whole = inner
    yield {"type": "response.output_item.added", **place, "item": item}, False
    for event, is_delta in events:
        yield {**event, **place, "item_id": item["id"]}, is_delta
    output.append({**item, **whole})
    yield {"type": "response.output_item.done", **place, "item": output[-1]}, False


def _responses_summary(deltas: tuple[str, ...]) -> tuple[list[tuple[Json, bool]], Json]:
    kind, text = "response.reasoning_summary", "".join(deltas)
    part: Json = {"type": "summary_text", "text": text}
    events: list[tuple[Json, bool]] = [({"type": f"{kind}_part.added", "part": {**part, "text": ""}}, False)]
    events += [({"type": f"{kind}_text.delta", "delta": delta}, True) for delta in deltas]
    events.append(({"type": f"{kind}_text.done", "text": text}, False))
    events.append(({"type": f"{kind}_part.done", "part": part}, False))
    # Encrypted, because nothing is stored: what the next request must bring back.
    return [({**event, "summary_index": 0}, is_delta) for event, is_delta in events], {
        "summary": [part],
        "encrypted_content": "c2VhbGVk",
    }


def _responses_text(deltas: tuple[str, ...]) -> tuple[list[tuple[Json, bool]], Json]:
    text = "".join(deltas)
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    events: list[tuple[Json, bool]] = [({"type": "response.content_part.added", "part": {**part, "text": ""}}, False)]
    events += [({"type": "response.output_text.delta", "delta": delta, "logprobs": []}, True) for delta in deltas]
    events.append(({"type": "response.output_text.done", "text": text, "logprobs": []}, False))
    events.append(({"type": "response.content_part.done", "part": part}, False))
    return [({**event, "content_index": 0}, is_delta) for event, is_delta in events], {"content": [part]}


def _responses_arguments(arguments: str) -> tuple[list[tuple[Json, bool]], Json]:
    kind = "response.function_call_arguments"
    events: list[tuple[Json, bool]] = [({"type": f"{kind}.delta", "delta": d}, True) for d in _halves(arguments)]
    events.append(({"type": f"{kind}.done", "arguments": arguments}, False))
    return events, {"arguments": arguments, "status": "completed"}


def _responses_usage(usage: Tokens) -> Json:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.output,
        **_cost(usage),
    }


# Google Gemini (https://ai.google.dev/api/generate-content). A call's arguments come whole, its signature with it.


def _gemini(answer: Answer) -> Iterator[SseEvent]:
    for delta in answer.thinking:
        yield _candidate([{"text": delta, "thought": True}], is_delta=True)
    for delta in answer.text:
        yield _candidate([{"text": delta}], is_delta=True)
    reason = "MAX_TOKENS" if answer.stop_kind == "length" else "STOP"
    for number, call in enumerate(answer.calls):
        try:
            arguments = msgspec.json.decode(call.arguments, type=dict[str, Json])
        except msgspec.DecodeError:
            reason = "MALFORMED_FUNCTION_CALL"  # this server checks what the model writes
            break
        part: dict[str, Json] = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
        signature = {} if number else {"thoughtSignature": "c2lnbmVk"}  # of parallel calls only the first is signed
        yield _candidate([part | signature], is_delta=True)
    usage = answer.usage or Tokens(0, 0, 0)
    counted = {
        "promptTokenCount": usage.prompt,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.prompt + usage.output,
    }
    yield _candidate([{"text": ""}], finish=reason, usageMetadata=counted)


def _candidate(parts: list[Json], finish: str | None = None, *, is_delta: bool = False, **rest: Json) -> SseEvent:
    candidate: dict[str, Json] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    chunk = {"candidates": [candidate], **rest, "modelVersion": MODEL_ID, "responseId": "resp_1"}
    return _sse(chunk, named=False, is_delta=is_delta)


_RENDERERS: dict[Wire, Callable[[Answer], Iterator[SseEvent]]] = {
    "openai-completions": _completions,
    "anthropic-messages": _messages,
    "openai-responses": _responses,
    "google-generative-ai": _gemini,
}
