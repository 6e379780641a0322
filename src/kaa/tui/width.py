"""How many cells text takes on a terminal, and cutting text at a number of cells. Hides wcwidth.

Plain text is measured grapheme by grapheme, so that widths add up wherever text is cut. wcwidth takes 20 ms and more to
import: it is loaded with the first character that is not known to take one cell; the first frame has none.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

# Printable characters that take one cell and never join with their neighbours: ASCII, Latin, Greek, Cyrillic, Armenian,
# punctuation, currencies, arrows, mathematics, boxes and other shapes, check marks, pointers, Braille (spinners). Held
# against wcwidth by a test.
_NARROW = re.compile(
    "[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u0556\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u2319"
    "\u2500-\u25fc\u2713-\u2727\u2758-\u2775\u27c0-\u2b1a]*"
)
# What a painted line has besides text: SGR, OSC 8 links, and OSC 133 marks.
SEQUENCE = re.compile(r"(\x1b\[[0-9;:]*m|\x1b\](?:8|133);[^\x07\x1b]*(?:\x07|\x1b\\))")
LINK = "\x1b]8;"
RESETS = ("\x1b[m", "\x1b[0m")
CLOSE_LINK = "\x1b]8;;\x1b\\"
LINK_ENDS = (CLOSE_LINK, "\x1b]8;;\x07")

_TAB_SIZE = 4


def is_narrow(text: str) -> bool:
    """Whether every character takes one cell by itself, so that positions in the text are columns."""
    return text.isascii() or _NARROW.fullmatch(text) is not None


def cells(text: str) -> int:
    """The width of plain text without tabs and line feeds, in cells."""
    if is_narrow(text):
        return len(text)
    return sum(map(grapheme_cells, graphemes(text)))


def graphemes(text: str) -> Iterator[str]:
    """What a person takes for one character, one after another (UAX #29)."""
    if is_narrow(text):
        return iter(text)
    # Lazily: see the module's docstring.
    from wcwidth import iter_graphemes

    return iter_graphemes(text)


def clip(text: str, width: int) -> str:
    """As much of plain text, from its beginning, as `width` cells hold."""
    if is_narrow(text):
        return text[: max(0, width)]
    end = 0
    for grapheme in graphemes(text):
        width -= grapheme_cells(grapheme)
        if width < 0:
            break
        end += len(grapheme)
    return text[:end]


def expand_tabs(text: str) -> str:
    """The text with tabs as spaces up to the next multiple of four cells. Line feeds begin at column 0."""
    if "\t" not in text:
        return text
    if text.isascii():
        return text.expandtabs(_TAB_SIZE)
    return "\n".join([_expand_line(line) for line in text.split("\n")])


def plain(line: str) -> str:
    """The text of a painted line."""
    return SEQUENCE.sub("", line) if "\x1b" in line else line


def fit(line: str, width: int) -> str:
    """A painted line, cut where it would take more than `width` cells; what it has in force there is ended."""
    if (len(line) <= width and line.isascii()) or cells(plain(line)) <= width:
        return line
    pieces: list[str] = []
    style = link = ""
    for piece in SEQUENCE.split(line):
        if piece.startswith("\x1b["):
            style = "" if piece in RESETS else piece
        elif piece.startswith(LINK):
            link = "" if piece in LINK_ENDS else piece
        elif not piece.startswith("\x1b"):
            cut = clip(piece, width)
            width -= cells(cut)
            if cut != piece:
                pieces.append(cut)
                break
        pieces.append(piece)
    if link:
        pieces.append(CLOSE_LINK)
    if style:
        pieces.append("\x1b[0m")
    return "".join(pieces)


@lru_cache(maxsize=4096)
def grapheme_cells(grapheme: str) -> int:
    """The width of one of `graphemes`."""
    if grapheme.isascii():
        return len(grapheme)
    # Lazily: see the module's docstring.
    from wcwidth import width

    return width(grapheme)


def _expand_line(line: str) -> str:
    pieces = line.split("\t")
    column = 0
    for index, piece in enumerate(pieces[:-1]):
        column += cells(piece)
        spaces = _TAB_SIZE - column % _TAB_SIZE
        pieces[index] = piece + " " * spaces
        column += spaces
    return "".join(pieces)
