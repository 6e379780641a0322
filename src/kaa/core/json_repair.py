"""JSON as models write it when they slip: what can only be meant one way is read that way, anything else is refused.

Taken as meant: trailing commas, single quotes, keys without quotes, Python's `True`, `False` and `None`, line breaks
within strings, a Markdown fence around the whole, the whole as a JSON string, brackets missing or left over at the end.
Not guessed at: a string without an end, text after the value, brackets that do not match, unknown escapes and words, a
key that occurs twice. Each character is read once.
"""

import re
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec

from kaa.core.messages import Json

# Deeper than any arguments that somebody wrote, and shallow enough for a parser that recurses twice per level.
_MAX_DEPTH: Final = 64

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_PLAIN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_WORDS: Final[dict[str, Json]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_ESCAPES: Final = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_HEX_ESCAPE = re.compile(r"u([0-9A-Fa-f]{4})")
# A fence with nothing but the value in it; the backticks at the end may be missing.
_FENCE_BEGIN = re.compile(r"\s*```[A-Za-z_]*[ \t]*\r?\n")
_SHOWN_CHARACTERS: Final = 30
_BRACKETS: Final = {"{": "}", "[": "]"}

_Container: TypeAlias = dict[str, Json] | list[Json]


class BrokenJsonError(ValueError):
    """The text cannot be read, or could be meant in several ways; the message says where and what was expected."""


class RepairedJson(msgspec.Struct, frozen=True):
    """What was read.

    Attributes:
        closed: brackets at the end were missing: if the text was cut off, more may have been meant to come.
    """

    value: dict[str, Json] | list[Json]
    closed: bool = False


def repair_json(text: str) -> RepairedJson:
    """Read an object or an array.

    Raises:
        BrokenJsonError: the text is neither, and cannot be repaired without a guess.
    """
    if text.lstrip().startswith('"'):
        with suppress(msgspec.DecodeError):  # what is wrong with it as an object is said below
            text = msgspec.json.decode(text, type=str)
    return _Reader(_within_fence(text)).whole()


def _within_fence(text: str) -> str:
    begin = _FENCE_BEGIN.match(text)
    if begin is None:
        return text
    return text[begin.end() :].rstrip().removesuffix("```")


class _Reader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._closed = False

    def whole(self) -> RepairedJson:
        """The only value of the text."""
        self._skip_blank()
        if self._next() not in _BRACKETS:
            raise self._broken("an object in braces")
        value = self._container(1)
        rest = self._text[self._position :].strip()
        if rest.strip("]} \t\r\n"):
            self._skip_blank()
            raise self._broken("nothing after the last bracket")
        return RepairedJson(value, self._closed)

    def _next(self) -> str:
        return self._text[self._position : self._position + 1]

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._position)
        assert match is not None  # it matches nothing at all, too
        self._position = match.end()

    def _container(self, depth: int) -> _Container:
        if depth > _MAX_DEPTH:
            raise BrokenJsonError(f"brackets are nested more than {_MAX_DEPTH} deep")
        opening = self._next()
        closing = _BRACKETS[opening]
        self._position += 1
        members: dict[str, Json] = {}
        items: list[Json] = []
        while not self._ends(closing):
            if opening == "{":
                key = self._key()
                if key in members:
                    raise self._broken(f"the key {key[:_SHOWN_CHARACTERS]!r} only once")
                members[key] = self._value(depth)
            else:
                items.append(self._value(depth))
            self._skip_blank()
            if self._next() == ",":
                self._position += 1
            elif self._next() not in ("", closing):
                raise self._broken(f"a comma or {closing}")
        return members if opening == "{" else items

    def _ends(self, closing: str) -> bool:
        """Whether the container ends here, with its bracket or with the text."""
        self._skip_blank()
        if self._next() == closing:
            self._position += 1
            return True
        if self._next() == "":
            if self._text[: self._position].rstrip().endswith((",", "{", "[")):
                raise self._broken("another value")
            self._closed = True
            return True
        return False

    def _key(self) -> str:
        if self._next() in _PLAIN:
            key = self._string()
        elif match := _WORD.match(self._text, self._position):
            key = match.group()
            self._position = match.end()
        else:
            raise self._broken("a key or }")
        self._skip_blank()
        if self._next() != ":":
            raise self._broken("a colon after the key")
        self._position += 1
        return key

    def _value(self, depth: int) -> Json:
        self._skip_blank()
        following = self._next()
        if following in _PLAIN:
            return self._string()
        if following in _BRACKETS:
            return self._container(depth + 1)
        if match := _NUMBER.match(self._text, self._position):
            return self._number(match)
        match = _WORD.match(self._text, self._position)
        if match is None or match.group() not in _WORDS:
            raise self._broken("a value")
        self._position = match.end()
        return _WORDS[match.group()]

    def _number(self, match: re.Match[str]) -> Json:
        if match.end() == len(self._text):
            raise self._broken("the end of the number")  # there may have been more digits
        try:
            value: Json = msgspec.json.decode(match.group())
        except msgspec.DecodeError:
            raise self._broken("a number of a usual size") from None
        self._position = match.end()
        return value

    def _string(self) -> str:
        """A string in either kind of quotes. What follows it must show that it has really ended."""
        quote = self._next()
        plain = _PLAIN[quote]
        start = self._position
        self._position += 1
        pieces: list[str] = []
        while (following := self._next()) != quote:
            if following == "":
                self._position = start
                raise self._broken("a string with an end")
            if following == "\\":
                self._position += 1
                pieces.append(self._escape())
                continue
            match = plain.match(self._text, self._position)
            assert match is not None  # neither quote nor backslash
            pieces.append(match.group())
            self._position = match.end()
        self._position += 1
        # Surrogates in pairs are one character; a lone one cannot be written anywhere.
        return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _escape(self) -> str:
        following = self._next()
        if following in _ESCAPES and following:
            self._position += 1
            return _ESCAPES[following]
        match = _HEX_ESCAPE.match(self._text, self._position)
        if match is None:
            raise self._broken("an escape of JSON (a backslash itself is written twice)")
        self._position = match.end()
        return chr(int(match.group(1), 16))

    def _broken(self, expected: str) -> BrokenJsonError:
        place = self._position
        before = self._text[max(0, place - _SHOWN_CHARACTERS) : place]
        after = self._text[place : place + _SHOWN_CHARACTERS]
        where = f"after {before!r}" if before else "at the beginning"
        found = repr(after) if after else "the end of the text"
        return BrokenJsonError(f"expected {expected} at character {place + 1}, {where}, but found {found}")
