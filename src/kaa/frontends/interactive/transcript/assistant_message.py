"""What the model said and thought."""

from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.markdown import MarkdownStream
from kaa.tui.layout import wrap


class AnswerBlock:
    """Text of the model, as it comes. Its first line is empty."""

    is_prompt = False

    def __init__(self, view: ViewOptions) -> None:
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
        if lines != 1:  # the empty one stays anyway
            self._stream.freeze(max(lines - 1, 0))

    @property
    def settled(self) -> int:
        """How many lines are final."""
        return _settled(self._stream, len(self._lines), has_ended=self._has_ended)


class Thinking(Piece):
    """The model's reasoning as it comes, or one line in its place."""

    def __init__(self, view: ViewOptions) -> None:
        super().__init__(view)
        self._stream = MarkdownStream(view.context, "thinkingText")

    def write(self, text: str) -> None:
        """The model has thought more."""
        self._stream.append(text)
        self.changed()

    def end(self) -> None:
        """The model has thought all of it."""
        self._stream.finish()
        self.finished = True
        self.changed()

    def layout(self, width: int) -> list[str]:
        """The text, or that there is one."""
        if self.view.thinking:
            return self._stream.render(width)
        text = f"thinking{self.context.glyphs.ellipsis}{self.view.hint('app.thinking.toggle', 'shows it')}"
        return wrap([(text, self.context.palette["thinkingText"])], width)

    @property
    def settled(self) -> int:
        """How many lines are final."""
        if self.finished or not self.view.thinking or self.left:
            return super().settled
        return _settled(self._stream, self.height, has_ended=False)


def _settled(stream: MarkdownStream, height: int, *, has_ended: bool) -> int:
    """How many lines are final, the empty one included; not all of them as long as others may come."""
    settled = 1 + stream.settled
    return settled if has_ended else max(min(settled, height - 1), 0)
