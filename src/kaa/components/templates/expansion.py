"""Puts arguments into templates, in one pass: an argument's text is never expanded again.

Commands and file references are those of the template. A reference with an argument in its path is text: the model can
read the file, with the permissions that hold for it.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from kaa.components.templates import Dialect
from kaa.components.templates.embedded import EmbeddedCommand, File, LiteralText, Piece, pieces_of
from kaa.components.templates.placeholders import Placeholders, Value, placeholders

# Of what placeholders stand for, in characters, all together: a thousand placeholders for a long text are too much.
_MAX_INSERTED = 1_000_000


def expand(
    body: str, arguments: str, dialect: Dialect, *, names: Sequence[str] = (), variables: Mapping[str, str] = {}
) -> tuple[Piece, ...]:
    """The pieces of a message, in order; no two texts follow each other.

    In commands, arguments and variables are quoted, so that the shell takes them as data: `$ARGUMENTS` as several
    words, others as one. Where quoting is uncertain (in a substitution, a here-document, a comment or arithmetic),
    arguments with special characters are refused, and a text says which command is therefore missing.

    Args:
        arguments: all that was given, as it was typed. NUL characters are left out of commands.
        names: of its arguments, in order (Claude Code).
        variables: values for `${NAME}`, by names that begin with `CLAUDE_` (Claude Code).

    Returns:
        the pieces. Arguments beyond 1,000,000 inserted characters leave their placeholders.
    """
    filling = _Filling(placeholders(dialect, body, arguments, names, variables))
    for piece in pieces_of(body, dialect):
        match piece:
            case LiteralText(text=text):
                filling.add_text(text)
            case EmbeddedCommand(command=command):
                filling.add_command(command)
            case File():
                filling.add_file(piece)
    return filling.finished(arguments)


class _Filling:
    """Fills pieces of a template and collects them."""

    def __init__(self, found: Placeholders) -> None:
        self._placeholders = found
        self._room = _MAX_INSERTED
        self._has_arguments = False
        self._pieces: list[Piece] = []
        self._texts: list[str] = []

    def add_text(self, text: str) -> None:
        self._texts.append(_text(self._parts(text)))

    def add_command(self, template: str) -> None:
        had_arguments = self._has_arguments
        command = ShellCommand(template)
        try:
            for part in self._parts(template):
                if isinstance(part, Value):
                    command.add_value(part.text, part.words)
                else:
                    command.add(part)
        except UnsafeValueError:
            self._has_arguments = had_arguments
            reason = "an argument or path has characters with a meaning for the shell, where kaa cannot quote them"
            self._texts.append(f"[kaa did not run `{template}`: {reason}]")
            return
        if command.text.strip():
            self._add(EmbeddedCommand(command.text))

    def add_file(self, file: File) -> None:
        path = self._parts(file.path)
        if any(isinstance(part, Value) and part.is_argument for part in path):
            self.add_text(file.source)
        else:
            self._add(File(_text(path), _text(self._parts(file.source))))

    def finished(self, arguments: str) -> tuple[Piece, ...]:
        """All pieces; arguments that have no placeholder stand at the end, if the dialect wants it."""
        heading = self._placeholders.heading
        if heading is not None and not self._has_arguments and arguments.strip():
            self._texts.append(f"\n\n{heading}{arguments}")
        self._end_text()
        return tuple(self._pieces)

    def _parts(self, text: str) -> list[str | Value]:
        parts: list[str | Value] = []
        position = 0
        for found in self._placeholders.find(text):
            parts.append(text[position : found.start()])
            value = self._placeholders.value(found) if self._room > 0 else found[0]
            if isinstance(value, Value):
                self._room -= len(value.text)
                self._has_arguments |= value.is_argument
            parts.append(value)
            position = found.end()
        parts.append(text[position:])
        return parts

    def _add(self, piece: Piece) -> None:
        self._end_text()
        self._pieces.append(piece)

    def _end_text(self) -> None:
        if text := "".join(self._texts):
            self._pieces.append(LiteralText(text))
        self._texts = []


def _text(parts: Iterable[str | Value]) -> str:
    return "".join(part.text if isinstance(part, Value) else part for part in parts)


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
