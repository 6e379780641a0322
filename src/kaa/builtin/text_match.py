"""Finding a quoted piece of text in a file the way a model quotes it.

Three ways, strictest first: the very characters; ignoring which line endings are used; ignoring also trailing
blanks, typographic quotes, dashes and spaces, and Unicode normal forms. The first way that finds anything
decides. Tolerance only widens what is found: every span is given in offsets of the original text.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Protocol

import msgspec

LINE_ENDING = re.compile(r"\r\n|\n|\r")

_BLANKS = " \t"
_TYPOGRAPHIC = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
MAX_OCCURRENCES = 1000


class Occurrence(msgspec.Struct, frozen=True):
    """Where the quoted text is: `text[start:end]`.

    `without_final_break`: the quote ends with a line break that the end of the file lacks.
    """

    start: int
    end: int
    without_final_break: bool = False


class Haystack:
    """A text in which several quotes are looked for; what the tolerant ways need is computed once, if at all."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str) -> list[Occurrence]:
        """All occurrences by the strictest way that has any, in order, at most `MAX_OCCURRENCES`."""
        return list(self._exact(quote)) or list(self._any_line_endings.find(quote)) or list(self._tolerant.find(quote))

    def _exact(self, quote: str) -> Iterator[Occurrence]:
        for start in _positions(self.text, quote):
            end = start + len(quote)
            if not (self._inside_crlf(start) or self._inside_crlf(end)):
                yield Occurrence(start, end)

    def _inside_crlf(self, position: int) -> bool:
        return 0 < position < len(self.text) and self.text[position - 1 : position + 1] == "\r\n"

    @cached_property
    def _lines(self) -> "_Lines":
        return _Lines(self.text)

    @cached_property
    def _any_line_endings(self) -> "_FoldedText":
        return _FoldedText(self._lines, _Verbatim())

    @cached_property
    def _tolerant(self) -> "_FoldedText":
        return _FoldedText(self._lines, _Tolerant())


def _positions(text: str, part: str) -> Iterator[int]:
    """Where `part` is in `text`, overlapping occurrences included."""
    position = text.find(part)
    for _ in range(MAX_OCCURRENCES):
        if position < 0:
            return
        yield position
        position = text.find(part, position + 1)


class _Lines:
    """The lines of a text without their endings (`bodies`), and where each body starts and ends.

    A text that ends with a line ending has an empty last line.
    """

    def __init__(self, text: str) -> None:
        self.starts = [0]
        self.ends = []
        for ending in LINE_ENDING.finditer(text):
            self.ends.append(ending.start())
            self.starts.append(ending.end())
        self.ends.append(len(text))
        self.bodies = [text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]


class _Folding(Protocol):
    """A way to make lines equal that are meant to be the same, and the way back."""

    completes_last_line: bool

    def fold(self, body: str) -> str:
        """The line as it is compared."""
        ...

    def column(self, body: str, folded_column: int) -> int | None:
        """The column of the original line, None if the folded column is inside of one of its characters."""
        ...


class _Verbatim:
    """Lines are compared as they are: only their endings do not count."""

    completes_last_line = False

    def fold(self, body: str) -> str:
        return body

    def column(self, body: str, folded_column: int) -> int | None:  # columns are the same
        return folded_column


class _Tolerant:
    """Trailing blanks, typography and Unicode normal forms do not count, nor a missing last line break.

    Decomposition (NFKD) makes the same texts equal as composition (NFKC) does, and works character by character,
    which is what makes the way back exact.
    """

    completes_last_line = True

    def fold(self, body: str) -> str:
        if body.isascii():
            return body.rstrip(_BLANKS)
        return unicodedata.normalize("NFKD", body).translate(_TYPOGRAPHIC).rstrip(_BLANKS)

    def column(self, body: str, folded_column: int) -> int | None:
        if body.isascii():
            return folded_column
        folded_length = 0
        for column, character in enumerate(body):
            decomposed = unicodedata.normalize("NFKD", character)
            if folded_length >= folded_column and not unicodedata.combining(decomposed[0]):
                return column if folded_length == folded_column else None
            folded_length += len(decomposed)
        return len(body) if folded_length == folded_column else None


class _FoldedText:
    """The lines of a text folded and joined by line feeds, and the way back to original offsets."""

    def __init__(self, lines: _Lines, folding: _Folding) -> None:
        self._lines = lines
        self._folding = folding
        self._folded = [folding.fold(body) for body in lines.bodies]
        self._completed = folding.completes_last_line and lines.bodies[-1] != ""
        if self._completed:
            self._folded.append("")
        self._text = "\n".join(self._folded)
        lengths = (len(body) + 1 for body in self._folded[:-1])
        self._starts = list(accumulate(lengths, initial=0))

    def find(self, quote: str) -> Iterator[Occurrence]:
        """The occurrences of a quote, folded like the text; those that would cut a character in two are none."""
        bodies = LINE_ENDING.split(quote)
        needle = "\n".join(self._folding.fold(body) for body in bodies)
        if not needle:
            return
        blanks_dropped = bodies[-1].endswith((" ", "\t")) and not needle.endswith((" ", "\t"))
        for position in _positions(self._text, needle):
            start = self._original_start(position)
            end = self._original_end(position + len(needle), whole_line=blanks_dropped)
            if start is not None and end is not None:
                at_completion = self._completed and position + len(needle) == len(self._text)
                yield Occurrence(start, end, without_final_break=at_completion)

    def _original_start(self, position: int) -> int | None:
        """The original offset of a folded position; at the end of a line, after the blanks that folding dropped."""
        line, column = self._line_and_column(position)
        if column == len(self._folded[line]):
            return self._lines.ends[line]
        return self._offset(line, column)

    def _original_end(self, position: int, *, whole_line: bool) -> int | None:
        """The original offset of a folded position; at the end of a line, before the blanks that folding dropped.

        With `whole_line` only the end of a line will do, and its trailing blanks are included.
        """
        line, column = self._line_and_column(position)
        if line == len(self._lines.bodies):
            return self._lines.ends[-1]
        if whole_line:
            return self._lines.ends[line] if column == len(self._folded[line]) else None
        return self._offset(line, column)

    def _line_and_column(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position) - 1
        return line, position - self._starts[line]

    def _offset(self, line: int, folded_column: int) -> int | None:
        column = self._folding.column(self._lines.bodies[line], folded_column)
        return None if column is None else self._lines.starts[line] + column
