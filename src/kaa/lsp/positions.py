"""Positions of the protocol, which count UTF-16 code units, and those of a text."""

import re
from collections.abc import Sequence

from kaa.lsp.structure import TextEdit, TextPosition

_LINE_END = re.compile(r"\r\n|\r|\n")


class TextDocument:
    """A document, by its lines as the protocol counts them: a line ends with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def line(self, number: int) -> str:
        """A line without its end; empty if there is none. `number`: from 0 on."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[number] : end].rstrip("\r\n")

    def position(self, line: int, column: int) -> TextPosition:
        """The position of a column. Both: from 0 on, in characters."""
        before = self.line(line)[:column]
        return TextPosition(line, len(before.encode("utf-16-le", "surrogatepass")) // 2)

    def offset(self, position: TextPosition) -> int:
        """Where in the text a position is; beyond the end of a line is at its end."""
        if position.line >= len(self._starts):
            return len(self._text)
        units, column = 0, 0
        line = self.line(position.line)
        while units < position.character and column < len(line):
            units += 2 if ord(line[column]) > 0xFFFF else 1
            column += 1
        return self._starts[position.line] + column

    def edited(self, edits: Sequence[TextEdit]) -> str:
        """The text with changes, which all name places in it as it is.

        Raises:
            ValueError: they overlap.
        """
        places = sorted((self.offset(one.range.start), self.offset(one.range.end), one.new_text) for one in edits)
        parts: list[str] = []
        end = 0
        for start, stop, new in places:
            if start < end or stop < start:
                raise ValueError("the changes overlap")
            parts += (self._text[end:start], new)
            end = stop
        return "".join((*parts, self._text[end:]))
