"""Puts values into shell commands as data, also where the command has quotation marks of its own."""

import re
import shlex
from collections.abc import Iterable
from typing import Literal, TypeAlias

_State: TypeAlias = Literal["bare", "double", "single", "unknown"]

# For each state what ends it or makes it unknown, and what only looks like that. Unknown is everything inside which
# quotation marks mean something else: substitutions, here-documents, comments, arithmetic.
_PLAIN_VARIABLE = r"\$\{\w+\}"
_TOKENS: dict[_State, re.Pattern[str]] = {
    "bare": re.compile(rf"\\.|{_PLAIN_VARIABLE}|'|\"|\$[('{{\[]|`|<<|#|\(\(|\[(?![\s\[])|[\\$]\Z", re.DOTALL),
    "double": re.compile(rf"\\.|{_PLAIN_VARIABLE}|\"|\$[(\[{{]|`|[\\$]\Z", re.DOTALL),
    "single": re.compile("'"),
}
_HARMLESS = re.compile(rf"\\.|{_PLAIN_VARIABLE}", re.DOTALL)
_NEXT: dict[tuple[_State, str], _State] = {
    ("bare", "'"): "single",
    ("bare", '"'): "double",
    ("double", '"'): "bare",
    ("single", "'"): "bare",
}
# What means nothing to a shell, wherever it stands.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ -]*")
# Where bash itself evaluates data, although it is quoted: `a[$(id)]` as a number or as the name of a variable.
_EVALUATING = re.compile(
    r"(?<!\S)-(?:eq|ne|lt|le|gt|ge)(?!\S)|(?:\[|\btest|\bprintf)\s+-v\b|\b(?:let|declare|typeset|local|unset)\s"
)
_SPECIAL_IN_DOUBLE = re.compile(r'[$`"\\]')


class UnsafeValueError(ValueError):
    """A value cannot be put into a command as data at this place."""


class ShellCommand:
    """A command that grows: parts of its own, and values that stay data.

    A program that the command starts can still take a value as code (`eval`, `sh -c "…"`); the sandbox confines it.
    """

    def __init__(self, template: str = "") -> None:
        self._parts: list[str] = []
        self._state: _State = "unknown" if _EVALUATING.search(template) else "bare"

    @property
    def text(self) -> str:
        """The command."""
        return "".join(self._parts)

    def add(self, text: str) -> None:
        """Go on with a part of the command itself."""
        self._parts.append(text)
        position = 0
        while self._state != "unknown" and (found := _TOKENS[self._state].search(text, position)):
            position = found.end()
            if not _HARMLESS.fullmatch(found[0]):
                self._state = _NEXT.get((self._state, found[0]), "unknown")

    def add_value(self, value: str, words: Iterable[str]) -> None:
        """Go on with a value.

        Args:
            value: what stands inside quotation marks of the command. Nothing, if it is empty.
            words: what stands outside of them: words of the command, each of them quoted.

        Raises:
            UnsafeValueError: it has characters with a meaning, and the place is one where quoting is uncertain.
        """
        value = value.replace("\0", "")
        if not value:
            return
        match self._state:
            case "bare":
                self._parts.append(" ".join(shlex.quote(word.replace("\0", "")) for word in words))
            case "double":
                self._parts.append(_SPECIAL_IN_DOUBLE.sub(r"\\\g<0>", value))
            case "single":
                self._parts.append(value.replace("'", "'\\''"))
            case "unknown":
                if not _PLAIN.fullmatch(value):
                    raise UnsafeValueError(value)
                self._parts.append(value)
