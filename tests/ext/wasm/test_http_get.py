"""`http.get` of components: a process of its own that keeps to the hosts of the extension."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import kaa.ext.wasm

_SCRIPT = Path(kaa.ext.wasm.__path__[0]) / "http_get.py"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, header = {"/ok": (200, ""), "/moved": (302, "http://other.example/ok")}.get(self.path, (404, ""))
        body = "grüße\nzwei".encode()
        self.send_response(status)
        if header:
            self.send_header("Location", header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name of the base class
        pass


@contextmanager
def _server() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _get(url: str, *hosts: str) -> tuple[str, bytes]:
    argv = [sys.executable, "-I", "-S", "-X", "utf8", str(_SCRIPT), url, *hosts]
    done = subprocess.run(argv, capture_output=True, check=True, env={})
    problem, _, body = done.stdout.partition(b"\n")
    return problem.decode(), body


def test_the_body_of_a_permitted_host() -> None:
    with _server() as port:
        assert _get(f"http://127.0.0.1:{port}/ok", "127.0.0.1") == ("", "grüße\nzwei".encode())
        assert _get(f"http://127.0.0.1:{port}/ok", f"127.0.0.1:{port}")[0] == ""
        assert _get(f"http://127.0.0.1:{port}/no", "127.0.0.1") == ("the server answered 404 Not Found", b"")


def test_a_redirect_to_another_host_is_refused() -> None:
    with _server() as port:
        problem, body = _get(f"http://127.0.0.1:{port}/moved", "127.0.0.1")

    assert (problem, body) == ("other.example is not among the hosts that extension.toml names: 127.0.0.1", b"")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/", "a.example is not among the hosts"),
        ("http://example.com:81/", "example.com is not among the hosts"),
        ("http://b.example.com.evil/", "is not among the hosts"),
        ("http://notexample.org/", "notexample.org is not among the hosts"),
        ("file:///etc/passwd", "only http:// and https:// addresses are fetched"),
        ("http://user:word@b.example.org/", "contains a user name or a password"),
        ("http://[/", "the address is not valid"),
    ],
)
def test_what_is_not_permitted_is_not_fetched(url: str, expected: str) -> None:
    problem, body = _get(url, "example.com:80", "*.example.org")

    assert expected in problem
    assert body == b""
