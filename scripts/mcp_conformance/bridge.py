"""Streamable HTTP in front of an MCP server that speaks over stdio: the conformance suite reaches servers by HTTP only.

A session that begins with `initialize` has a program of its own. Requests of revision 2026-07-28 share one.
"""

import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

# HTTP statuses of refusals (specification 2026-07-28, Streamable HTTP).
_STATUS = {-32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400}
_JSON = (("content-type", "application/json"),)
_REVISION = "io.modelcontextprotocol/protocolVersion"


class Program:
    """A running server, and the requests that wait for it.

    Args:
        command: starts it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._open: dict[Any, queue.Queue[Message | None]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message that has no answer."""
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def ask(self, request: Message) -> tuple[int, "queue.Queue[Message | None]"]:
        """Send a request with an id of its own. Returns the id, and what the server says until it has answered."""
        number = next(self._numbers)
        answers: queue.Queue[Message | None] = queue.Queue()
        self._open[number] = answers
        self.send(request | {"id": number})
        return number, answers

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message and message["id"] in self._open:
                self._open.pop(message["id"]).put(message)
            else:  # about a request, and mostly only one is open
                for answers in tuple(self._open.values())[-1:]:
                    answers.put(message)
        for answers in self._open.values():
            answers.put(None)


class Bridge:
    """The HTTP server; as a context manager it runs in threads of its own.

    Args:
        command: starts the MCP server.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command
        self.sessions: dict[str, Program] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bridge": self}))
        self._http.daemon_threads = True

    def __enter__(self) -> str:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.sessions[""] = Program(self.command)
        return f"http://127.0.0.1:{self._http.server_port}/mcp"

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        for program in self.sessions.values():
            program.close()

    def begin(self) -> str:
        """Start a program for a session. Returns the session's name."""
        name = f"session-{len(self.sessions)}"
        self.sessions[name] = Program(self.command)
        return name


class _Handler(BaseHTTPRequestHandler):
    bridge: Bridge
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message: Message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session = self.headers.get("mcp-session-id", "")
        if message.get("method") == "initialize":
            session = self.bridge.begin()
        if (program := self.bridge.sessions.get(session)) is None:
            self._reply(HTTPStatus.NOT_FOUND, b"")
        elif "method" in message and "id" in message:
            if (named := _named_otherwise(message, self.headers.get("mcp-protocol-version"))) is not None:
                self._reply(HTTPStatus.BAD_REQUEST, named, _JSON)
                return
            self._answer(program, message, session)
        else:
            program.send(message)
            self._reply(HTTPStatus.ACCEPTED, b"")

    def do_GET(self) -> None:
        self._reply(HTTPStatus.METHOD_NOT_ALLOWED, b"")

    def do_DELETE(self) -> None:
        self._reply(HTTPStatus.OK, b"")

    def _answer(self, program: Program, request: Message, session: str) -> None:
        number, answers = program.ask(request)
        session_header = [("mcp-session-id", session)] if session else []
        first = answers.get()
        if first is not None and first.get("id") == number and "method" not in first:
            body = json.dumps(first | {"id": request["id"]}).encode()
            code = 0 if session else first.get("error", {}).get("code", 0)
            self._reply(_STATUS.get(code, HTTPStatus.OK), body, [*_JSON, *session_header])
            return
        self.send_response(HTTPStatus.OK)
        for name, value in [("content-type", "text/event-stream"), ("connection", "close"), *session_header]:
            self.send_header(name, value)
        self.end_headers()
        while first is not None:
            is_answer = "method" not in first and first["id"] == number
            event = first | {"id": request["id"]} if is_answer else first
            self.wfile.write(f"event: message\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            first = None if is_answer else answers.get()
        self.close_connection = True

    def _reply(self, status: int, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        for name, value in (*headers, ("content-length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Print nothing."""


def _named_otherwise(request: Message, header: str | None) -> bytes | None:
    """The refusal of a request whose header names another revision than its body; None if they agree."""
    named = (request.get("params", {}).get("_meta") or {}).get(_REVISION)
    if named is None or header == named:
        return None
    error = {"code": -32020, "message": f"the header names {header}, and the message {named}"}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode()
