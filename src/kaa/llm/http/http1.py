"""HTTP/1.1 without any network: a request to bytes, bytes to a response.

llhttp, the parser of Node.js, reads the responses (through httptools); here is what a client needs around it.
Made for streams of many small chunks: whatever arrives in one read is handed on as one piece.
"""

import re
import zlib
from collections.abc import Callable, Iterable
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from kaa.llm.http.transport import Headers

# Bytes that may come without adding to the body: heads, extensions of chunks, trailers.
_MAX_SILENT_BYTES: Final = 256 * 1024
# What one read may inflate to; a stream of text shrinks to a tenth, a bomb to a thousandth.
_MAX_INFLATED_BYTES: Final = 16 * 1024 * 1024
# zlib: 32 + 15 detects the gzip and the zlib header, both of which servers call by either name.
_ANY_HEADER_BITS: Final = 47
_GZIP_MAGIC: Final = b"\x1f\x8b"

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE: Final = re.compile(r"[^\x00\r\n]*")
_TARGET: Final = re.compile(r"[!-~]+")


class HttpError(Exception):
    """The other side does not speak HTTP/1.1."""


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """A request with its length.

    Raises:
        ValueError: something cannot be sent as it is. The message does not repeat it, for it may be secret.
    """
    if not _TARGET.fullmatch(target):
        raise ValueError("the address has characters that must be escaped")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers:
        if not _TOKEN.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
            raise ValueError("a header has characters that cannot be sent")
        lines.append(f"{name}: {value}")
    lines += (f"content-length: {len(body)}", "", "")
    try:
        return "\r\n".join(lines).encode("latin-1") + body
    except UnicodeEncodeError:
        raise ValueError("a header has characters that cannot be sent") from None


class ResponseDecoder:
    """Decodes one response from bytes in any chunking.

    Attributes:
        status: None until the head has come.
        headers: of the response, names in lower case.
        complete: the whole body has come.
        reusable: the connection may carry another request, once `complete`.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers = Headers()
        self.complete = False
        self.reusable = False
        self._parser = HttpResponseParser(self)
        self._fields: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._silent_bytes = 0
        self._decompress: Callable[[bytes], bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """Take what has arrived; returns what it adds to the body, decompressed.

        Raises:
            HttpError: this is no HTTP/1.1.
        """
        if self.complete:
            self.reusable = self.reusable and not data
            return b""
        self._parse(data)
        body = b"".join(self._parts)
        self._parts.clear()
        if not body:
            self._silent_bytes += len(data)
            if self._silent_bytes > _MAX_SILENT_BYTES and not self.complete:
                raise HttpError("the head or the end of the answer is endless")
            return b""
        self._silent_bytes = 0
        if self._decompress is None:
            self._decompress = _decompression(self.headers)
        return self._decompress(body)

    def end(self) -> None:
        """The connection was closed.

        Raises:
            HttpError: in the middle of the response.
        """
        self.reusable = False
        if self.status is None:
            raise HttpError("the server closed the connection without an answer")
        framed = self.headers.get("content-length") or self.headers.get("transfer-encoding")
        if framed and not self.complete:
            raise HttpError("the server closed the connection in the middle of the answer")
        self.complete = True

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as error:
            raise HttpError("the server asks for a protocol other than HTTP") from error
        except HttpParserError as error:
            if not self.complete:
                raise HttpError(f"the server does not speak HTTP/1.1: {error}") from error
            # Bytes nobody asked for would be taken for the next answer.
            self.reusable = False

    def on_message_begin(self) -> None:
        """Callback of the parser: a head begins, that of an interim response or the real one."""
        if self.complete:
            raise HttpError("an answer without a request")
        self._fields.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Callback of the parser: a header or, behind the body, a trailer."""
        if self.status is None:
            self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))

    def on_headers_complete(self) -> None:
        """Callback of the parser: a head ends."""
        status = self._parser.get_status_code()
        if not 100 <= status < 200:
            self.status, self.headers = status, Headers(tuple(self._fields))

    def on_body(self, body: bytes) -> None:
        """Callback of the parser: a piece of the body."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Callback of the parser: a response ends."""
        self.complete = self.status is not None
        self.reusable = self.complete and self._parser.should_keep_alive()


def _decompression(headers: Headers) -> Callable[[bytes], bytes]:
    """What turns the pieces of a body, in their order, into what the server meant.

    Raises:
        HttpError: kaa does not know how.
    """
    if (headers.get("transfer-encoding") or "chunked").lower() != "chunked":
        raise HttpError("the answer has a transfer encoding that kaa did not ask for")
    match (headers.get("content-encoding") or "identity").lower():
        case "identity":
            return bytes
        case "gzip" | "x-gzip" | "deflate":
            return _Inflation()
        case other:
            raise HttpError(f"the answer is compressed with {other!r}, which kaa did not ask for")


class _Inflation:
    """Inflates a body of one or more gzip members (RFC 1952, section 2.2), or of one zlib stream."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_ANY_HEADER_BITS)
        self._between = b""  # what may be the beginning of another member

    def __call__(self, packed: bytes) -> bytes:
        inflated = bytearray()
        packed = self._between + packed
        self._between = b""
        while packed:
            if self._inflater.eof:
                if not packed.startswith(_GZIP_MAGIC):
                    # Padding is ignored, as gzip itself does. A single byte may become a member with the next read.
                    self._between = packed if packed == _GZIP_MAGIC[:1] else b""
                    break
                self._inflater = zlib.decompressobj(_ANY_HEADER_BITS)
            try:
                inflated += self._inflater.decompress(packed, _MAX_INFLATED_BYTES - len(inflated) + 1)
            except zlib.error as error:
                raise HttpError(f"the answer cannot be decompressed ({error})") from error
            if len(inflated) > _MAX_INFLATED_BYTES:
                raise HttpError(f"one piece of the answer decompresses to more than {_MAX_INFLATED_BYTES} bytes")
            packed = self._inflater.unused_data
        return bytes(inflated)
