"""From what happens in a conversation to spans, by OpenTelemetry's conventions for generative AI.

A run is `invoke_agent kaa`; below it stand its requests, `chat MODEL`, and its tool calls, `execute_tool NAME`.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (attributes as of opentelemetry-semantic-conventions 0.66).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from kaa import __version__
from kaa.core.events import (
    AgentEnd,
    AgentStart,
    AutoRetryStart,
    Event,
    MessageEnd,
    MessageUpdate,
    ModelFallback,
    ReplyFailed,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from kaa.core.messages import AssistantMessage, Json, Message, TextContent, ToolCall, ToolResultMessage, UserMessage
from kaa.core.provider import Request, SideRequest
from kaa.core.usage import prompt_tokens

_AGENT = "kaa"
# What the conventions prescribe for errors without a name of their own.
_OTHER_ERROR = "_OTHER"

Redact = Callable[[str], str]


class Spans:
    """Follows one conversation. Give it every request (`sent`, or `aside`) and every event (`observe`).

    Args:
        redact: takes secrets out of what was said; None keeps all of what was said out of the spans.
    """

    def __init__(self, tracer: Tracer, conversation_id: str, redact: Redact | None = None) -> None:
        self._tracer = tracer
        self._conversation_id = conversation_id
        self._redact = redact
        self._run: Span | None = None
        self._chat: Span | None = None
        self._chat_began = 0.0
        self._has_spoken = False
        self._error_type: str | None = None  # of the reply that is about to be told as failed
        self._tools: dict[str, Span] = {}
        self._told = 0  # messages that earlier requests have told of

    def sent(self, request: Request) -> None:
        """A request of the conversation is made."""
        self._end_chat(_OTHER_ERROR)  # the one before got no answer, or nobody would ask again
        new = request.messages[self._told :] if self._told <= len(request.messages) else request.messages
        self._told = len(request.messages)
        self._chat = self._begin_chat(request, new)
        self._chat_began, self._has_spoken = time.monotonic(), False

    def aside(self, aside: SideRequest) -> None:
        """A request beside the conversation is over."""
        chat = self._begin_chat(aside.request, aside.request.messages, aside.began_ns)
        if aside.reply is not None:
            self._tell_reply(chat, aside.reply)
        _end(chat, aside.error_type, aside.error)

    def observe(self, event: Event) -> None:
        """Something happened."""
        match event:
            case AgentStart():
                self._run = self._begin(
                    f"invoke_agent {_AGENT}",
                    SpanKind.INTERNAL,
                    {
                        "gen_ai.operation.name": "invoke_agent",
                        "gen_ai.agent.name": _AGENT,
                        "gen_ai.agent.version": __version__,
                        "gen_ai.conversation.id": self._conversation_id,
                    },
                )
            case MessageUpdate(assistant_message_event=ReplyFailed(error_type=error_type)):
                self._error_type = error_type
            case MessageUpdate() if not self._has_spoken and self._chat is not None:
                self._has_spoken = True
                self._chat.set_attribute("gen_ai.response.time_to_first_chunk", time.monotonic() - self._chat_began)
            case MessageEnd(message=AssistantMessage() as reply):
                self._answered(reply)
            case AutoRetryStart() | ModelFallback():
                self._end_chat(event.error_type or _OTHER_ERROR, event.error_message)
            case ToolExecutionStart():
                self._begin_tool(event)
            case ToolExecutionEnd():
                self._end_tool(event)
            case AgentEnd():
                self._end_run(event)
            case _:
                pass

    def close(self) -> None:
        """End what is open: nothing more comes."""
        self._end_all("closed")

    def _begin(
        self, name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue], began_ns: int | None = None
    ) -> Span:
        context = set_span_in_context(self._run, Context()) if self._run is not None else Context()
        return self._tracer.start_span(name, context, kind, attributes, start_time=began_ns)

    def _begin_chat(self, request: Request, new: Sequence[Message], began_ns: int | None = None) -> Span:
        """A request begins. `new`: its messages that none before it had."""
        model = request.model
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": semantic_provider_name(model.provider),
            "gen_ai.request.model": model.id,
            "gen_ai.request.max_tokens": request.reply_limit,
            "gen_ai.request.stream": True,
            "gen_ai.conversation.id": self._conversation_id,
        }
        if self._redact is not None:
            attributes["gen_ai.system_instructions"] = self._text([{"type": "text", "content": request.system}])
            attributes["gen_ai.input.messages"] = self._text([_described(message) for message in new])
        return self._begin(f"chat {model.id}", SpanKind.CLIENT, attributes, began_ns)

    def _answered(self, reply: AssistantMessage) -> None:
        error_type, self._error_type = self._error_type, None
        if self._chat is None:
            return
        self._tell_reply(self._chat, reply)
        match reply.stop_reason:
            case "error":
                self._end_chat(error_type or _OTHER_ERROR, reply.error_message)
            case "aborted":
                self._end_chat("aborted", reply.error_message)
            case _:
                self._end_chat(None)

    def _tell_reply(self, chat: Span, reply: AssistantMessage) -> None:
        usage = reply.usage
        chat.set_attributes(
            {
                "gen_ai.response.model": reply.response_model or reply.model,
                "gen_ai.response.finish_reasons": [reply.stop_reason],
                "gen_ai.usage.input_tokens": prompt_tokens(usage),
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            }
        )
        if reply.response_id is not None:
            chat.set_attribute("gen_ai.response.id", reply.response_id)
        if self._redact is not None:
            said = {**_described(reply), "finish_reason": reply.stop_reason}
            chat.set_attribute("gen_ai.output.messages", self._text([said]))

    def _end_chat(self, error: str | None, message: str | None = None) -> None:
        if self._chat is not None:
            _end(self._chat, error, message)
            self._chat = None

    def _begin_tool(self, start: ToolExecutionStart) -> None:
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": start.tool_name,
            "gen_ai.tool.call.id": start.tool_call_id,
            "gen_ai.tool.type": "function",
        }
        if self._redact is not None:
            attributes["gen_ai.tool.call.arguments"] = self._text(start.args)
        span = self._begin(f"execute_tool {start.tool_name}", SpanKind.INTERNAL, attributes)
        self._tools[start.tool_call_id] = span

    def _end_tool(self, end: ToolExecutionEnd) -> None:
        span = self._tools.pop(end.tool_call_id, None)
        if span is None:
            return
        if self._redact is not None:
            span.set_attribute("gen_ai.tool.call.result", self._text(end.result.text))
        _end(span, "tool_error" if end.is_error else None)

    def _end_run(self, end: AgentEnd) -> None:
        failed = None if end.reason == "done" else end.reason
        self._end_all(failed, end.error)

    def _end_all(self, error: str | None, message: str | None = None) -> None:
        self._end_chat(_OTHER_ERROR if error in (None, "error") else error, message)
        for span in self._tools.values():
            _end(span, error or _OTHER_ERROR)
        self._tools.clear()
        if self._run is not None:
            _end(self._run, error, message)
            self._run = None

    def _text(self, value: Json) -> str:
        assert self._redact is not None
        return self._redact(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _end(span: Span, error: str | None, message: str | None = None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR, message))
    span.end()


def _described(message: Message) -> dict[str, Json]:
    """A message in the shape that the conventions give `gen_ai.input.messages`; images are only counted."""
    match message:
        case UserMessage():
            return {"role": "user", "parts": [{"type": "text", "content": message.text}]}
        case ToolResultMessage():
            result: Json = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}
            return {"role": "tool", "parts": [result]}
        case AssistantMessage():
            return {"role": "assistant", "parts": _parts(message)}


def _parts(reply: AssistantMessage) -> Sequence[Json]:
    parts: list[Json] = []
    for block in reply.content:
        match block:
            case TextContent(text=text):
                parts.append({"type": "text", "content": text})
            case ToolCall():
                parts.append({"type": "tool_call", "id": block.id, "name": block.name, "arguments": block.arguments})
            case _:
                pass  # what a model thinks is its own
    return parts


# Source: the well-known values in opentelemetry-semantic-conventions 0.66.
_NAMES: Final = {
    "amazon-bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "moonshotai": "moonshot_ai",
    "xai": "x_ai",
}


def semantic_provider_name(provider: str) -> str:
    """The value of `gen_ai.provider.name`; a provider that the conventions do not list keeps its own name."""
    return _NAMES.get(provider, provider)
