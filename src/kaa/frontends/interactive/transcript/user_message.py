"""What the user said."""

from collections.abc import Sequence

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.transcript.pictures import Pictures
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view import View
from kaa.tui.components.text import harmless
from kaa.tui.layout import pad, wrap
from kaa.tui.style import BOLD
from kaa.tui.width import cells


class UserMessageBlock(Piece):
    """A message of the user, word for word, with its images below it."""

    is_prompt = True

    def __init__(self, view: View, text: str, images: Sequence[ImageContent] = ()) -> None:
        super().__init__(view)
        self._text = text.strip("\n")
        self._pictures = Pictures(view, images)
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The text behind a pointer."""
        palette, pointer = self.context.palette, self.context.glyphs.pointer
        background = "" if self.view.linear else palette["userMessageBg"]
        text = [(harmless(self._text), palette["userMessageText"])]
        first = [(f"{pointer} ", BOLD)]
        lines = wrap(text, width, first, [(" " * (cells(pointer) + 1), "")])
        if background:
            lines = [pad(line, width, background) for line in lines]
        return [*lines, *self._pictures.render(width)]
