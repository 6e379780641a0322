"""The model's server of the tests as a process, and the benchmarks' side of it.

A process of its own competes with the agents for nothing but the processor.
"""

import asyncio
import http.client
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import msgspec

from tests.support.model_plan import Plan, plan, whole
from tests.support.model_script import ScriptItem
from tests.support.model_server import ModelServer, Received, say

_REPOSITORY = Path(__file__).resolve().parents[1]


class ControlledServer(ModelServer):
    """A model's server that is told over HTTP what to answer, and reports over HTTP what it was asked.

    Requests without tools are answered aside and not reported: some agents let the model name the session.
    """

    def answer(self, request: Received) -> Plan:
        """What to do about a request."""
        match request.method, request.path:
            case "PUT", "/control/script":
                self.begin(msgspec.json.decode(request.body, type=list[ScriptItem]))
                return (whole(200, b"{}"),)
            case "GET", "/control/requests":
                return (whole(200, msgspec.json.encode(self.requests)),)
            case "POST", "/v1/chat/completions" if b'"tools":' not in request.body:
                return plan(say("A title"), "openai-completions")
            case _:
                return super().answer(request)


class ModelProcess(AbstractContextManager["ModelProcess"]):
    """The server's process, from entering to leaving.

    Attributes:
        url: where it listens.
    """

    def __init__(self) -> None:
        self.url = ""

    def __enter__(self) -> "ModelProcess":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.model_process"],
            cwd=_REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:  # closes its standard input, at which it ends
            pass

    def begin(self, script: Sequence[ScriptItem]) -> None:
        """Follow a new script and forget the requests so far."""
        self._call("PUT", "/control/script", msgspec.json.encode(script))

    def requests(self) -> list[Received]:
        """The requests since `begin`."""
        return msgspec.json.decode(self._call("GET", "/control/requests"), type=list[Received])

    def _call(self, method: str, path: str, body: bytes = b"") -> bytes:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc)
        try:
            connection.request(method, path, body)
            return connection.getresponse().read()
        finally:
            connection.close()


def main() -> None:
    """Serve until the standard input ends, so that no server outlives the benchmark that started it."""
    server = ControlledServer()

    def stop_with_parent() -> None:
        sys.stdin.read()
        server.stop()

    def announce() -> None:
        print(server.url, flush=True)
        threading.Thread(target=stop_with_parent, daemon=True).start()

    asyncio.run(server.serve(announce))


if __name__ == "__main__":
    main()
