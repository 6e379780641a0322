"""Characters that a reader does not see, but a model or a terminal does: they smuggle text past people.

Joiners and variation selectors stay where scripts and emoji need them: one selector and one joiner after a character
that is not ASCII. More of them in a row spell out bytes.
"""

import re
from collections.abc import Callable

# Never needed in what a project says. In this order: soft hyphen, grapheme joiner, Arabic mark, fillers of Hangul,
# Khmer vowels, Mongolian selectors, zero width space, directional marks, separators of lines and paragraphs,
# directional embeddings and overrides, word joiner, invisible operators, isolates, deprecated formats, filler, byte
# order mark, filler, annotations, shorthand and musical controls, tags, unassigned ignorables (Unicode 16, DerivedCore-
# Properties: Default_Ignorable_Code_Point, and the separators).
_NEVER_NEEDED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINERS = "\u200c\u200d"

_RUN = re.compile(f"[{_NEVER_NEEDED}{_SELECTORS}{_JOINERS}]+")
_IN_USE = re.compile(f"[{_SELECTORS}]?[{_JOINERS}]?")
# ASCII that U+FE0F makes an emoji.
_KEYCAPS = "0123456789#*"


def is_invisible(character: str) -> bool:
    """True for a character of these, also where scripts and emoji need it, and for the blank of Braille."""
    return character == "\u2800" or _RUN.fullmatch(character) is not None


def replace_invisible(text: str, replacement: Callable[[str], str]) -> str:
    """The text with every run of invisible characters that mean nothing replaced.

    The beginning of a text may be the middle of another one: what could belong to a character before it stays.
    """
    if text.isascii():
        return text

    def replaced(run: re.Match[str]) -> str:
        before = text[run.start() - 1 : run.start()]
        has_base = not before.isascii() or not before or (before in _KEYCAPS and run[0] == "\ufe0f")
        return run[0] if has_base and _IN_USE.fullmatch(run[0]) else replacement(run[0])

    return _RUN.sub(replaced, text)
