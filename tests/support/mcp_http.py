"""A scripted MCP server on loopback, over real HTTP: streamable HTTP of all revisions, and HTTP with SSE."""

import json
import queue
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

from tests.support.mcp_server import ScriptedServer

Style = Literal["json", "stream", "resumed", "older"]


@dataclass
class Asked:
    """A request: its method and path, its headers in small letters, and the message in it."""

    method: str
    path: str
    headers: dict[str, str]
    message: dict[str, Any] = field(default_factory=dict)


@dataclass
class Instead:
    """What a request gets instead of its answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class McpHttpServer:
    """The server; as a context manager it runs in threads of its own.

    Args:
        server: says what to answer.
        style: `json`: answers are JSON. `stream`: they are streams. `resumed`: streams end before the answer to a call,
            and go on where they are resumed. `older`: HTTP with SSE.
        sessions: whether it names sessions, and refuses what has none.

    Attributes:
        asked: all requests, in order.
        endpoint: what the oldest transport names as the address for messages.
        instead: by the method of a message, what the next requests get.
    """

    def __init__(self, server: ScriptedServer, style: Style = "json", *, sessions: bool = False) -> None:
        self.server = server
        self.style = style
        self.sessions = sessions
        self.session = 0
        self.endpoint = "/messages"
        self.asked: list[Asked] = []
        self.instead: dict[str, list[Instead]] = {}
        self.unsaid: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.kept: list[dict[str, Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"mcp": self}))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="mcp-server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unsaid.put(None)
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_port}/mcp"

    def say(self, message: dict[str, Any]) -> None:
        """Say something by the stream that carries what nobody asked for."""
        self.unsaid.put(message)

    def forget_session(self) -> None:
        """As after a restart."""
        self.session += 1

    def messages(self, method: str) -> list[Asked]:
        """The requests that carried a message of a method."""
        return [one for one in self.asked if one.message.get("method") == method]


class _Handler(BaseHTTPRequestHandler):
    mcp: McpHttpServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = self._note(json.loads(body))
        if waiting := self.mcp.instead.get(asked.message.get("method", "")):
            self._reply(waiting.pop(0))
        elif self.mcp.style == "older":
            self._older(asked)
        elif self.mcp.sessions and asked.message.get("method") != "initialize" and not self._knows_session(asked):
            self._reply(Instead(404))
        else:
            self._answer(asked)

    def do_GET(self) -> None:
        asked = self._note({})
        if self.mcp.style == "resumed" and asked.headers.get("last-event-id") == "before-the-answer":
            self._stream([_event(one) for one in self.mcp.kept])
        elif self.mcp.style in ("older", "stream"):
            self._listen()
        else:
            self._reply(Instead(405))

    def do_DELETE(self) -> None:
        self._note({})
        self._reply(Instead(200))

    def _note(self, message: dict[str, Any]) -> Asked:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.mcp.asked.append(Asked(self.command, self.path, headers, message))
        return self.mcp.asked[-1]

    def _knows_session(self, asked: Asked) -> bool:
        return asked.headers.get("mcp-session-id") == f"session-{self.mcp.session}"

    def _answer(self, asked: Asked) -> None:
        answers = self.mcp.server.handle(asked.message)
        headers = {"mcp-session-id": f"session-{self.mcp.session}"} if self.mcp.sessions else {}
        if "id" not in asked.message or "method" not in asked.message:
            self._reply(Instead(202))
        elif self.mcp.style == "json":
            body = json.dumps(answers[0]).encode() if answers else b""
            self._reply(Instead(200, body, {"content-type": "application/json"} | headers))
        elif self.mcp.style == "resumed" and asked.message["method"] == "tools/call":
            self.mcp.kept = answers
            self._stream([b"id: before-the-answer\nretry: 10\ndata:\n\n"], headers)
        else:
            self._stream([_event(one) for one in answers], headers)

    def _older(self, asked: Asked) -> None:
        if asked.path != "/messages":
            self._reply(Instead(405))
            return
        for answer in self.mcp.server.handle(asked.message):
            self.mcp.unsaid.put(answer)
        self._reply(Instead(202))

    def _listen(self) -> None:
        self._begin_stream({})
        if self.mcp.style == "older":
            self.wfile.write(f"event: endpoint\ndata: {self.mcp.endpoint}\n\n".encode())
        while (message := self.mcp.unsaid.get()) is not None:
            self.wfile.write(_event(message))
        self.mcp.unsaid.put(None)
        self.close_connection = True

    def _stream(self, events: list[bytes], headers: dict[str, str] | None = None) -> None:
        self._begin_stream(headers or {})
        for one in events:
            self.wfile.write(one)
        self.close_connection = True

    def _begin_stream(self, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in ({"content-type": "text/event-stream", "connection": "close"} | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def _reply(self, reply: Instead) -> None:
        if not reply.status:  # it is gone, without a word
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Print nothing."""


def _event(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"
