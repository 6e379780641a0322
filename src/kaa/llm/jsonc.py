"""JSON as people write it by hand: with comments and trailing commas.

Comments and trailing commas become blanks, so every character keeps its place and a position in the plain
JSON is the position in the file. Used for models.json and settings.
"""

import re
from collections.abc import Iterable
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

# A string, a comment, or one of the characters that decide whether a comma is superfluous. Whatever lies
# between two matches is blank or part of a number or a word.
_TOKEN = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\r\n]*|/\*.*?\*/|/\*|[\[{:,\]}]', re.DOTALL)
_NOT_LINE_END = re.compile(r"[^\r\n]")
_BYTE_POSITION = re.compile(r" \(byte (\d+)\)$")
_BYTE_ORDER_MARK = "\ufeff"


class JsoncError(ValueError):
    """The text is not JSON, even with comments and trailing commas allowed.

    Attributes:
        reason: what is wrong, without the place.
        line: line of the original text, from 1.
        column: column in characters, from 1.
    """

    def __init__(self, reason: str, text: str, offset: int) -> None:
        self.reason = reason
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        super().__init__(f"line {self.line}, column {self.column}: {reason}")


def to_json(text: str) -> str:
    """`text` with comments and trailing commas blanked out: same length, same lines.

    Raises:
        JsoncError: a block comment does not end. All other mistakes are left for the JSON decoder.
    """
    return _blanked(text, _superfluous(text))


def without_comments(text: str) -> str:
    """`text` with comments blanked out and trailing commas left in. Raises as `to_json` does."""
    return _blanked(text, [(start, end) for start, end in _superfluous(text) if text[start] != ","])


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    copied = 0
    for start, end in spans:
        pieces += (text[copied:start], _NOT_LINE_END.sub(" ", text[start:end]))
        copied = end
    pieces.append(text[copied:])
    return "".join(pieces)


def _superfluous(text: str) -> list[tuple[int, int]]:
    """The spans of `text` that are not JSON, in order."""
    spans = [(0, 1)] if text.startswith(_BYTE_ORDER_MARK) else []
    position = len(spans)
    after_value = False  # a comma is only superfluous after a value: `[,]` stays a mistake
    comma: int | None = None  # where the last token was a comma after a value
    for match in _TOKEN.finditer(text, position):
        start, end = match.span()
        if text[position:start].strip():
            after_value, comma = True, None
        position = end
        match text[start:end]:
            case "/*":
                raise JsoncError("this comment does not end: add */", text, start)
            case comment if comment.startswith("/"):
                spans.append((start, end))
            case ",":
                comma, after_value = (start if after_value else None), False
            case "[" | "{" | ":":
                comma, after_value = None, False
            case string_or_bracket:
                if comma is not None and string_or_bracket in "]}":
                    spans.append((comma, comma + 1))
                comma, after_value = None, True
    return sorted(spans)


@overload
def decode(source: bytes | str) -> Any: ...
@overload
def decode(source: bytes | str, shape: type[T]) -> T: ...
def decode(source: bytes | str, shape: type[T] | None = None) -> T | Any:
    """The value that `source` says, checked against `shape` if given.

    Args:
        source: the text, or the bytes of a UTF-8 file.
        shape: any type msgspec can decode to.

    Raises:
        JsoncError: it is not JSON with comments; says where.
        msgspec.ValidationError: it is, but does not have the shape; the message ends with the JSON path.
    """
    text = source if isinstance(source, str) else _decode_utf8(source)
    plain = to_json(text)
    if not plain.strip():
        raise JsoncError("the file is empty: write at least {}", text, len(text))
    encoded = plain.encode("utf-8", "replace")
    try:
        return msgspec.json.decode(encoded, type=Any if shape is None else shape)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise _located(error, text, encoded) from error
    except RecursionError:
        raise JsoncError("it is nested too deeply", text, 0) from None


def _decode_utf8(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        readable = source[: error.start].decode()
        raise JsoncError("this is not UTF-8: save the file as UTF-8", readable, len(readable)) from error


def _located(error: msgspec.DecodeError, text: str, encoded: bytes) -> JsoncError:
    """The decoder's complaint, with its byte position turned into a line and a column of `text`."""
    message = str(error)
    position = _BYTE_POSITION.search(message)
    if position is None:
        return JsoncError("the text ends too early: a bracket or quote is not closed", text, len(text))
    offset = len(encoded[: int(position[1])].decode("utf-8", "replace"))
    return JsoncError(message[: position.start()].removeprefix("JSON is malformed: "), text, offset)
