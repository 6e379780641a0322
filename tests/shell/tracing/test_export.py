"""Spans leave this machine, or it is told why not; nobody waits for a collector for ever."""

import asyncio
from collections.abc import Sequence
from threading import Event

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from kaa.llm.scripted import reply
from kaa.shell.tracing import export
from kaa.shell.tracing.export import Tracing
from tests.support.agents import Scene, say


class _Endless(SpanExporter):
    """A collector that begins to answer and does not end."""

    def __init__(self) -> None:
        self.over = Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.over.wait()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.over.wait()


def test_a_collector_that_never_ends_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_LONGEST_SECONDS", 0.05)
    scene, told, endless = Scene([reply(text="Hello.")]), list[str](), _Endless()

    async def talk() -> None:
        tracing = Tracing(scene.agent, "id", None, told.append, endless)
        await scene.agent.run(say("hello"))
        await tracing.close()

    try:
        asyncio.run(talk())
    finally:
        endless.over.set()

    assert told == ["spans could not be sent, check the OTEL_ variables: the collector takes too long to answer"]
