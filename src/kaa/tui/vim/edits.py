"""What vi's commands do to a buffer, once it is known to what."""

from typing import NamedTuple

from kaa.tui.editing import movement
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.movement import line_end, line_start
from kaa.tui.vim.motions import Span, first_word_of_line, last_of_line


class _Register(NamedTuple):
    text: str
    linewise: bool


class Edits:
    """Changes of a buffer, and the register that they cut into and put from."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._register = _Register("", linewise=False)

    def place(self, at: int) -> None:
        """Put the caret on a character: unless one inserts, there is none behind the last one of a line."""
        self._buffer.move(min(at, last_of_line(self._buffer.text, at)))

    def yank(self, span: Span) -> tuple[int, int]:
        """Take a span into the register; where it starts and ends, lines without their last line feed."""
        text = self._buffer.text
        start, end = (line_start(text, span.start), line_end(text, span.end)) if span.linewise else span[:2]
        self._register = _Register(text[start:end], span.linewise)
        return start, end

    def delete(self, span: Span) -> None:
        """Cut a span."""
        start, end = self.yank(span)
        if not span.linewise:
            self._buffer.replace(start, end, "")
            self.place(start)
            return
        # A line feed goes with the lines: the one behind them or, at the end, the one before.
        start, end = (start, end + 1) if end < len(self._buffer.text) else (max(0, start - 1), end)
        self._buffer.replace(start, end, "")
        self._buffer.move(first_word_of_line(self._buffer.text, start))

    def put(self, count: int, *, after: bool) -> None:
        """Put what is in the register behind the character or line of the caret, or before it."""
        content, linewise = self._register
        if not content and not linewise:
            return
        text, at = self._buffer.text, self._buffer.caret
        if linewise:
            content = "\n".join([content] * count)
            edge = line_end(text, at) if after else line_start(text, at)
            self._buffer.replace(edge, edge, f"\n{content}" if after else f"{content}\n")
            self._buffer.move(first_word_of_line(self._buffer.text, edge + after))
        else:
            edge = min(movement.right(text, at), line_end(text, at)) if after else at
            self._buffer.replace(edge, edge, content * count)
            self.place(movement.left(self._buffer.text, self._buffer.caret))

    def exchange(self, span: Span) -> None:
        """Put what is in the register in the place of a span, which is in the register then."""
        register = self._register
        start, end = self.yank(span)
        self._buffer.replace(start, end, register.text)
        self.place(start)

    def replace_characters(self, count: int, replacement: str) -> None:
        """Replace each of `count` characters of the line; nothing happens if there are fewer."""
        text = self._buffer.text
        start = end = self._buffer.caret
        for _ in range(count):
            if end >= line_end(text, start):
                return
            end = movement.right(text, end)
        self._buffer.replace(start, end, replacement * count)
        self.place(movement.left(self._buffer.text, self._buffer.caret))

    def toggle_case(self, start: int, end: int) -> None:
        """Make small letters large, and large ones small."""
        self._buffer.replace(start, end, self._buffer.text[start:end].swapcase())

    def join_lines(self, count: int) -> None:
        """Make one line of `count`, at least two; a space takes the place of each line feed and of the indentation."""
        steps = self._buffer.steps
        for _ in range(max(1, count - 1)):
            text = self._buffer.text
            end = line_end(text, self._buffer.caret)
            if end == len(text):
                break
            rest = text[end + 1 :]
            behind = end + 1 + len(rest) - len(rest.lstrip(" \t"))
            is_joined = text[end - 1 : end].isspace() or text[behind : behind + 1] in ("", "\n", ")")
            self._buffer.replace(end, behind, "" if is_joined else " ", caret=end)
        self._buffer.join_steps(steps)
