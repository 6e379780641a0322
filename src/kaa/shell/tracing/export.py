"""Spans of what happens in a conversation, by OpenTelemetry's conventions for generative AI, and where they go.

A run is `invoke_agent kaa`; below it stand its requests, `chat MODEL`, and its tool calls, `execute_tool NAME`. They
are sent over OTLP, as the standard variables of OpenTelemetry's environment say.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (attributes as of opentelemetry-semantic-conventions 0.66).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import Final

import msgspec
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from kaa import __version__
from kaa.core.agent import Agent
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
# How the SDK begins the name of a service that neither OTEL_SERVICE_NAME nor OTEL_RESOURCE_ATTRIBUTES names.
_NAMELESS = "unknown_service"
# Nobody wants to wait for a collector that does not answer, or one whose answer never ends, which the SDK waits for.
_FLUSH_MILLISECONDS = 2_000
_LONGEST_SECONDS = 5.0
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


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


class _Complaints(logging.Handler):
    """Keeps the last complaint of the SDK, which would else be written over the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


class Tracing:
    """Exports the spans of one conversation. Kept apart from any tracing that an extension may do.

    Args:
        redact: takes secrets out of what was said; None keeps all of it out of the spans.
        notify: told, in a sentence, at the end, if spans could not be sent.
        exporter: takes the spans; None sends them over OTLP.
    """

    def __init__(
        self,
        agent: Agent,
        conversation_id: str,
        redact: Redact | None,
        notify: Callable[[str], None],
        exporter: SpanExporter | None = None,
    ) -> None:
        self._notify = notify
        self._complaints = _Complaints()
        log = logging.getLogger("opentelemetry")
        log.propagate = False
        log.handlers[:] = [self._complaints]
        resource = Resource.create({"service.version": __version__})
        if str(resource.attributes.get("service.name", "")).startswith(_NAMELESS):
            resource = resource.merge(Resource({"service.name": "kaa"}))
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._spans = Spans(self._provider.get_tracer("kaa", __version__), conversation_id, redact)
        agent.observe_requests(self._spans.sent)
        agent.observe_asides(self._spans.aside)
        agent.subscribe(self._spans.observe)

    async def close(self) -> None:
        """Send what was not sent yet, unless that takes long."""
        self._spans.close()
        # The end of the process would wait for any other kind of thread.
        last = Thread(target=self._send_the_rest, name="kaa-spans", daemon=True)
        last.start()
        await asyncio.to_thread(last.join, _LONGEST_SECONDS)
        late = "the collector takes too long to answer" if last.is_alive() else ""
        if problem := self._complaints.last or late:
            self._notify(f"spans could not be sent, check the OTEL_ variables: {problem}")

    def _send_the_rest(self) -> None:
        self._provider.force_flush(_FLUSH_MILLISECONDS)
        self._provider.shutdown()


def redaction_of(environ: Mapping[str, str], redactor: Callable[[], Redact]) -> Redact | None:
    """How secrets are taken out of what was said, if the environment says that it is to be in the spans at all."""
    return redactor() if environ.get(_CAPTURE, "").strip().lower() == "true" else None
