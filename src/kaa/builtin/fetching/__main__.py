"""The process: gets one address as the proxies of its environment allow, and prints it as text.

It runs as a command of the sandbox, so that the network gate judges each connection, those of redirects too. Its
output is a line of JSON (see `page.py`) and the text. Without kaa: only the standard library and markdownify.
"""

import contextlib
import http.client
import json
import os
import re
import resource
import ssl
import sys
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPMessage
from typing import IO, NoReturn
from urllib.parse import urljoin, urlsplit

_MAX_BYTES = 5 * 1024 * 1024
_MAX_HTML_BYTES = 2 * 1024 * 1024  # a parsed tag takes up to 1 KiB
_MAX_MEMORY_BYTES = 1024 * 1024 * 1024
_MAX_CPU_SECONDS = 30
_MAX_TEXT_CHARACTERS = 2 * 1024 * 1024
_MAX_REDIRECTS = 5
_SILENCE_SECONDS = 20.0
_AGENT = "kaa (coding agent)"
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|javascript|x-javascript|toml|x-ndjson|sql)")
# What nobody reads on a page.
_UNREAD = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "form", "button", "input")
# Where systems keep the CAs, for a Python whose OpenSSL was built for another one.
_CA_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a few redirects, to the web only."""

    max_redirections = _MAX_REDIRECTS

    def redirect_request(  # the signature of the base class
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        problem = _problem(newurl)
        if problem:
            _fail(f"it redirects to {newurl[:200]!r}: {problem}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def main(url: str) -> None:
    """Print the page at `url`."""
    with contextlib.suppress(ValueError, OSError):  # not every system knows these limits
        resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    problem = _problem(url)
    if problem:
        _fail(problem)
    opener = urllib.request.OpenerDirector()  # the default one also reads files and knows passwords
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_tls()),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    opener.addheaders = [("User-Agent", _AGENT), ("Accept", "text/html, text/*, application/json, */*;q=0.1")]
    try:
        with opener.open(url, timeout=_SILENCE_SECONDS) as answer:
            data = answer.read(_MAX_BYTES + 1)
            final, headers = str(answer.url), answer.headers
    except urllib.error.HTTPError as error:
        _fail(f"the server answered {error.code} {error.reason}")
    except urllib.error.URLError as error:
        _fail(str(error.reason))
    except (OSError, http.client.HTTPException, ValueError) as error:
        _fail(str(error) or type(error).__name__)
    _print(data, final, headers)


def _problem(url: str) -> str:
    """Why an address is not fetched; empty if it is."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"the address is not valid ({error})"
    if parts.scheme not in ("http", "https") or not host:
        return "only http:// and https:// addresses are fetched"
    if parts.username is not None or parts.password is not None:
        return "the address contains a user name or a password"
    return ""


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        bundle = next((path for path in _CA_BUNDLES if os.path.exists(path)), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    return context


def _print(data: bytes, url: str, headers: Message) -> None:
    kind = headers.get_content_type() if headers.get("Content-Type") else ""
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        _fail(f"the answer is compressed ({encoding[:40]!r}), though kaa asked for plain text")
    if kind not in _HTML and kind and not _TEXT.fullmatch(kind):
        _fail(f"it is {kind[:100]}, not text. Download it with bash if you need it: curl -O")
    limit = _MAX_HTML_BYTES if kind in _HTML else _MAX_BYTES
    is_cut = len(data) > limit
    data = data[:limit]
    charset = headers.get_content_charset()
    if kind in _HTML:
        text = _markdown(data, url, charset)
    elif b"\0" in data:
        _fail("it is binary, not text. Download it with bash if you need it: curl -O")
    else:
        text = _decoded(data, charset)
    if len(text) > _MAX_TEXT_CHARACTERS:
        text, is_cut = text[:_MAX_TEXT_CHARACTERS], True
    _say({"url": url, "kind": kind or "text/plain", "cut": is_cut}, text)


def _decoded(data: bytes, charset: str | None) -> str:
    try:
        return data.decode(charset or "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _markdown(data: bytes, url: str, charset: str | None) -> str:
    from bs4 import BeautifulSoup  # lazy: only HTML needs it
    from markdownify import MarkdownConverter

    try:
        soup = BeautifulSoup(data, "html.parser", from_encoding=charset)
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        for unread in soup([*_UNREAD, "head"]):
            unread.decompose()
        for link in soup("a", href=True):
            link["href"] = _joined(url, str(link["href"]))
        text: str = MarkdownConverter(heading_style="ATX").convert_soup(soup)
    except (RecursionError, MemoryError):
        _fail("its HTML is too large or nested too deeply")
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return f"Title: {title}\n\n{text}" if title else text


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link)
    except ValueError:
        return link


def _say(head: dict[str, object], text: str = "") -> None:
    # The text is not JSON: it may be large, and only its reader knows what it is.
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + text.encode("utf-8", "replace"))


def _fail(problem: str) -> NoReturn:
    _say({"error": problem[:1000]})
    sys.stdout.buffer.flush()
    os._exit(1)  # also where the recursion of a parser has no room left


if __name__ == "__main__":
    sys.path += sys.argv[2:]
    main(sys.argv[1])
