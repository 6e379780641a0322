"""Where spans go: over OTLP, as the standard variables of OpenTelemetry's environment say."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from kaa import __version__
from kaa.core.agent import Agent
from kaa.shell.tracing.spans import Redact, Spans

# How the SDK begins the name of a service that neither OTEL_SERVICE_NAME nor OTEL_RESOURCE_ATTRIBUTES names.
_NAMELESS = "unknown_service"
# Nobody wants to wait for a collector that does not answer, or one whose answer never ends, which the SDK waits for.
_FLUSH_MILLISECONDS = 2_000
_LONGEST_SECONDS = 5.0
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


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
