"""HTTP/1.1 without any network: a request to bytes, bytes to a response (RFC 9112).

Made for streams of many small chunks: whatever arrives in one read is decoded in one go and handed on as one
piece.
"""

import re
import zlib
from collections.abc import Iterable
from typing import Final

from kaa.llm.transport import Headers

_MAX_HEAD_BYTES: Final = 256 * 1024
_MAX_TRAILER_BYTES: Final = 64 * 1024

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE: Final = re.compile(r"[^\x00\r\n]*")
_TARGET: Final = re.compile(r"[!-~]+")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.(\d) (\d{3})(?: [^\r\n]*)?")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LONGEST_SIZE_LINE: Final = 4096
# zlib: 32 + 15 detects the gzip and the zlib header, both of which servers call by either name.
_ANY_HEADER_BITS: Final = 47


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
        self._pending = b""  # of the head, or of a line between chunks
        self._left: int | None = 0  # bytes of the body or chunk; None: until the connection closes
        self._chunked = False
        self._chunk_ends = False  # the line end behind a chunk is still to come
        self._in_trailers = False
        self._inflate: zlib._Decompress | None = None

    def feed(self, data: bytes) -> bytes:
        """Take what has arrived; returns what it adds to the body, decompressed.

        Raises:
            HttpError: this is no HTTP/1.1.
        """
        if self.complete:
            self.reusable = self.reusable and not data
            return b""
        if self.status is None:
            data = self._take_head(self._pending + data)
            if self.status is None:
                return b""
        body = self._take_chunks(data) if self._chunked else self._take_plain(data)
        return self._inflated(body) if self._inflate is not None else body

    def end(self) -> None:
        """The connection was closed.

        Raises:
            HttpError: in the middle of the response.
        """
        if self.status is not None and self._left is None:
            self.complete = True
        self.reusable = False
        if not self.complete:
            where = "in the middle of the answer" if self.status is not None else "without an answer"
            raise HttpError(f"the server closed the connection {where}")

    def _take_head(self, data: bytes) -> bytes:
        """Decode the head; returns what follows it, or keeps everything for later."""
        while (end := _HEAD_END.search(data)) is not None:
            self._read_head(data[: end.start()].lstrip(b"\r\n"))
            data = data[end.end() :]
            if self.status is not None:
                self._pending = b""
                return data
        if len(data) > _MAX_HEAD_BYTES:
            raise HttpError("the head of the answer is endless")
        if not b"HTTP/1.".startswith(data.lstrip(b"\r\n")[:7]):
            raise HttpError("the server does not speak HTTP/1.1")
        self._pending = data
        return b""

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.replace(b"\r\n", b"\n").split(b"\n")
        match = _STATUS_LINE.fullmatch(first)
        if match is None:
            raise HttpError("the server does not speak HTTP/1.1")
        status = int(match[2])
        if 100 <= status < 200:
            return  # an interim response; the real one follows
        items: list[tuple[str, str]] = []
        for line in lines:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not _TOKEN.fullmatch(name):
                raise HttpError("a header of the answer cannot be read")
            items.append((name.lower(), value.strip(" \t")))
        self.status, self.headers = status, Headers(tuple(items))
        self._choose_framing(http_1_0=match[1] == b"0")

    def _choose_framing(self, *, http_1_0: bool) -> None:
        connection = (self.headers.get("connection") or "").lower()
        self.reusable = "close" not in connection and not (http_1_0 and "keep-alive" not in connection)
        if self.status in (204, 304):
            self.complete = True
            return
        encodings = (self.headers.get("transfer-encoding") or "").lower().replace(" ", "")
        length = self.headers.get("content-length")
        if encodings == "chunked":
            self._chunked = True
        elif encodings:
            raise HttpError(f"the answer has the unknown transfer encoding {encodings!r}")
        elif length is None:
            self._left, self.reusable = None, False
        elif length.isascii() and length.isdigit():
            self._left = int(length)
            self.complete = self._left == 0
        else:
            raise HttpError("the length of the answer cannot be read")
        match (self.headers.get("content-encoding") or "identity").lower():
            case "identity":
                pass
            case "gzip" | "x-gzip" | "deflate":
                self._inflate = zlib.decompressobj(_ANY_HEADER_BITS)
            case other:
                raise HttpError(f"the answer is compressed with {other!r}, which kaa did not ask for")

    def _take_plain(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        body, rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        if self._left == 0:
            self._finish(rest)
        return body

    def _take_chunks(self, data: bytes) -> bytes:
        data, self._pending = self._pending + data, b""
        parts: list[bytes] = []
        position, size = 0, len(data)
        while position < size and not self.complete:
            if self._in_trailers:
                position = self._take_trailers(data, position)
            elif self._left:
                part = data[position : position + self._left]
                parts.append(part)
                self._left -= len(part)
                position += len(part)
                self._chunk_ends = self._left == 0
            else:
                position = self._take_size(data, position)
        if self.complete:
            self._finish(data[position:])
        return b"".join(parts)

    def _take_size(self, data: bytes, position: int) -> int:
        """Read the line before a chunk (and the end of the one before), or keep it until it is whole."""
        start = position
        if self._chunk_ends:
            if data.startswith(b"\r\n", start):
                start += 2
            elif data.startswith(b"\n", start):
                start += 1
            elif data[start:] != b"\r":
                raise HttpError("a chunk of the answer is longer than announced")
        match = _CHUNK_SIZE.match(data, start)
        if match is None:
            self._pending = data[position:]
            if b"\n" in data[start:] or len(self._pending) > _LONGEST_SIZE_LINE:
                raise HttpError("the length of a chunk cannot be read")
            return len(data)
        self._chunk_ends = False
        self._left = int(match[1], 16)
        self._in_trailers = self._left == 0
        return match.end()

    def _take_trailers(self, data: bytes, position: int) -> int:
        """Skip the lines behind the last chunk up to an empty one."""
        while (end := data.find(b"\n", position)) >= 0:
            line = data[position:end].rstrip(b"\r")
            position = end + 1
            if not line:
                self.complete = True
                return position
        self._pending = data[position:]
        if len(self._pending) > _MAX_TRAILER_BYTES:
            raise HttpError("the end of the answer is endless")
        return len(data)

    def _finish(self, rest: bytes) -> None:
        self.complete = True
        # Bytes nobody asked for would be taken for the next answer.
        self.reusable = self.reusable and not rest

    def _inflated(self, body: bytes) -> bytes:
        assert self._inflate is not None
        try:
            return self._inflate.decompress(body)
        except zlib.error as error:
            raise HttpError(f"the answer cannot be decompressed ({error})") from error
