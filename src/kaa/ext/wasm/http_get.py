"""The process behind `http.get` of components: prints the body at an address.

It runs as a command of the sandbox, so that the network gate judges each connection. Without kaa: only the standard
library.

Arguments: the address, then the permitted hosts. The first line of the output is empty, or says what went wrong.
"""

import contextlib
import http.client
import sys
import urllib.error
import urllib.request
from http.client import HTTPMessage
from typing import IO
from urllib.parse import urlsplit

_MAX_BYTES = 5 * 1024 * 1024
_MAX_REDIRECTS = 5
_SILENCE_SECONDS = 20.0


class _ProblemError(Exception):
    """Why nothing is fetched."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = _MAX_REDIRECTS

    def __init__(self, hosts: list[str]) -> None:
        self._hosts = hosts

    def redirect_request(  # the signature of the base class
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        _check(newurl, self._hosts)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetched(url: str, hosts: list[str]) -> bytes:
    """The body at an address.

    Raises:
        _ProblemError: it is not permitted, or cannot be had.
    """
    _check(url, hosts)
    opener = urllib.request.OpenerDirector()  # the default one also reads files and knows passwords
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(hosts),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", "kaa (extension)")]
    try:
        with opener.open(url, timeout=_SILENCE_SECONDS) as answer:
            body: bytes = answer.read(_MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        raise _ProblemError(f"the server answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _ProblemError(str(getattr(error, "reason", "")) or str(error) or type(error).__name__) from error
    if len(body) > _MAX_BYTES:
        raise _ProblemError(f"the body has more than {_MAX_BYTES >> 20} MiB")
    return body


def _check(url: str, hosts: list[str]) -> None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError as error:
        raise _ProblemError(f"the address is not valid ({error})") from error
    if parts.scheme not in ("http", "https") or not host:
        raise _ProblemError("only http:// and https:// addresses are fetched")
    if parts.username is not None or parts.password is not None:
        raise _ProblemError("the address contains a user name or a password")
    if not any(_covers(rule, host, port) for rule in hosts):
        raise _ProblemError(f"{host} is not among the hosts that extension.toml names: {', '.join(hosts) or 'none'}")


def _covers(rule: str, host: str, port: int | None) -> bool:
    name, colon, wanted = rule.lower().partition(":")
    if colon and wanted != str(port):
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


if __name__ == "__main__":
    problem, data = "", b""
    try:
        data = fetched(sys.argv[1], sys.argv[2:])
    except _ProblemError as error:
        problem = " ".join(str(error).split())[:1000]
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(problem.encode("utf-8", "replace") + b"\n" + data)
