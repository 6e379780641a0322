"""Requests are passed on only if every reader would read them the same way."""

import contextlib

import pytest
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.heads import parse_request, parse_response
from kaa.workspace.network.streams import MalformedError

_GET = "GET http://example.com/ HTTP/1.1"


def _head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((_GET, "Content-Length: 5", "Content-Length: 6"), "more than one Content-Length"),
        ((_GET, "Content-Length: 5", "content-length: 5"), "more than one Content-Length"),
        ((_GET, "Content-Length: 5, 5"), "not a number"),
        ((_GET, "Content-Length: +5"), "not a number"),
        ((_GET, "Content-Length: 0x5"), "not a number"),
        ((_GET, "Content-Length: \uff15".encode().decode("latin-1")), "not a number"),
        ((_GET, "Content-Length:"), "not a number"),
        ((_GET, "Content-Length: 9999999999999999999"), "not a number"),
        ((_GET, "Transfer-Encoding: chunked", "Content-Length: 5"), "both"),
        ((_GET, "Content-Length: 5", "Transfer-Encoding: identity"), "both"),
        ((_GET, "Transfer-Encoding: gzip, chunked"), "only transfer encoding"),
        ((_GET, "Transfer-Encoding: xchunked"), "only transfer encoding"),
        ((_GET, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"), "only transfer encoding"),
        (("GET http://example.com/ HTTP/1.0", "Transfer-Encoding: chunked"), "only transfer encoding"),
        ((_GET, "Host: example.com", "Host: evil.example"), "more than one Host"),
        ((_GET, "X-Folded: a", " b"), "folded"),
        ((_GET, "X-Folded: a", "\tTransfer-Encoding: chunked"), "folded"),
        ((_GET, " X-First: a"), "folded"),
        ((_GET, "Content-Length : 5"), "not valid"),
        ((_GET, "Transfer-Encoding\t: chunked"), "not valid"),
        ((_GET, "X: a\nContent-Length: 5"), "not valid"),
        ((_GET, "X: a\rContent-Length: 5"), "not valid"),
        ((_GET, "X: a\x00b"), "not valid"),
        ((_GET, "X\x0b: a"), "not valid"),
        ((_GET, ": a"), "not valid"),
        ((_GET, "no colon"), "not valid"),
        ((_GET, ""), "not valid"),
        (("",), "first line"),
        (("", _GET), "first line"),
        (("GET  http://example.com/ HTTP/1.1",), "first line"),
        (("GET http://example.com/ HTTP/1.1 ",), "first line"),
        (("GET http://example.com/a b HTTP/1.1",), "first line"),
        (("GET\thttp://example.com/\tHTTP/1.1",), "first line"),
        (("GET http://example.com/\x0b HTTP/1.1",), "first line"),
        (("GET http://example.com/",), "first line"),
        (("GET http://example.com/ HTTP/2.0",), "first line"),
        (("GET http://example.com/ http/1.1",), "first line"),
        (("G(T http://example.com/ HTTP/1.1",), "first line"),
        (("GET http://example.com/ HTTP/1.1\nHost: a",), "first line"),
        (("\x16\x03\x01",), "first line"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(MalformedError, match=says):
        parse_request(_head(*lines))


@pytest.mark.parametrize(
    ("target", "destination", "path"),
    [
        ("http://example.com", "example.com:80", "/"),
        ("HTTP://EXAMPLE.com./a?b", "example.com:80", "/a?b"),
        ("http://example.com?b", "example.com:80", "/?b"),
        ("http://example.com:8080/a", "example.com:8080", "/a"),
        ("http://[2606:4700::1]:8080/", "[2606:4700::1]:8080", "/"),
        ("http://example.com/#@evil.example/", "example.com:80", "/"),
        ("http://example.com/@evil.example", "example.com:80", "/@evil.example"),
        ("http://example.com//evil.example/", "example.com:80", "//evil.example/"),
        ("http://example.com/http://evil.example/", "example.com:80", "/http://evil.example/"),
    ],
)
def test_urls_lead_where_they_say(target: str, destination: str, path: str) -> None:
    request = parse_request(_head(f"GET {target} HTTP/1.1"))

    where, what = request.resource()

    assert (str(where), what) == (destination, path)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "*",
        "example.com",
        "https://example.com/",
        "ftp://example.com/",
        "http:/example.com/",
        "http:///a",
        "http://user@example.com/",
        "http://example.com@evil.example/",
        "http://example.com\\@evil.example/",
        "http://example.com:80:80/",
        "http://example.com:/",
        "http://exa%6dple.com/",
        "http://[::1/",
        "http://127.1/",
        "http://example.com,evil.example/",
        "http://bücher.example/",
    ],
)
def test_urls_that_lead_elsewhere_or_nowhere_are_refused(target: str) -> None:
    with pytest.raises(MalformedError):
        parse_request(_head(f"GET {target} HTTP/1.1")).resource()


def test_the_host_is_that_of_the_url_whatever_the_field_says() -> None:
    request = parse_request(_head("GET http://example.com/a HTTP/1.1", "Host: evil.example", "X: 1"))

    encoded = request.encode(*request.resource())

    assert encoded == b"GET /a HTTP/1.1\r\nHost: example.com\r\nX: 1\r\nConnection: close\r\n\r\n"


def test_what_concerns_the_connection_stays_behind() -> None:
    request = parse_request(
        _head(
            "POST http://example.com/ HTTP/1.1",
            "Connection: keep-alive, X-Mine, Content-Length, Host",
            "X-Mine: 1",
            "Proxy-Connection: keep-alive",
            "Proxy-Authorization: Basic c2VjcmV0",
            "Keep-Alive: 5",
            "TE: trailers",
            "Upgrade: websocket",
            "Content-Length: 3",
            "Accept: */*",
        )
    )

    encoded = request.encode(*request.resource())

    assert encoded == (
        b"POST / HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    )


def test_answers_lose_what_concerns_the_connection_and_keep_their_framing() -> None:
    response = parse_response(
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Mine, Transfer-Encoding\r\nKeep-Alive: timeout=5\r\n"
        b"X-Mine: 1\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b"
    )

    assert response.status == 200
    assert response.encoded == (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize("head", [b"", b"SSH-2.0-OpenSSH", b"HTTP/2 200 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 200\nX: 1"])
def test_answers_that_are_no_http_are_refused(head: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_response(head)


_PIECES = st.sampled_from(
    [
        "Content-Length",
        "Transfer-Encoding",
        "Host",
        "Connection",
        "X",
        ":",
        ": ",
        " ",
        "\t",
        "\r",
        "\n",
        "\r\n",
        "5",
        ",",
        "chunked",
        "identity",
        "close",
        "example.com",
        "\x00",
        "\x0b",
        "ÿ",
        "\x85",
    ]
)


@given(st.lists(st.lists(_PIECES, max_size=6).map("".join), max_size=4), st.sampled_from(["GET", "POST", "DELETE"]))
def test_whatever_is_accepted_is_one_request_to_another_parser(lines: list[str], method: str) -> None:
    try:
        request = parse_request(_head(f"{method} http://example.com/a HTTP/1.1", *lines))
        destination, path = request.resource()
    except MalformedError:
        return
    body = b"0\r\n\r\n" if request.framing == "chunked" else b"x" * request.framing

    seen = _Oracle()
    with contextlib.suppress(HttpParserUpgrade):
        seen.parse(request.encode(destination, path) + body)

    assert seen.urls == [b"/a"]
    assert seen.complete == 1
    assert seen.hosts == [b"example.com"]


@given(st.binary())
def test_any_head_is_a_request_or_a_clear_error(head: bytes) -> None:
    with contextlib.suppress(MalformedError):
        parse_request(head)
    with contextlib.suppress(MalformedError):
        parse_response(head)


@given(st.text("abc:/@[]#?%\\.0159*", max_size=20))
def test_any_target_leads_somewhere_or_is_a_clear_error(target: str) -> None:
    with contextlib.suppress(MalformedError):
        destination, path = parse_request(_head(f"GET http://{target} HTTP/1.1")).resource()
        assert isinstance(destination, Destination)
        assert path.startswith("/")
        assert not {"#", "@", "\\", "?"} & set(destination.host)


class _Oracle:
    """llhttp, as Node.js has it."""

    def __init__(self) -> None:
        self.urls: list[bytes] = []
        self.hosts: list[bytes] = []
        self.complete = 0

    def parse(self, data: bytes) -> None:
        parser = HttpRequestParser(self)
        try:
            parser.feed_data(data)
        except HttpParserError as error:
            raise AssertionError(f"{data!r} is not valid: {error}") from error

    def on_url(self, url: bytes) -> None:
        self.urls.append(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"host":
            self.hosts.append(value)

    def on_message_complete(self) -> None:
        self.complete += 1
