"""Presents a document as lines that are written once: for screen readers, dumb terminals and pipes.

No cursor moves, nothing is written again, nothing spins. Lines come when they will not change any more (`settled`), in
order: a block waits for the blocks before it. The dock is not shown; whoever reads the input prompts for it.
"""

import unicodedata
from collections.abc import Callable

from kaa.tui.document import Document
from kaa.tui.picture import is_picture
from kaa.tui.width import plain

_PICTURE = "[picture]"
# Characters that draw, which screen readers spell out or leave out, and what stands for them.
_DRAWN = {
    ord(character): replacement
    for characters, replacement in {
        "─━═": "-",
        "│┃║▎▌": "|",
        "╭╮╰╯┌┐└┘├┤┬┴┼": "+",
        "•": "*",
        "→": "->",
        "←": "<-",
        "›▸": ">",
        "▾": "v",
        "✓": "ok",
        "✗": "x",
    }.items()
    for character in characters
}
# And what stands for others that ASCII has something like.
_IN_ASCII = _DRAWN | {
    ord(character): replacement
    for characters, replacement in {
        "\u2013\u2014\u00b7": "-",
        "\u00d7": "x",
        "\u2018\u2019": "'",
        "“”": '"',
    }.items()
    for character in characters
}


class Linear:
    """The presenter.

    Args:
        document: what it presents.
        write: takes what goes to the terminal or the pipe.
        width: at which lines are wrapped, in cells.
        ascii_only: whether only ASCII can be written.
    """

    def __init__(
        self,
        document: Document,
        write: Callable[[str], object],
        width: int,
        *,
        ascii_only: bool = False,
    ) -> None:
        self._document = document
        self._write = write
        self._width = width
        self._ascii_only = ascii_only
        self._block = 0  # the first block that is not written wholly
        self._written = 0  # how many of its lines are

    def update(self) -> None:
        """Write what has settled since."""
        blocks = self._document.blocks
        out: list[str] = []
        while self._block < len(blocks):
            block = blocks[self._block]
            lines = block.render(self._width)
            settled = block.settled
            self._take(lines[:settled], out)
            is_last = self._block == len(blocks) - 1
            # A block that is new has no lines yet, and is not finished.
            if settled < len(lines) or (is_last and not lines):
                break
            self._block += 1
            self._written = 0
        self._put(out)

    def flush(self) -> None:
        """Write everything there is, settled or not: a turn is over, or the program."""
        out: list[str] = []
        blocks = self._document.blocks
        while self._block < len(blocks):
            lines = blocks[self._block].render(self._width)
            self._take(lines, out)
            if self._block == len(blocks) - 1:
                break  # should more of it come, it goes on from here
            self._block += 1
            self._written = 0
        self._put(out)

    def _take(self, lines: list[str], out: list[str]) -> None:
        if len(lines) > self._written:
            out += lines[self._written :]
            self._written = len(lines)
            self._document.blocks[self._block].freeze(self._written)

    def _put(self, lines: list[str]) -> None:
        if lines:
            self._write("".join(f"{self.worded(line)}\n" for line in lines))

    def worded(self, line: str) -> str:
        """A painted line as it is written."""
        if is_picture(line):
            return _PICTURE
        text = plain(line).rstrip(" ")
        if not self._ascii_only or text.isascii():
            return text.translate(_DRAWN)
        # Accents go, their letters stay; what is left has no likeness in ASCII.
        decomposed = unicodedata.normalize("NFKD", text.translate(_IN_ASCII))
        letters = "".join(character for character in decomposed if not unicodedata.combining(character))
        return letters.encode("ascii", "replace").decode()
