"""Makes foreign text (of models, tools, files, branches, titles) harmless for a terminal.

Works on pieces of any size: a sequence that is split over two of them loses its first character like any other, and
the rest is plain text.
"""

import re

from kaa.tui.invisible import replace_invisible

# C0 but tab and line feed, DEL, C1, and halves of surrogate pairs, which no encoding can write.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def sanitize(text: str) -> str:
    r"""The text with every character that a terminal acts on, or that hides or reorders others, made visible.

    They appear as their escape, such as `\x1b`, `\u202e` or `\U000e0041`. Carriage returns before line feeds vanish.
    """
    if _HARMFUL.search(text):
        text = _HARMFUL.sub(lambda match: _escaped(match[0]), text.replace("\r\n", "\n"))
    return replace_invisible(text, _escaped)


def one_line(text: str) -> str:
    """The same for a name or a title, which has one line to be shown in: tabs and line feeds become spaces."""
    return sanitize(text).replace("\n", " ").replace("\t", " ")


def squeezed(text: str) -> str:
    """The same for prose that has one line to be shown in: all white space between two words is one space."""
    return " ".join(sanitize(text).split())


def _escaped(characters: str) -> str:
    return "".join(map(_escape, map(ord, characters)))


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
