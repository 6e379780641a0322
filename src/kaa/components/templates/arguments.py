"""Splits the text after a command's name into arguments, as each agent does."""

import re

from kaa.components.templates import Dialect

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
