"""A proxy of a company's network behind which two hosts of a package index answer, on the loopback interface."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

PAGES = {
    "http://pypi.org/simple/tiny/": b"http://files.pythonhosted.org/tiny.py",
    "http://files.pythonhosted.org/tiny.py": b"SIZE = 1\n",
}

# A package manager as small as can be: two hosts, each tried again like pip does when a connection fails.
INSTALLER = """\
#!/usr/bin/env python3
import sys, urllib.request

def fetch(url):
    for attempt in range(5):
        try:
            return urllib.request.urlopen(url, timeout=120).read()
        except OSError as error:
            print(f"WARNING: retrying after {error}", file=sys.stderr)
    sys.exit(f"ERROR: cannot fetch {url}")

command, name = sys.argv[1:]
assert command == "install"
open(f"{name}.py", "wb").write(fetch(fetch(f"http://pypi.org/simple/{name}/").decode()))
print(f"Successfully installed {name}")
"""


class PackageIndex(NamedTuple):
    """The proxy.

    Attributes:
        url: for HTTP_PROXY.
        asked: the addresses that were fetched, in order.
    """

    url: str
    asked: list[str]


@contextmanager
def package_index() -> Iterator[PackageIndex]:
    """Serve `PAGES` to who uses the proxy."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            page = PAGES.get(self.path)
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Length", str(len(page or b"")))
            self.end_headers()
            self.wfile.write(page or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield PackageIndex(f"http://127.0.0.1:{server.server_address[1]}", asked)
        finally:
            server.shutdown()
            thread.join()
