"""OpenTelemetry, switched on and off, with a collector on loopback."""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("full_access")


class Collector:
    """Takes spans over OTLP."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        bodies, paths = self.bodies, self.paths

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                bodies.append(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
                paths.append(self.path)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - what it is called there
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def spans(self) -> list[str]:
        """`service: name` of all spans."""
        found = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                (name,) = [a.value.string_value for a in resource.resource.attributes if a.key == "service.name"]
                found += [f"{name}: {span.name}" for scope in resource.scope_spans for span in scope.spans]
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = Thread(target=collector.server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        thread.join()
        collector.server.server_close()


def test_spans_go_where_the_environment_says(kaa: Kaa, collector: Collector) -> None:
    kaa.settings(otel={"enabled": True})
    kaa.setenv(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    with ModelServer([call("read", path="none.txt"), say("done")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "secret plans")

    assert (done.code, done.out, done.err.count("\n")) == (0, "done\n", 2), done.err
    assert set(collector.paths) == {"/v1/traces"}  # more than one request if the run takes long
    assert sorted(collector.spans) == [
        "kaa: chat test-model",
        "kaa: chat test-model",
        "kaa: execute_tool read",
        "kaa: invoke_agent kaa",
    ]
    assert b"secret plans" not in b"".join(collector.bodies)


@pytest.mark.parametrize("enabled", [False, None], ids=["off", "unset"])
def test_variables_alone_switch_nothing_on(kaa: Kaa, collector: Collector, enabled: bool | None) -> None:
    kaa.settings(**({} if enabled is None else {"otel": {"enabled": enabled}}))
    kaa.setenv(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_TRACES_EXPORTER="otlp")
    with ModelServer([say("done")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go")

    assert done.code == 0
    assert collector.paths == []


def test_the_environment_may_forbid_it(kaa: Kaa, collector: Collector) -> None:
    kaa.settings(otel={"enabled": True})
    kaa.setenv(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SDK_DISABLED="true")
    with ModelServer([say("done")]) as server:
        kaa.use(server, "openai-completions")
        kaa.run("-p", "go")

    assert collector.paths == []


def test_a_collector_that_is_not_there_harms_nothing(kaa: Kaa) -> None:
    kaa.settings(otel={"enabled": True})
    kaa.setenv(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    with ModelServer([say("done")]) as server:
        kaa.use(server, "openai-completions")
        done = kaa.run("-p", "go")

    assert (done.code, done.out) == (0, "done\n")
    assert done.err.count("spans could not be sent") == done.err.count("\n") == 1


def test_without_the_extra_one_notice_says_how_to_get_it(kaa: Kaa) -> None:
    kaa.settings(otel={"enabled": True})
    blocked = "import sys; sys.modules['opentelemetry'] = None; from kaa.cli import run; sys.exit(run(['-p', 'go']))"
    with ModelServer([say("done")]) as server:
        kaa.use(server, "openai-completions")
        done = subprocess.run(
            [sys.executable, "-c", blocked],
            cwd=kaa.project,
            env=kaa.environ,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.count("pip install 'kaa[otel]'") == 1
