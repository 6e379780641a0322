"""What tests of components need: a context, and the text of painted lines."""

import re
from collections.abc import Iterable

from kaa.tui.context import ASCII, Context, Size
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from kaa.tui.width import cells, plain

_SGR = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LINK = re.compile(r"\x1b\]8;[^\x07\x1b]*\x1b\\")

# Tokens whose styles tests look at; any other has none.
STYLES = {
    "accent": "36",
    "border": "34",
    "mdHeading": "33",
    "mdLink": "34",
    "mdLinkUrl": "90",
    "mdCode": "32",
    "mdQuote": "35",
    "syntaxKeyword": "94",
    "syntaxString": "92",
    "syntaxComment": "37",
    "syntaxNumber": "95",
    "syntaxFunction": "96",
    "toolDiffAdded": "32",
    "toolDiffRemoved": "31",
    "toolDiffContext": "90",
    "userMessageBg": "48;5;236",
}


def make_context(*, ascii_only: bool = False, hyperlinks: bool = False, columns: int = 80) -> Context:
    """A context with few colours."""
    glyphs = ASCII if ascii_only else None
    return Context(Palette(Theme("test", STYLES)), Keymap({}), Size(columns), glyphs, hyperlinks=hyperlinks)


def visible(lines: Iterable[str]) -> list[str]:
    """The text of painted lines, without spaces at their ends."""
    return [plain(line).rstrip() for line in lines]


def assert_well_formed(lines: Iterable[str], width: int) -> None:
    """Lines keep to the width, have only SGR and links besides text, and end with nothing in force."""
    for line in lines:
        text = plain(line)
        assert cells(text) <= width, (width, line)
        assert not _CONTROL.search(text), line
        sequences = _SGR.findall(line)
        assert not sequences or sequences[-1] == "\x1b[0m", line
        links = _LINK.findall(line)
        assert not links or links[-1] == "\x1b]8;;\x1b\\", line
