"""What the user said."""

from collections.abc import Sequence

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.transcript.excerpt import ALL_LINES
from kaa.frontends.interactive.transcript.pictures import Pictures
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.layout import pad, wrap
from kaa.tui.style import BOLD
from kaa.tui.width import cells

# Of a message; a large paste, or a file that was given along, is longer than anybody reads again.
_LINES, _CHARACTERS = 100, 10_000
_ALL_CHARACTERS = 200_000


class UserMessageBlock(Piece):
    """A message of the user, word for word or the beginning of it, with its images below it."""

    is_prompt = True

    def __init__(self, view: ViewOptions, text: str, images: Sequence[ImageContent] = ()) -> None:
        super().__init__(view)
        self._text = text.strip("\n")
        self._pictures = Pictures(view, images)
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The text behind a pointer."""
        palette, pointer = self.context.palette, self.context.glyphs.pointer
        background = "" if self.view.linear else palette["userMessageBg"]
        shown = self._beginning()
        first = [(f"{pointer} ", BOLD)]
        rest = [(" " * (cells(pointer) + 1), "")]
        lines = wrap([(harmless(shown), palette["userMessageText"])], width, first, rest)
        if missing := _missing(self._text[len(shown) :]):
            lines += wrap(
                [(f"{self.context.glyphs.ellipsis} {missing}{self._hint}", palette["muted"])], width, rest, rest
            )
        if background:
            lines = [pad(line, width, background) for line in lines]
        return [*lines, *self._pictures.render(width)]

    def _beginning(self) -> str:
        """As much of the text as is shown."""
        count, characters = (ALL_LINES, _ALL_CHARACTERS) if self.view.expanded else (_LINES, _CHARACTERS)
        text = self._text[:characters]
        return "\n".join(text.split("\n", count)[:count])

    @property
    def _hint(self) -> str:
        return "" if self.view.expanded else self.view.hint("app.tools.expand")


def _missing(text: str) -> str:
    """What is not shown, in words."""
    lines = text.count("\n")
    if lines:
        return f"{lines} more line{'s' if lines > 1 else ''}"
    return f"{len(text)} more characters" if text else ""
