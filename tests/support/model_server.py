"""A model's server on the loopback interface that says what a script tells it to, and keeps what it was asked.

In a test, in a thread of its own:

    with ModelServer([call("read", path="a.txt"), OVERLOADED, say("done")]) as server:
        ...  # run an agent with server.url as base URL
        assert server.requests[1].json["messages"][-1]["role"] == "tool"

For a benchmark, as a process (`python -m tests.support.model_server`), which prints its URL and is given its
script with `PUT /control/script`; see `benchmarks/`. Answers are rendered when the script is set and sent with one
write, so that its own time is far below a millisecond.
"""

import asyncio
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from types import TracebackType
from typing import TypeAlias, cast, get_args

import msgspec

from kaa.core.messages import Json
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
from tests.support.model_wire import MODEL_ID, SseEvent, Wire, refusal_body, render, render_failure

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

# Longer than anything a test waits for: reaching it means that something hangs.
_HANG_SECONDS = 20

_MALFORMED = b'data: {"choices": [{"delta": {"content": "br\n\n'

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


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


class _Action(Enum):
    """What a connection can do besides writing bytes."""

    STALL = auto()
    RESET = auto()


_Step: TypeAlias = bytes | _Action
_Plan: TypeAlias = tuple[_Step, ...]


class _Script:
    """The answers in order, rendered for every wire format before anyone asks."""

    def __init__(self, items: Iterable[ScriptItem]) -> None:
        self._plans = [
            {wire: _plan(item, wire, number) for wire in get_args(Wire)} for number, item in enumerate(items, start=1)
        ]
        self._next = 0

    @property
    def remaining(self) -> int:
        return len(self._plans) - self._next

    def take(self, wire: Wire) -> _Plan:
        """The answer to the next request. One too many is refused for good, so that agents do not retry it."""
        if not self.remaining:
            return _plan(Refusal(400, body='{"error": {"message": "the script of the test has ended"}}'), wire)
        self._next += 1
        return self._plans[self._next - 1][wire]


def _plan(item: ScriptItem, wire: Wire, number: int = 1) -> _Plan:
    if isinstance(item, Refusal):
        return (_whole(item.status, refusal_body(item, wire), item.headers),)
    before, action, after = _split_at_fault(render(item, wire, number), item.fault, wire)
    head = _head(200, (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")))
    ending = () if action is _Action.RESET else (_chunked(after, item.piece_bytes) + b"0\r\n\r\n",)
    return (head + _chunked(before, item.piece_bytes), *([action] if action else []), *ending)


def _split_at_fault(
    events: Sequence[SseEvent], fault: Fault | None, wire: Wire
) -> tuple[list[bytes], _Action | None, list[bytes]]:
    """What is sent before the fault, what the connection does then, and what is sent after it."""
    stream = [event.data for event in events]
    if fault is None:
        return stream, None, []
    deltas = [index for index, event in enumerate(events) if event.is_delta]
    position = deltas[fault.after - 1] + 1 if fault.after else deltas[0]
    before, after = stream[:position], stream[position:]
    match fault.kind:
        case "reset":
            return before, _Action.RESET, []
        case "stall":
            return before, _Action.STALL, after
        case "early_end":
            return before, None, []
        case "malformed":
            return [*before, _MALFORMED, *after], None, []
        case "error":
            return [*before, render_failure(wire)], None, []


def _chunked(events: Sequence[bytes], piece_bytes: int) -> bytes:
    """HTTP chunks of the events, each its own as servers flush them, or all of them cut into pieces."""
    if piece_bytes:
        body = b"".join(events)
        events = [body[start : start + piece_bytes] for start in range(0, len(body), piece_bytes)]
    return b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)


def _head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _whole(status: int, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    fixed = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return _head(status, (*fixed, *headers)) + body


class _Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, kept alive; requests carry a Content-Length."""

    def __init__(self, server: "ModelServer") -> None:
        self._server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport
        self._steps: Iterator[_Step] = iter(())
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
                case _Action.STALL:
                    self._server.stall(self._advance)
                    return
                case _Action.RESET:
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


class ModelServer:
    """The server. As a context manager it runs in a thread of its own.

    Args:
        script: what model requests are answered with, in order.

    Attributes:
        requests: the model requests received, in order. Listing models is not one.
    """

    def __init__(self, script: Iterable[ScriptItem] = ()) -> None:
        self._script = _Script(script)
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
        if not started.wait(_HANG_SECONDS):
            raise TimeoutError("the model server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        self.stop()
        self._thread.join(_HANG_SECONDS)

    async def serve(self, started: Callable[[], object]) -> None:
        """Serve on a free port until `stop`. `started` is called once `url` can be reached."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        async with server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            started()
            await self._stop.wait()
            for connection in list(self.connections):
                connection.abort()

    def stop(self) -> None:
        """End `serve` and cut all connections. Callable from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)

    @property
    def remaining(self) -> int:
        """How many answers of the script were not asked for yet."""
        return self._script.remaining

    def release(self) -> None:
        """Let stalled streams go on, those of later requests too."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._release)

    def wait_until_stalled(self) -> None:
        """Wait until a stream has reached its stall.

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

    def answer(self, request: Received) -> _Plan:
        """What to do about a request."""
        if request.path.startswith("/control/"):
            return (self._control(request),)
        wire = _PATHS.get(request.path.partition("?")[0])
        if wire is not None and request.method == "POST":
            self.requests.append(request)
            plan = self._script.take(wire)
            self.changed()
            return plan
        if request.path.partition("?")[0] == "/v1/models" and request.method == "GET":
            models = [{"id": MODEL_ID, "object": "model", "created": 0, "owned_by": "test"}]
            return (_whole(200, msgspec.json.encode({"object": "list", "data": models, "models": []})),)
        return (_whole(404, b'{"error": {"message": "not found"}}'),)

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
            if not self._condition.wait_for(happened, _HANG_SECONDS):
                raise TimeoutError(f"{otherwise} within {_HANG_SECONDS} s; requests: {len(self.requests)}")

    def _control(self, request: Received) -> bytes:
        """Set the script, which forgets the requests so far, or report the requests."""
        if request.method == "PUT" and request.path == "/control/script":
            self._script = _Script(msgspec.json.decode(request.body, type=list[ScriptItem]))
            self.requests.clear()
            return _whole(200, b"{}")
        return _whole(200, msgspec.json.encode(self.requests))


def main() -> None:
    """Serve until the standard input ends, so that no server outlives the benchmark that started it."""
    server = ModelServer()

    def stop_with_parent() -> None:
        sys.stdin.read()
        server.stop()

    def announce() -> None:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        threading.Thread(target=stop_with_parent, daemon=True).start()

    asyncio.run(server.serve(announce))


if __name__ == "__main__":
    main()
