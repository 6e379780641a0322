"""The heads of HTTP/1.1 messages: read strictly, written anew.

Whoever passes on a request must understand it exactly as the next server will, or a second one can be hidden in it.
So what two servers could read differently is refused (RFC 9112, 2.2, 5.2 and 6.3), and nothing is copied: the request
is written again from what was understood, with our own framing and with the host that the rules have judged.
"""

import re
from typing import Literal, NamedTuple, TypeAlias

from kaa.workspace.network.destinations import Destination, HostError, in_brackets, parse_authority
from kaa.workspace.network.streams import MalformedError

Fields: TypeAlias = tuple[tuple[str, str], ...]
# How the body is framed: its length in bytes, or by chunks.
Framing: TypeAlias = int | Literal["chunked"]

_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) (HTTP/1\.[01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LENGTH = re.compile(r"[0-9]{1,18}")
_HTTP_URL = re.compile(r"http://([^/?#]*)([^#]*)", re.IGNORECASE)

# About one connection and not the message: RFC 9110, 7.6.1, with what older software sends.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    }
)
_FRAMING = frozenset({"content-length", "transfer-encoding"})


class RequestHead(NamedTuple):
    """The head of a request.

    Attributes:
        method: in the case in which it came, which counts.
        target: as it came, not yet understood.
        version: `HTTP/1.0` or `HTTP/1.1`.
        fields: those that concern the message and not the connection; without host and framing.
    """

    method: str
    target: str
    version: str
    fields: Fields
    framing: Framing

    def tunnel(self) -> Destination:
        """Where a CONNECT request leads.

        Raises:
            MalformedError: it does not say.
        """
        try:
            return parse_authority(self.target)
        except HostError as error:
            raise MalformedError(f"CONNECT needs host:port ({error})") from None

    def resource(self) -> tuple[Destination, str]:
        """Where a request other than CONNECT leads, and the path to ask for there.

        Raises:
            MalformedError: it does not say.
        """
        if self.target.startswith("/"):
            raise MalformedError("this is an HTTP proxy for sandboxed commands; it has no pages")
        match = _HTTP_URL.fullmatch(self.target.partition("#")[0])
        if match is None:
            raise MalformedError("the proxy takes http:// URLs; everything else goes through CONNECT or SOCKS5")
        authority, path = match.groups()
        try:
            destination = parse_authority(authority, default_port=80)
        except HostError as error:
            raise MalformedError(f"the URL names no host ({error})") from None
        if not path:
            return destination, "*" if self.method == "OPTIONS" else "/"
        return destination, path if path.startswith("/") else f"/{path}"

    def encode(self, destination: Destination, target: str, authorization: str | None = None) -> bytes:
        """The bytes to send on.

        Args:
            destination: goes into the Host field, whatever the client put there.
            authorization: for the upstream proxy, if the request goes to one.
        """
        host = in_brackets(destination.host) if destination.port == 80 else str(destination)
        lines = [f"{self.method} {target} {self.version}", f"Host: {host}"]
        lines += (f"{name}: {value}" for name, value in self.fields)
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif self.framing or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {self.framing}")
        if authorization is not None:
            lines.append(f"Proxy-Authorization: {authorization}")
        lines += ("Connection: close", "", "")
        return "\r\n".join(lines).encode("latin-1")


class ResponseHead(NamedTuple):
    """The head of an answer: its status and its bytes, made fit to be passed on."""

    status: int
    encoded: bytes


def parse_request(head: bytes) -> RequestHead:
    """Parse the head of a request, without the empty line at its end.

    Raises:
        MalformedError: it is not valid, or could be read in two ways.
    """
    request_line, *lines = head.decode("latin-1").split("\r\n")
    match = _REQUEST_LINE.fullmatch(request_line)
    if match is None:
        raise MalformedError("the first line is not that of an HTTP/1.1 request")
    method, target, version = match.groups()
    fields = tuple(map(_parse_field, lines))
    if sum(name.lower() == "host" for name, _ in fields) > 1:
        raise MalformedError("there is more than one Host field")
    dropped = _HOP_BY_HOP | _FRAMING | {"host"} | _named_by_connection(fields)
    kept = tuple(field for field in fields if field[0].lower() not in dropped)
    return RequestHead(method, target, version, kept, _framing(fields, version))


def parse_response(head: bytes) -> ResponseHead:
    """Parse the head of an answer, without the empty line at its end.

    Its body is passed on as it is, and ends with the connection. The client may judge the rest of the head itself.

    Raises:
        MalformedError: it is not HTTP/1.1.
    """
    status_line, *lines = head.split(b"\r\n")
    match = _STATUS_LINE.fullmatch(status_line)
    if match is None:
        raise MalformedError("the server does not speak HTTP/1.1")
    fields = tuple((_name_of(line), line) for line in lines)
    about_connection = tuple((name, line.partition(b":")[2].decode("latin-1")) for name, line in fields)
    dropped = _HOP_BY_HOP | (_named_by_connection(about_connection) - _FRAMING)
    kept = [line for name, line in fields if name not in dropped]
    return ResponseHead(int(match[1]), b"\r\n".join((status_line, *kept, b"Connection: close", b"", b"")))


def _parse_field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if line.startswith((" ", "\t")):
        raise MalformedError("a header is folded over several lines")
    if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise MalformedError("a header is not valid")
    return name, value.strip(" \t")


def _named_by_connection(fields: Fields) -> frozenset[str]:
    """The fields that Connection declares to concern the connection only."""
    return frozenset(
        option.strip().lower() for name, value in fields if name.lower() == "connection" for option in value.split(",")
    )


def _framing(fields: Fields, version: str) -> Framing:
    lengths = [value for name, value in fields if name.lower() == "content-length"]
    encodings = [value for name, value in fields if name.lower() == "transfer-encoding"]
    if encodings:
        if lengths:
            raise MalformedError("there are both Content-Length and Transfer-Encoding")
        if version == "HTTP/1.0" or len(encodings) > 1 or encodings[0].lower() != "chunked":
            raise MalformedError("the only transfer encoding is 'chunked', given once, in HTTP/1.1")
        return "chunked"
    if len(lengths) > 1:
        raise MalformedError("there is more than one Content-Length")
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        raise MalformedError("Content-Length is not a number")
    return int(lengths[0]) if lengths else 0


def _name_of(line: bytes) -> str:
    """The name of a field; folded lines, which only answers may have here, are their own and kept."""
    return line.partition(b":")[0].strip(b" \t").lower().decode("latin-1")
