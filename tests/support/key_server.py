"""A model's server that lists its models only for who has the right key."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class KeyServer:
    """The server; as a context manager it runs in a thread of its own.

    Attributes:
        key: the right one.
        is_public: whether the list is for everybody.
        list_status: what the list answers with to the right key.
        reply: status and body of the answer to any other request with the right key.
        asked: method and path of all requests, in order.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_public = False
        self.list_status = 200
        self.wrong_key: tuple[int, bytes] = (401, b'{"error": {"message": "Incorrect API key provided"}}')
        self.reply: tuple[int, bytes] = (200, b"")
        self.asked: list[tuple[str, str]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="key-server")

    def __enter__(self) -> "KeyServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, method: str, path: str, keys: set[str]) -> tuple[int, bytes]:
        """What to answer to a request that brings these keys."""
        self.asked.append((method, path))
        is_right = self.key in keys
        if method == "GET":
            if self.is_public or is_right:
                return self.list_status, b'{"data": [{"id": "m"}]}'
            return self.wrong_key
        return self.reply if is_right else self.wrong_key


def _handler(server: KeyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            self._answer("POST")

        def do_GET(self) -> None:
            self._answer("GET")

        def _answer(self, method: str) -> None:
            names = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
            keys = {self.headers.get(name, "").removeprefix("Bearer ") for name in names}
            status, body = server.answer(method, self.path, keys)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: what is printed would be part of the tests' output."""

    return Handler
