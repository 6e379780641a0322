"""Markdown: as a whole, or as it streams in, in a block whose finished lines stay and whose last ones may change."""

from kaa.tui.components.markdown_blocks import BlockPainter
from kaa.tui.components.markdown_parts import Part
from kaa.tui.components.markdown_reader import MarkdownReader
from kaa.tui.components.markdown_syntax import code_blocks
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.invisible import replace_invisible
from kaa.tui.sanitize import sanitize

__all__ = ["Markdown", "MarkdownStream", "code_blocks"]


class Markdown:
    """Markdown that is there as a whole.

    Args:
        context: what all components know.
        text: foreign text.
        style_token: the palette's token of text without markup.
    """

    def __init__(self, context: Context, text: str = "", style_token: str = "") -> None:
        self._context = context
        self._style_token = style_token
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._stream = MarkdownStream(self._context, self._style_token)
        self._stream.append(text)
        self._stream.finish()

    def render(self, width: int) -> list[str]:
        """The lines at this width."""
        return self._stream.render(width)

    def key(self, key: Input) -> bool:
        """Takes none."""
        return False

    def cursor(self) -> tuple[int, int] | None:
        """Shows none."""
        return None


# Characters. However much comes at once is read in pieces of this length: long paragraphs are cut, and with each cut
# the rest is read again.
_PIECE = 4096


class MarkdownStream:
    """Markdown that streams in; a block of a document.

    Only what may still change is read and painted anew. Appending costs nothing; the work is done when it is rendered.

    Args:
        context: what all components know.
        style_token: the palette's token of text without markup.

    Attributes:
        source: the text so far, as it came.
    """

    def __init__(self, context: Context, style_token: str = "") -> None:
        self._context = context
        self._style_token = style_token
        self._pieces: list[str] = []
        self._pending: list[str] = []
        self._input = ForeignText()
        self._reader = MarkdownReader(BlockPainter(context, style_token))
        self._is_finished = False
        self._is_read = True
        self._state = (0, 0)
        self._lines: list[str] = []
        # The lines of the first so many closed parts.
        self._closed_lines: list[str] = []
        self._closed_count = 0
        # So many of them are known not to wait for definitions.
        self._settled_count = 0
        # The lines that have left the screen.
        self._frozen: list[str] = []

    @property
    def source(self) -> str:
        """The text so far, as it came."""
        return "".join(self._pieces)

    @property
    def characters_read(self) -> int:
        """How many characters were looked at so far, again and again, as a measure of work."""
        return self._reader.characters_read

    def append(self, text: str) -> None:
        """More of the text."""
        if text:
            self._pieces.append(text)
            self._pending.append(text)
            self._is_read = False

    def finish(self) -> None:
        """The text is complete."""
        if not self._is_finished:
            self._is_finished = True
            self._is_read = False

    def render(self, width: int) -> list[str]:
        """The lines at this width."""
        state = (max(1, width), self._context.palette.version)
        if self._is_read and state == self._state:
            return self._lines
        self._read()
        if state != self._state:
            self._state = state
            self._repaint()
        self._compose(state[0])
        return self._lines

    def freeze(self, lines: int) -> None:
        """The first lines have left the screen: they stay as they are. 0 undoes this."""
        if lines == 0:
            if self._frozen:
                self._frozen = []
                self._state = (0, 0)
            return
        self._frozen = self._lines[:lines]
        for part in self._reader.open:
            part.is_frozen = part.first_line + part.gap < lines

    @property
    def settled(self) -> int:
        """How many of the lines rendered last will not change."""
        if self._is_finished and self._is_read:
            return len(self._lines)
        closed = self._reader.closed
        while self._settled_count < self._closed_count and self._is_resolved(closed[self._settled_count]):
            self._settled_count += 1
        if self._settled_count < self._closed_count:
            return closed[self._settled_count].first_line
        if self._reader.open and self._is_resolved(self._reader.open[0]):
            return self._reader.open[0].first_line + self._reader.open[0].settled
        return len(self._closed_lines)

    def _is_resolved(self, part: Part) -> bool:
        """Whether no definition that may follow can change it."""
        return part.labels() <= self._reader.references.keys()

    def _read(self) -> None:
        """Have what came since the last time read."""
        text = self._input.add("".join(self._pending))
        self._pending = []
        if self._is_finished:
            text += self._input.finish()
        for start in range(0, max(len(text), 1), _PIECE):
            piece = text[start : start + _PIECE]
            self._reader.read(piece, finished=self._is_finished and start + _PIECE >= len(text))
        self._is_read = True
        if self._reader.defined:
            self._resolve()

    def _resolve(self) -> None:
        """Paint what refers to something that has just been defined, and is still on the screen, anew."""
        defined, self._reader.defined = frozenset(self._reader.defined), set()
        for index, part in enumerate(self._reader.closed):
            if index < self._closed_count and part.first_line + part.gap < len(self._frozen):
                continue
            if not defined.isdisjoint(part.labels()):
                part.repaint()
                self._forget_from(index)

    def _forget_from(self, index: int) -> None:
        """Compose the lines of the closed parts from this one on anew."""
        if index < self._closed_count:
            del self._closed_lines[self._reader.closed[index].first_line :]
            self._closed_count = index
            self._settled_count = min(self._settled_count, index)

    def _repaint(self) -> None:
        parts: list[Part] = [*self._reader.closed, *self._reader.open]
        for part in parts:
            part.is_frozen = False
            part.repaint()
        self._closed_lines = []
        self._closed_count = 0

    def _compose(self, width: int) -> None:
        references = self._reader.references
        frozen = self._frozen
        closed, composed = self._closed_lines, len(self._closed_lines)
        for part in self._reader.closed[self._closed_count :]:
            part.first_line = len(closed)
            closed += part.lines(references, width)
        self._closed_count = len(self._reader.closed)
        # What has left the screen stays, whatever it turned out to mean; the rest goes on behind it.
        if composed < len(frozen):
            end = min(len(closed), len(frozen))
            closed[composed:end] = frozen[composed:end]
        lines = closed[:]
        for part in self._reader.open:
            part.first_line = len(lines)
            lines += part.lines(references, width)
        if len(closed) < len(frozen):
            lines[len(closed) : len(frozen)] = frozen[len(closed) :]
        self._lines = lines


