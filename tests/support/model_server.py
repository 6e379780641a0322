"""A model's server on the loopback interface that says what a script tells it to, and keeps what it was asked.

In a test, in a thread of its own:

    with ModelServer([call("read", path="a.txt"), OVERLOADED, say("done")]) as server:
        ...  # run an agent with server.url as base URL
        assert server.requests[1].json["messages"][-1]["role"] == "tool"

Answers are rendered when the script is set and sent with one write, so that the server's own time is far below a
millisecond: benchmarks measure against it too.
"""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import cast
from urllib.parse import urlsplit

import msgspec

from kaa.core.messages import Json
from tests.support.model_plan import Action, MakePlan, Plan, Script, Step, plan, whole
from tests.support.model_script import (
    CONTEXT_OVERFLOW,
    OVERLOADED,
    SERVER_ERROR,
    WRONG_KEY,
    Answer,
    Call,
    Fault,
    Refusal,
    ScriptItem,
    Tokens,
    call,
    rate_limited,
    say,
)
from tests.support.model_wire import MODEL_ID, Wire
from tests.support.patience import HANG_SECONDS

__all__ = [
    "CONTEXT_OVERFLOW",
    "MODEL_ID",
    "OVERLOADED",
    "SERVER_ERROR",
    "WRONG_KEY",
    "Answer",
    "Call",
    "Fault",
    "ModelServer",
    "Received",
    "Refusal",
    "ScriptItem",
    "Tokens",
    "Wire",
    "call",
    "rate_limited",
    "say",
]

_PATHS: dict[str, Wire] = {
    "/v1/chat/completions": "openai-completions",
    "/v1/messages": "anthropic-messages",
    "/v1/responses": "openai-responses",
}

_GEMINI_METHOD = ":streamGenerateContent"


