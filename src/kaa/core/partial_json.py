"""The arguments of a tool call while they still arrive, and what is left of them when they break off.

`msgspec` decodes whole documents only. This decoder takes a JSON object in pieces, each character once, and
can show at any time what it has got so far.
"""

import re
from typing import Final, TypeAlias

import msgspec

from kaa.core.messages import MAX_JSON_DEPTH, Json

_Containers: TypeAlias = dict[str, Json] | list[Json]

# Longer than any number; without a bound a flood of digits would be read again with every fragment.
_MAX_SCALAR_LENGTH: Final = 4096

_missing: Final = object()

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_BLANK = re.compile(r"[ \t\r\n]+")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_ESCAPE_LENGTH: Final = 6
_HEX = re.compile(r"\\u[0-9A-Fa-f]{4}")


class _NotJsonError(Exception):
    """The text cannot be the beginning of a JSON object."""


class PartialJson:
    """Decodes one JSON object from fragments of its text.

    Never raises: text that cannot belong to a JSON object sets `broken`, and the value stays as it was.
    """

    def __init__(self) -> None:
        self._stack: list[_Containers] = []
        self._keys: list[str] = []  # the key under which a value is awaited, one per open object
        self._state = self._before_object
        self._string: list[str] = []  # decoded pieces of the open string
        self._token = ""  # an escape or a scalar that may go on in the next fragment
        self._string_is_key = False
        self._root: dict[str, Json] = {}
        self.broken = False

    @property
    def complete(self) -> bool:
        """Whether the closing brace has come."""
        return self._state == self._after_object and not self.broken

    @property
    def value(self) -> dict[str, Json]:
        """What is known so far.

        An unfinished string is included as far as it came; unfinished keys, numbers and literals are not.
        Values once returned are not changed by later fragments. Cost: the number of members of the open
        containers, plus the length of an open string.
        """
        if not self._stack:
            return self._root
        inner: Json = _missing
        if self._state == self._in_string and not self._string_is_key:
            text = "".join(self._string)
            self._string = [text]
            inner = text
        keys = list(self._keys)
        for container in reversed(self._stack):
            if isinstance(container, list):
                inner = [*container] if inner is _missing else [*container, inner]
            else:
                key = keys.pop()
                inner = {**container} if inner is _missing else {**container, key: inner}
        assert isinstance(inner, dict)
        return inner

    def feed(self, fragment: str) -> None:
        """Take the next piece of text. After the text broke the rest is ignored."""
        if self.broken or not fragment:
            return
        text = self._token + fragment
        self._token = ""
        position = 0
        try:
            while position < len(text):
                position = self._state(text, position)
        except _NotJsonError:
            self.broken = True

    # Each state consumes something of `text` from `position` on, or keeps the rest in `_token`; it returns
    # the new position.

    def _before_object(self, text: str, position: int) -> int:
        position = _skip_blank(text, position)
        if position < len(text):
            if text[position] != "{":
                raise _NotJsonError
            self._open({})
            position += 1
        return position

    def _after_object(self, text: str, position: int) -> int:
        position = _skip_blank(text, position)
        if position < len(text):
            raise _NotJsonError
        return position

    def _first_key(self, text: str, position: int) -> int:
        """After `{`."""
        return self._key_or_close(text, position, may_close=True)

    def _next_key(self, text: str, position: int) -> int:
        """After a comma in an object."""
        return self._key_or_close(text, position, may_close=False)

    def _key_or_close(self, text: str, position: int, *, may_close: bool) -> int:
        position = _skip_blank(text, position)
        if position == len(text):
            return position
        if text[position] == '"':
            self._string, self._string_is_key = [], True
            self._state = self._in_string
        elif text[position] == "}" and may_close:
            self._close()
        else:
            raise _NotJsonError
        return position + 1

    def _colon(self, text: str, position: int) -> int:
        position = _skip_blank(text, position)
        if position == len(text):
            return position
        if text[position] != ":":
            raise _NotJsonError
        self._state = self._value
        return position + 1

    def _first_item(self, text: str, position: int) -> int:
        """After `[`."""
        position = _skip_blank(text, position)
        if position < len(text) and text[position] == "]":
            self._close()
            return position + 1
        return self._value(text, position)

    def _value(self, text: str, position: int) -> int:
        position = _skip_blank(text, position)
        if position == len(text):
            return position
        match text[position]:
            case "{":
                self._open({})
            case "[":
                self._open([])
            case '"':
                self._string, self._string_is_key = [], False
                self._state = self._in_string
            case _:
                self._state = self._scalar
                return position
        return position + 1

    def _scalar(self, text: str, position: int) -> int:
        """A number, `true`, `false` or `null`: complete only when something else follows."""
        match = _SCALAR.match(text, position)
        if match is None:
            raise _NotJsonError
        if match.end() == len(text):
            self._token = text[position:]
            if len(self._token) > _MAX_SCALAR_LENGTH:
                raise _NotJsonError
            return match.end()
        try:
            self._put(msgspec.json.decode(match.group()))
        except msgspec.DecodeError:
            raise _NotJsonError from None
        return match.end()

    def _in_string(self, text: str, position: int) -> int:
        match = _PLAIN.match(text, position)
        if match is not None:
            self._string.append(match.group())
            return match.end()
        if text[position] == "\\":
            return self._escape(text, position)
        if text[position] != '"':
            raise _NotJsonError
        string = "".join(self._string)
        if self._string_is_key:
            self._keys[-1] = string
            self._state = self._colon
        else:
            self._put(string)
        return position + 1

    def _escape(self, text: str, position: int) -> int:
        """One escape, or two that make one character beyond the basic plane."""
        kind = text[position + 1 : position + 2]
        if kind and kind != "u":
            if kind not in _ESCAPES:
                raise _NotJsonError
            self._string.append(_ESCAPES[kind])
            return position + 2
        end = position + _UNICODE_ESCAPE_LENGTH
        if end > len(text):
            self._token = text[position:]
            return len(text)
        unit = _code_unit(text, position)
        if 0xD800 <= unit < 0xDC00:
            following = text[end : end + _UNICODE_ESCAPE_LENGTH]
            if len(following) < _UNICODE_ESCAPE_LENGTH and r"\u".startswith(following[:2]):
                self._token = text[position:]
                return len(text)
            low = _code_unit(text, end) if following.startswith(r"\u") else 0
            if 0xDC00 <= low < 0xE000:
                self._string.append(chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
                return end + _UNICODE_ESCAPE_LENGTH
        # A lone surrogate cannot be written to any file or request.
        self._string.append("\N{REPLACEMENT CHARACTER}" if 0xD800 <= unit < 0xE000 else chr(unit))
        return end

    def _after_value(self, text: str, position: int) -> int:
        position = _skip_blank(text, position)
        if position == len(text):
            return position
        in_object = isinstance(self._stack[-1], dict)
        if text[position] == ",":
            self._state = self._next_key if in_object else self._value
        elif text[position] == ("}" if in_object else "]"):
            self._close()
        else:
            raise _NotJsonError
        return position + 1

    def _open(self, container: _Containers) -> None:
        if len(self._stack) == MAX_JSON_DEPTH:
            raise _NotJsonError
        self._stack.append(container)
        if isinstance(container, dict):
            self._keys.append("")
            self._state = self._first_key
        else:
            self._state = self._first_item

    def _close(self) -> None:
        container = self._stack.pop()
        if isinstance(container, dict):
            self._keys.pop()
        if self._stack:
            self._put(container)
        else:
            assert isinstance(container, dict)
            self._root = container
            self._state = self._after_object

    def _put(self, value: Json) -> None:
        container = self._stack[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[self._keys[-1]] = value
        self._state = self._after_value


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _code_unit(text: str, position: int) -> int:
    """The UTF-16 code unit of the escape at `position`."""
    if _HEX.match(text, position) is None:
        raise _NotJsonError
    return int(text[position + 2 : position + _UNICODE_ESCAPE_LENGTH], 16)