# Of longer runs of invisible characters nothing is kept, however they go on.
_LONGEST_RUN = 16
_NO_BASE = "a"


class ForeignText:
    """Sanitizes pieces of one text; where they are cut makes no difference."""

    def __init__(self) -> None:
        # What cannot be judged before the next character is known.
        self._held = ""
        # The last visible character, which decides about invisible ones behind it.
        self._before = ""

    def add(self, piece: str) -> str:
        """More of the text, as far as it can be judged."""
        text = self._held + piece
        end = len(text)
        while end and len(text) - end < _LONGEST_RUN and _depends_on_next(text[end - 1]):
            end -= 1
        if len(text) - end == _LONGEST_RUN:
            self._held = ""
            clean = self._sanitized(text)
            self._before = _NO_BASE
            return clean
        self._held = text[end:]
        return self._sanitized(text[:end])

    def finish(self) -> str:
        """The rest of the text."""
        rest, self._held = self._held, ""
        return self._sanitized(rest)

    def _sanitized(self, text: str) -> str:
        if not text:
            return ""
        before, self._before = self._before, text[-1]
        if text.isascii():
            return sanitize(text)
        return sanitize(before + text)[len(sanitize(before)) :]


def _depends_on_next(character: str) -> bool:
    """Whether it is a carriage return, or one of the invisible characters, which are judged in runs."""
    if character.isascii():
        return character == "\r"
    return not replace_invisible("a" + character, lambda _: "").removeprefix("a")
