"""Spans of a conversation, as the SDK's own exporter sees them."""

from collections.abc import Callable

import msgspec
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from kaa.core.agent import AgentConfig
from kaa.core.errors import AuthError, OverloadedError
from kaa.core.messages import AssistantMessage, TextContent, Usage
from kaa.core.provider import Request, SideRequest
from kaa.core.retry import RetryPolicy
from kaa.core.tool import ToolResult, ToolRun
from kaa.llm.redaction import Redactor
from kaa.llm.scripted import ScriptItem, reply
from kaa.shell.tracing.export import Spans, semantic_provider_name
from tests.support.agents import MODEL, Scene, echo_tool, run, say, tool

SECRET = "correct-horse-battery-staple"


async def _fail(_run: ToolRun) -> ToolResult:
    raise OSError("no such thing")


class Traced(Scene):
    """A scene whose spans are kept."""

    def __init__(self, *script: ScriptItem, redact: Callable[[str], str] | None = None) -> None:
        config = AgentConfig(retry=RetryPolicy(max_attempts=1, base_seconds=0))
        super().__init__(script, echo_tool(), tool("fail", _fail), config=config)
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Spans(provider.get_tracer("test"), "session-1", redact)
        self.agent.observe_requests(self.tracing.sent)
        self.agent.observe_asides(self.tracing.aside)
        self.agent.subscribe(self.tracing.observe)

    def spans(self, *texts: str) -> list[ReadableSpan]:
        """Say something; the spans of it, in the order of their beginning."""
        for text in texts or ("go",):
            run(self.agent.run(say(text)))
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_run_with_its_requests_and_calls() -> None:
    usage = Usage(input=100, output=20, cache_read=30, cache_write=40)
    scene = Traced(reply(tool_calls=[("echo", {"text": "hi"}, "call_1")], usage=usage), reply(text="Done."))

    agent, chat, called, again = scene.spans()

    assert [span.name for span in (agent, chat, called, again)] == [
        "invoke_agent kaa",
        "chat test-model",
        "execute_tool echo",
        "chat test-model",
    ]
    context = agent.get_span_context()
    assert context is not None
    assert all(span.parent is not None and span.parent.span_id == context.span_id for span in (chat, called, again))
    assert attributes(agent)["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(chat) | {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "test",
        "gen_ai.request.model": "test-model",
        "gen_ai.response.model": "test-model",
        "gen_ai.response.finish_reasons": ("toolUse",),
        "gen_ai.conversation.id": "session-1",
        "gen_ai.usage.input_tokens": 170,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 40,
    } == attributes(chat)
    assert attributes(called) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.type": "function",
    }
    assert {span.status.status_code for span in (agent, chat, called, again)} == {StatusCode.UNSET}


def test_a_request_that_is_repeated_is_two_spans_and_the_first_one_failed() -> None:
    agent, failed, answered = Traced(OverloadedError("busy"), reply(text="ok")).spans()

    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "busy")
    assert attributes(failed)["error.type"] == "OverloadedError"
    assert answered.status.status_code == agent.status.status_code == StatusCode.UNSET


def test_a_run_that_fails_says_so_with_its_request() -> None:
    agent, chat = Traced(AuthError("wrong key")).spans()

    assert attributes(agent)["error.type"] == "error"
    assert attributes(chat)["error.type"] == "AuthError"
    assert chat.status.description == "wrong key"


def test_a_tool_that_fails_says_so() -> None:
    spans = Traced(reply(tool_calls=[("fail", {})]), reply(text="Done.")).spans()

    (failed,) = [span for span in spans if span.name == "execute_tool fail"]
    assert attributes(failed)["error.type"] == "tool_error"


def test_nothing_that_was_said_is_in_them() -> None:
    scene = Traced(reply(tool_calls=[("echo", {"text": "private"})]), reply(text="private"))

    spans = scene.spans("private")

    assert "private" not in "".join(span.to_json() for span in spans)


def test_what_was_said_is_in_them_where_that_is_wanted_without_secrets() -> None:
    scene = Traced(
        reply(tool_calls=[("echo", {"text": f"say {SECRET}"})]), reply(text="Done."), redact=Redactor([SECRET]).redact
    )

    spans = scene.spans(f"my key is {SECRET}")
    whole = "".join(span.to_json() for span in spans)

    assert SECRET not in whole
    assert "[redacted]" in whole
    _, first, called, second = spans
    (asked,) = msgspec.json.decode(str(attributes(first)["gen_ai.input.messages"]))
    assert asked["role"] == "user"
    later = msgspec.json.decode(str(attributes(second)["gen_ai.input.messages"]))
    assert [message["role"] for message in later] == ["assistant", "tool"]  # only what is new
    (said,) = msgspec.json.decode(str(attributes(second)["gen_ai.output.messages"]))
    assert said["parts"] == [{"type": "text", "content": "Done."}]
    assert "echo" not in str(attributes(called)["gen_ai.tool.call.arguments"])
    assert "say" in str(attributes(called)["gen_ai.tool.call.result"])


def test_what_is_asked_beside_the_conversation_has_spans_too() -> None:
    scene = Traced()
    answer = AssistantMessage((TextContent("A name"),), "api", "test", "test-model", Usage(input=7), "stop")
    request = Request(MODEL, "You name things.", (say("Name this."),))

    scene.agent.tell_aside(SideRequest(request, 1_000, error="busy", error_type="OverloadedError"))
    scene.agent.tell_aside(SideRequest(request, 2_000, answer))

    failed, answered = scene.exporter.get_finished_spans()
    assert [(span.name, span.start_time, span.parent) for span in (failed, answered)] == [
        ("chat test-model", 1_000, None),
        ("chat test-model", 2_000, None),
    ]
    assert (attributes(failed)["error.type"], failed.status.description) == ("OverloadedError", "busy")
    assert attributes(answered)["gen_ai.usage.input_tokens"] == 7
    assert answered.status.status_code == StatusCode.UNSET
    assert "Name" not in failed.to_json() + answered.to_json()


def test_closing_ends_what_is_open() -> None:
    scene = Traced(reply(text="never"))
    scene.tracing.sent(Request(MODEL, "", ()))

    scene.tracing.close()

    (span,) = scene.exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "closed"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("google", "gcp.gemini"),
        ("xai", "x_ai"),
        ("azure", "azure.ai.openai"),
        ("anthropic", "anthropic"),
        ("lab", "lab"),
    ],
)
def test_providers_have_the_names_of_the_conventions(ours: str, theirs: str) -> None:
    assert semantic_provider_name(ours) == theirs
