"""The placeholders of each dialect: what stands for arguments in a template, and for which of them.

Sources: pi 1.5.2, opencode 1.18.33 and Gemini CLI 0.61 as they behave; documentation of Claude Code (skills, 2026-08,
where a missing argument leaves its placeholder) and of Codex (prompts).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kaa.components.templates import Dialect

_MAX_NAMES = 100


class Value(NamedTuple):
    """What a placeholder stands for.

    Attributes:
        text: in a message, and inside quotation marks of a command.
        words: in a command outside of quotation marks.
        is_argument: it was given with the call; otherwise kaa knows it.
    """

    text: str
    words: Sequence[str]
    is_argument: bool = True


class Placeholders(Protocol):
    """The placeholders of one call of a template.

    Attributes:
        heading: what precedes arguments that have no placeholder, at the end; None: they are left out.
    """

    heading: str | None

    def find(self, text: str) -> Iterable[re.Match[str]]:
        """Those in a part of the template, in order."""

    def value(self, found: re.Match[str]) -> Value | str:
        """What one stands for; a `str` is text of the template itself."""


def placeholders(
    dialect: Dialect, body: str, arguments: str, names: Sequence[str], variables: Mapping[str, str]
) -> Placeholders:
    """The placeholders of a call; see `expansion.expand`."""
    match dialect:
        case "pi":
            return _Pi(split_arguments(arguments, "pi"))
        case "claude":
            return _Claude(body, arguments, names, variables)
        case "opencode":
            return _Opencode(body, arguments)
        case "gemini":
            return _Gemini(arguments)
        case "cursor":
            return _Cursor()
        case "codex":
            return _Codex(body, split_arguments(arguments, "codex"))


class _Pi:
    """`$1`, `$@`, `$ARGUMENTS`, `${@:2}`, `${@:2:1}`, `${1:-default}`, `${@:-default}`; missing ones are empty."""

    heading: str | None = None
    _SIMPLE = r"\$(?P<simple>ARGUMENTS|@|[0-9]+)"
    _PATTERN = re.compile(
        r"\$\{(?P<target>[0-9]+|ARGUMENTS|@):-(?P<default>[^}]*)\}"
        rf"|\$\{{@:(?P<start>[0-9]+)(?::(?P<length>[0-9]+))?\}}|{_SIMPLE}"
    )
    _WITHOUT_BRACES = re.compile(_SIMPLE)

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments

    def find(self, text: str) -> Iterator[re.Match[str]]:
        end = text.rfind("}") + 1  # beyond it no brace closes: looking for one at each `${1:-` would be quadratic
        yield from self._PATTERN.finditer(text, 0, end)
        yield from self._WITHOUT_BRACES.finditer(text, end)

    def value(self, found: re.Match[str]) -> Value | str:
        groups = found.groupdict()
        if (start := groups.get("start")) is not None:
            first = max(_number(start) - 1, 0)
            length = groups["length"]
            return _joined(self._arguments[first : None if length is None else first + _number(length)])
        value = _joined(self._chosen(groups.get("target") or groups["simple"]))
        return value if value.text or groups.get("target") is None else str(groups["default"])

    def _chosen(self, target: str) -> Sequence[str]:
        return self._arguments if target in ("@", "ARGUMENTS") else _one(self._arguments, _number(target) - 1)


class _Claude:
    r"""`$ARGUMENTS`, `$ARGUMENTS[0]`, `$0`, `$name`, `${CLAUDE_…}`; `\$0` is `$0`. Missing ones stay as they are.

    Until 2026 `$1` was the first argument, and many commands are older: so it is in a text without `$0`.
    """

    heading: str | None = "ARGUMENTS: "

    def __init__(self, body: str, arguments: str, names: Sequence[str], variables: Mapping[str, str]) -> None:
        self._text = arguments
        self._arguments = split_arguments(arguments, "claude")
        self._positions = {name: position for position, name in reversed([*enumerate(names[:_MAX_NAMES])]) if name}
        self._variables = variables
        named = "|".join(re.escape(name) for name in sorted(self._positions, key=len, reverse=True)) or r"(?!)"
        self._pattern = re.compile(
            rf"(?P<escape>(?<!\\)\\)?\$(?:ARGUMENTS\[(?P<index>[0-9]+)\]|(?P<all>ARGUMENTS)(?!\w)"
            rf"|(?P<position>[0-9]+)(?!\w)|(?P<name>{named})(?!\w))"
            r"|\$\{(?P<variable>CLAUDE_\w+)\}"
        )

        positions = {_number(one["position"]) for one in self.find(body) if one["position"] and not one["escape"]}
        self._first = 0 if 0 in positions else 1

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return self._pattern.finditer(text)

    def value(self, found: re.Match[str]) -> Value | str:
        if found["escape"]:
            return found[0][1:]
        if (variable := found["variable"]) is not None:
            known = self._variables.get(variable)
            return found[0] if known is None else Value(known, (known,), is_argument=False)
        if found["all"]:
            return Value(self._text, self._arguments)
        if found["position"]:
            position = _number(found["position"]) - self._first
        else:
            position = _number(found["index"]) if found["index"] else self._positions[found["name"]]
        given = _one(self._arguments, position)
        return _joined(given) if given else found[0]


class _Opencode:
    """`$1` and so on, of which the one with the highest number takes the rest, and `$ARGUMENTS`."""

    heading: str | None = ""
    _PATTERN = re.compile(r"\$(?:(?P<all>ARGUMENTS)|(?P<position>[0-9]+))")

    def __init__(self, body: str, arguments: str) -> None:
        self._text = arguments
        self._arguments = split_arguments(arguments, "opencode")
        self._last = max((_number(found["position"] or "") for found in self.find(body)), default=0)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return self._PATTERN.finditer(text)

    def value(self, found: re.Match[str]) -> Value | str:
        if found["all"]:
            return Value(self._text, self._arguments)
        position = _number(found["position"]) - 1
        if position >= 0 and position + 1 == self._last:
            return _joined(self._arguments[position:])
        return _joined(_one(self._arguments, position))


class _Gemini:
    """`{{args}}`: all that was given, as one word."""

    heading: str | None = ""
    _PATTERN = re.compile(r"\{\{args\}\}")

    def __init__(self, arguments: str) -> None:
        self._value = Value(arguments, (arguments,))

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return self._PATTERN.finditer(text)

    def value(self, _found: re.Match[str]) -> Value | str:
        return self._value


class _Cursor:
    """None: what follows the command is added at the end."""

    heading: str | None = ""

    def find(self, _text: str) -> Iterator[re.Match[str]]:
        return iter(())

    def value(self, found: re.Match[str]) -> Value | str:
        return found[0]


class _Codex:
    """`$1` to `$9`, `$ARGUMENTS`, and `$NAME` for arguments of the form `NAME=value`; `$$` stays as it is.

    Codex refuses calls without a value for each `$NAME`, and other arguments beside them. Here `$NAME` stays as it is
    without a value, because templates also mention variables, and other arguments are numbered.
    """

    heading: str | None = None
    _PATTERN = re.compile(r"\$(?:(?P<escape>\$)|(?P<position>[1-9])|(?P<name>[A-Z][A-Z0-9_]*))")

    def __init__(self, body: str, arguments: Sequence[str]) -> None:
        names = {found["name"] for found in self.find(body)} - {None, "ARGUMENTS"}
        pairs = [(word, *word.partition("=")) for word in arguments]
        self._named = {name: value for _, name, mark, value in pairs if mark and name in names}
        self._arguments = [word for word, name, mark, _ in pairs if not mark or name not in names]

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return self._PATTERN.finditer(text)

    def value(self, found: re.Match[str]) -> Value | str:
        if found["escape"]:
            return found[0]
        if found["position"]:
            return _joined(_one(self._arguments, _number(found["position"]) - 1))
        if found["name"] == "ARGUMENTS":
            return _joined(self._arguments)
        given = self._named.get(found["name"])
        return found[0] if given is None else _joined((given,))


def _joined(words: Sequence[str]) -> Value:
    return Value(" ".join(words), words)


def _one(arguments: Sequence[str], position: int) -> Sequence[str]:
    return arguments[position : position + 1] if position >= 0 else ()


def _number(digits: str) -> int:
    """A number that may have very many digits: Python refuses to read them."""
    return int(digits.lstrip("0")[:9] or 0)


# What JavaScript's `\s` matches, which differs from Python's.
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# A quotation mark opens at the beginning of an argument only, and a backslash keeps it; what follows the closing one
# still belongs to the argument. One without an end is text.
_PI = re.compile(
    rf'"(?P<double>[^"\\]*(?:(?:\\"|\\(?!"))[^"\\]*)*)"(?P<after_double>[^{_SPACE}]*)'
    rf"|'(?P<single>[^'\\]*(?:(?:\\'|\\(?!'))[^'\\]*)*)'(?P<after_single>[^{_SPACE}]*)"
    rf"|[^{_SPACE}]+"
)
_OPENCODE = re.compile(r"""\[image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+""", re.IGNORECASE)
_SHELL = re.compile(
    r"""(?P<space>\s+)|'(?P<single>[^']*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|\\(?P<escaped>.)|(?P<plain>[^\s'"\\]+)"""
    r"|(?P<stray>.)",
    re.DOTALL,
)
_ESCAPED_IN_DOUBLE = re.compile(r'\\([$`"\\\n])')


def split_arguments(arguments: str, dialect: Dialect) -> list[str]:
    """The arguments in a text.

    pi and opencode know quotation marks, in their own ways (pi 1.5.2, opencode 1.18.33); Claude Code and Codex split
    as a POSIX shell does, and at white space if a quotation mark has no end. For Gemini CLI and Cursor a text is
    one argument.
    """
    match dialect:
        case "pi":
            return [_pi_argument(found) for found in _PI.finditer(arguments)]
        case "opencode":
            return [word[1:-1] if word[0] in "\"'" else word for word in _OPENCODE.findall(arguments)]
        case "gemini" | "cursor":
            return [arguments] if arguments else []
        case "claude" | "codex":
            return _shell_words(arguments)


def _pi_argument(found: re.Match[str]) -> str:
    if (double := found["double"]) is not None:
        return double.replace('\\"', '"') + found["after_double"]
    if (single := found["single"]) is not None:
        return single.replace("\\'", "'") + found["after_single"]
    return found[0]


def _shell_words(text: str) -> list[str]:
    words: list[list[str]] = []
    inside = False
    for found in _SHELL.finditer(text):
        kind = found.lastgroup or ""
        if kind == "stray":
            return text.split()
        if kind == "space":
            inside = False
            continue
        if not inside:
            words.append([])
            inside = True
        words[-1].append(_ESCAPED_IN_DOUBLE.sub(r"\1", found[kind]) if kind == "double" else found[kind])
    return ["".join(parts) for parts in words]
