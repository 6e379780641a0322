"""What the model said and thought."""

from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view import View
from kaa.tui.components.markdown_stream import MarkdownStream
from kaa.tui.components.text import harmless
from kaa.tui.layout import wrap


class Answer:
    """Text of the model, as it comes. Its first line is empty."""

    is_prompt = False

    def __init__(self, view: View) -> None:
        self._stream = MarkdownStream(view.context)
        self._has_ended = False
        self._inner: list[str] = []
        self._lines: list[str] = [""]

    def write(self, text: str) -> None:
        """The model has written more."""
        self._stream.append(text)

    def end(self) -> None:
        """The model has written all of it."""
        self._has_ended = True
        self._stream.finish()

    def render(self, width: int) -> list[str]:
        """The lines at this width."""
        lines = self._stream.render(width)
        if lines is not self._inner:
            self._inner = lines
            self._lines = ["", *lines]
        return self._lines

    def freeze(self, lines: int) -> None:
        """Keep the first lines as they are; 0 lets them go."""
        self._stream.freeze(max(lines - 1, 0))

    @property
    def settled(self) -> int:
        """How many lines are final."""
        settled = 1 + self._stream.settled
        return settled if self._has_ended else min(settled, len(self._lines) - 1)


class Thinking(Piece):
    """The model's reasoning as it comes, or one line in its place."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._paragraphs: list[str] = []  # complete lines of the text
        self._open: list[str] = []  # pieces of the one that still grows
        self._wrapped: list[str] = []
        self._wrapped_paragraphs = 0
        self._wrapped_for = (0, 0)

    def write(self, text: str) -> None:
        """The model has thought more."""
        complete, line_feed, rest = text.rpartition("\n")
        if line_feed:
            self._paragraphs += ("".join(self._open) + complete).split("\n")
            self._open = []
        self._open.append(rest)
        self.changed()

    def end(self) -> None:
        """The model has thought all of it."""
        self.finished = True
        self.changed()

    def layout(self, width: int) -> list[str]:
        """The text, or that there is one."""
        if not self.view.thinking:
            text = f"thinking{self.context.glyphs.ellipsis}{self.view.hint('app.thinking.toggle', 'shows it')}"
            return wrap([(text, self.context.palette["thinkingText"])], width)
        self._wrap_complete(width)
        lines = [*self._wrapped, *self._wrap("".join(self._open), width)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def settled(self) -> int:
        """How many lines are final: those of complete paragraphs."""
        if self.finished:
            return super().settled
        return min(1 + len(self._wrapped), len(self._lines) - 1) if self.view.thinking and not self.left else 0

    def _wrap_complete(self, width: int) -> None:
        """Wrap each complete paragraph once for a width."""
        wrapped_for = (width, self.context.palette.version)
        if wrapped_for != self._wrapped_for:
            self._wrapped_for = wrapped_for
            self._wrapped, self._wrapped_paragraphs = [], 0
        for paragraph in self._paragraphs[self._wrapped_paragraphs :]:
            self._wrapped += self._wrap(paragraph, width) or [""]
        self._wrapped_paragraphs = len(self._paragraphs)

    def _wrap(self, text: str, width: int) -> list[str]:
        return wrap([(harmless(text), self.context.palette["thinkingText"])], width) if text.strip() else []
