"""Text in files: which encoding bytes are in, and decoding that can be undone byte for byte.

For every encoding here, encoding what was decoded gives the same bytes, and the encoding of a concatenation is
the concatenation of the encodings. That is what lets an edit replace a span of text and leave every other byte
as it is, in damaged files too.
"""

import codecs
import re

import msgspec

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# How bytes that are no character are carried through decoding, and back.
_ERROR_HANDLERS = {"utf-8": "surrogateescape", "utf-16-le": "surrogatepass", "utf-16-be": "surrogatepass"}
_LABELS = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "latin-1": "Latin-1",
    "cp1252": "Windows-1252",
}
# Patterns, not compiled: most runs never need them, and compiling takes a part of a start.
_SURROGATE = "[\ud800-\udfff]"
_ESCAPED_BYTE = "[\udc80-\udcff]"
_NOT_ASCII = "[^\x00-\x7f]"
_C1_CONTROL = rb"[\x80-\x9f]"


class UnencodableTextError(ValueError):
    """New text holds a character that the file's encoding has no bytes for."""


class TextEncoding(msgspec.Struct, frozen=True):
    """How a file's text is stored: the name of a Python codec, and the byte order mark the file starts with."""

    codec: str
    mark: bytes = b""

    @property
    def label(self) -> str:
        """A name for people and models."""
        return _LABELS[self.codec]

    def decode(self, data: bytes) -> str:
        """The text of a whole file, without its mark."""
        return data[len(self.mark) :].decode(self.codec, _ERROR_HANDLERS.get(self.codec, "strict"))

    def encode(self, text: str) -> bytes:
        """The bytes that a piece of decoded text came from."""
        return text.encode(self.codec, _ERROR_HANDLERS.get(self.codec, "strict"))

    def encode_new(self, text: str) -> bytes:
        """The bytes of new text.

        Raises:
            UnencodableTextError: naming the first character that the encoding cannot hold.
        """
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            character = text[error.start]
            message = f"{self.label} text cannot hold {character!r} (U+{ord(character):04X})"
            raise UnencodableTextError(message) from error


def detect_encoding(data: bytes) -> TextEncoding:
    """The encoding of a file, from its content.

    UTF-8 and UTF-16 by their byte order marks, UTF-16 without one where zero bytes show it, UTF-8, and for what
    remains Windows-1252 or Latin-1, so that every content has an encoding. A file that is UTF-8 but for fewer
    broken bytes than proper characters stays UTF-8.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark) and (codec == "utf-8" or len(data) % 2 == 0):
            return TextEncoding(codec, mark)
    if data.isascii():
        return TextEncoding(_utf16_by_zero_bytes(data) or "utf-8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return TextEncoding(_utf16_by_zero_bytes(data) or _codec_of_broken_utf8(data))
    return TextEncoding("utf-8")


def _utf16_by_zero_bytes(data: bytes) -> str | None:
    """UTF-16 of mostly Western text has a zero in every other byte and nowhere else."""
    if len(data) % 2 or b"\0" not in data:
        return None
    zeros = data[0::2].count(0), data[1::2].count(0)
    match zeros:
        case 0, odd if odd * 4 > len(data):
            return "utf-16-le"
        case even, 0 if even * 4 > len(data):
            return "utf-16-be"
        case _:
            return None


def _codec_of_broken_utf8(data: bytes) -> str:
    """UTF-8 with some damage, or one byte per character."""
    text = data.decode("utf-8", "surrogateescape")
    broken = len(re.findall(_ESCAPED_BYTE, text))
    if len(re.findall(_NOT_ASCII, text)) >= 2 * broken:
        return "utf-8"
    if re.search(_C1_CONTROL, data) is None:
        return "latin-1"
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def display_text(data: bytes) -> str:
    """Text as it may be shown: decoded, without a mark, with U+FFFD for what is no character."""
    return re.sub(_SURROGATE, "\ufffd", detect_encoding(data).decode(data))


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text in any encoding: zero bytes where text has none."""
    return b"\0" in data and "\0" in detect_encoding(data).decode(data)