class Received(msgspec.Struct, rename="camel"):
    """One request, with monotonic times in nanoseconds.

    Attributes:
        arrived_ns: when its last byte was read.
        answered_ns: when the last byte of the answer was written; 0 before that, and for answers cut off.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    arrived_ns: int
    answered_ns: int = 0

    @property
    def json(self) -> dict[str, Json]:
        """The body, decoded."""
        return msgspec.json.decode(self.body, type=dict[str, Json])

    def header(self, name: str) -> str | None:
        """The first header of this name, in any case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class _Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, kept alive; requests carry a Content-Length."""

    def __init__(self, server: "ModelServer") -> None:
        self._server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport
        self._steps: Iterator[Step] = iter(())
        self._request: Received | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self._transport)
        self._steps = iter(())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._request is not None:
            return
        request = _parse_head(bytes(self._buffer[:end]))
        length = int(request.header("Content-Length") or 0)
        if len(self._buffer) < end + 4 + length:
            return
        request.body = bytes(self._buffer[end + 4 : end + 4 + length])
        request.arrived_ns = time.monotonic_ns()
        del self._buffer[: end + 4 + length]
        self._request = request
        self._steps = iter(self._server.answer(request))
        self._advance()

    def _advance(self) -> None:
        """Go on with the answer until it is complete or has to wait."""
        for step in self._steps:
            match step:
                case bytes():
                    self._transport.write(step)
                case Action.STALL:
                    self._server.stall(self._advance)
                    return
                case Action.RESET:
                    self._reset()
                    return
        if self._request is not None:
            self._request.answered_ns = time.monotonic_ns()
            self._request = None
            self._server.changed()

    def _reset(self) -> None:
        """Close with an RST instead of a FIN, as a crashed server or a broken network does."""
        endpoint: socket.socket = self._transport.get_extra_info("socket")
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def _parse_head(head: bytes) -> Received:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _version = first.split(" ")
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return Received(method, path, headers, b"", 0)


def _wire_of(path: str) -> Wire | None:
    """The wire format that is spoken at `path`. Gemini's have the model's name in them."""
    return "google-generative-ai" if path.endswith(_GEMINI_METHOD) else _PATHS.get(path)


class ModelServer:
    """The server. As a context manager it runs in a thread of its own.

    Args:
        script: what model requests are answered with, in order.
        holds: whether each answer waits for `answer_held`.

    Attributes:
        requests: the model requests received, in order. Listing models is not one.
        make_plan: plans the answers of the scripts that begin from now on.
    """

    def __init__(self, script: Iterable[ScriptItem] = (), *, holds: bool = False, api_key: str = "") -> None:
        self.make_plan: MakePlan = plan
        self._script = Script(script)
        self._holds = holds
        self._api_key = api_key  # that every request must have; empty: none needs one
        self._released = False
        self._stalled: list[Callable[[], None]] = []
        self._condition = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.requests: list[Received] = []
        self.connections: set[asyncio.Transport] = set()
        self.url = ""

    def __enter__(self) -> "ModelServer":
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(started.set)), name="model-server")
        self._thread.start()
        if not started.wait(HANG_SECONDS):
            raise TimeoutError("the model server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        self.stop()
        self._thread.join(HANG_SECONDS)

    async def serve(self, started: Callable[[], object]) -> None:
        """Serve on a free port until `stop`. `started` is called once `url` can be reached."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        async with server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            started()
            await self._stop.wait()
            # What was accepted gets its transport first: a server that is closed meanwhile leaks the socket.
            while accepting := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.gather(*accepting, return_exceptions=True)
            server.close()
            for connection in list(self.connections):
                connection.abort()

    def stop(self) -> None:
        """End `serve` and cut all connections. Callable from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)

    def begin(self, script: Iterable[ScriptItem]) -> None:
        """Forget the requests so far and follow a new script."""
        self._script = Script(script, self.make_plan)
        self.requests.clear()

    @property
    def remaining(self) -> int:
        """How many answers of the script were not asked for yet."""
        return self._script.remaining

    def release(self) -> None:
        """Let stalled streams go on, those of later requests too."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._release)

    def answer_held(self) -> None:
        """Answer the request that is held, or let a stalled stream go on; later ones stall again."""
        assert self._loop is not None
        waiting, self._stalled = self._stalled, []
        for go_on in waiting:
            self._loop.call_soon_threadsafe(go_on)

    def wait_until_stalled(self) -> None:
        """Wait until a stream has reached its stall, or a request is held.

        Raises:
            TimeoutError: that did not happen.
        """
        self._wait(lambda: bool(self._stalled), "no stream has stalled")

    def wait_for_requests(self, count: int) -> Sequence[Received]:
        """Wait until `count` model requests have come; returns them.

        Raises:
            TimeoutError: fewer came.
        """
        self._wait(lambda: len(self.requests) >= count, f"fewer than {count} requests came")
        return self.requests

    # What connections use, on the server's own thread.

    def answer(self, request: Received) -> Plan:
        """What to do about a request."""
        path = urlsplit(request.path).path  # a proxy is asked for whole addresses
        if self._api_key and request.header("Authorization") != f"Bearer {self._api_key}":
            return (whole(401, b'{"error": {"message": "unauthorized"}}'),)
        wire = _wire_of(path)
        if wire is not None and request.method == "POST":
            self.requests.append(request)
            answer = self._script.take(wire)
            self.changed()
            return (Action.STALL, *answer) if self._holds else answer
        if path == "/v1/models" and request.method == "GET":
            models = [{"id": MODEL_ID, "object": "model", "created": 0, "owned_by": "test"}]
            return (whole(200, msgspec.json.encode({"object": "list", "data": models, "models": []})),)
        return (whole(404, b'{"error": {"message": "not found"}}'),)

    def stall(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` when released."""
        if self._released:
            go_on()
        else:
            self._stalled.append(go_on)
            self.changed()

    def changed(self) -> None:
        """Wake whoever waits for something to happen."""
        with self._condition:
            self._condition.notify_all()

    def _release(self) -> None:
        self._released = True
        waiting, self._stalled = self._stalled, []
        for go_on in waiting:
            go_on()

    def _wait(self, happened: Callable[[], bool], otherwise: str) -> None:
        with self._condition:
            if not self._condition.wait_for(happened, HANG_SECONDS):
                raise TimeoutError(f"{otherwise} within {HANG_SECONDS:g} s; requests: {len(self.requests)}")
