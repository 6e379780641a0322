"""The model's server of the tests as a process, and the benchmarks' side of it.

A process of its own competes with the agents for nothing but the processor.
"""

import asyncio
import http.client
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import msgspec

from tests.support.model_plan import Action, Plan, paced, plan, whole
from tests.support.model_script import ScriptItem
from tests.support.model_server import ModelServer, Received, say

_REPOSITORY = Path(__file__).resolve().parents[1]


# A server that could not keep its rate catches up by no more than this.
_MOST_BEHIND_SECONDS = 0.1


class ControlledServer(ModelServer):
    """A model's server that is told over HTTP what to answer, and reports over HTTP what it was asked.

    Requests without tools are answered aside and not reported: some agents let the model name the session.
    """

    def __init__(self) -> None:
        super().__init__()
        self._events_per_second = 0.0
        self._due = 0.0
        self._replies_after = 0.0

    def answer(self, request: Received) -> Plan:
        """What to do about a request."""
        match request.method, request.path:
            case "PUT", "/control/script":
                control = msgspec.json.decode(request.body, type=Control)
                self._events_per_second = control.events_per_second
                self._replies_after = control.replies_after
                self.make_plan = paced if control.events_per_second else plan
                self.begin(control.script)
                return (whole(200, b"{}"),)
            case "GET", "/control/requests":
                return (whole(200, msgspec.json.encode(self.requests)),)
            case "POST", "/v1/chat/completions" if b'"tools":' not in request.body:
                return plan(say("A title"), "openai-completions")
            case _:
                answer = super().answer(request)
                return (Action.STALL, *answer) if self._replies_after else answer

    def stall(self, go_on: Callable[[], None]) -> None:
        """Go on when the next event is due. What came late does not move what follows, so that the rate holds."""
        loop = asyncio.get_running_loop()
        if self._replies_after:
            loop.call_later(self._replies_after, go_on)
            return
        self._due = max(self._due, loop.time() - _MOST_BEHIND_SECONDS) + 1 / self._events_per_second
        loop.call_at(self._due, go_on)


class Control(msgspec.Struct):
    """What the server is told.

    Attributes:
        script: its answers.
        events_per_second: how many events it sends in a second; 0: all of them at once.
        replies_after: seconds from a request to its reply, which is then sent at once.
    """

    script: list[ScriptItem]
    events_per_second: float = 0.0
    replies_after: float = 0.0


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

    def begin(self, script: Sequence[ScriptItem], events_per_second: float = 0.0, replies_after: float = 0.0) -> None:
        """Follow a new script and forget the requests so far.

        Args:
            script: the answers.
            events_per_second: 0 sends an answer in one write.
            replies_after: seconds from a request to its reply.
        """
        control = Control(list(script), events_per_second, replies_after)
        self._call("PUT", "/control/script", msgspec.json.encode(control))

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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the benchmark
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
