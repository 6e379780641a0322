"""What the user said."""

from collections.abc import Sequence

from kaa.builtin.amounts import counted
from kaa.core.messages import ImageContent, TextContent
from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, count_lines
from kaa.frontends.interactive.transcript.pictures import Pictures
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.layout import pad, wrap
from kaa.tui.style import BOLD
from kaa.tui.width import cells

# Of a message; a large paste, or a file that was given along, is longer than anybody reads again.
_LINES, _CHARACTERS = 20, 2_000
_ALL_CHARACTERS = 200_000


class UserMessageBlock(Piece):
    """A message of the user, word for word or the beginning of it, with its images below it."""

    is_prompt = True

    def __init__(self, view: ViewOptions, text: str, images: Sequence[ImageContent] = ()) -> None:
        super().__init__(view)
        self._text = text.strip("\n")
        self._folded = _folded(self._text, view.pasted())
        self._pictures = Pictures(view, images)
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The text behind a pointer."""
        palette, pointer = self.context.palette, self.context.glyphs.pointer
        background = "" if self.view.linear else palette["userMessageBg"]
        text = self._text if self.view.expanded else self._folded
        shown = self._beginning(text)
        first = [(f"{pointer} ", BOLD)]
        rest = [(" " * (cells(pointer) + 1), "")]
        lines = wrap([(harmless(shown), palette["userMessageText"])], width, first, rest)
        if missing := self._missing(text, shown):
            lines += wrap([(missing, palette["muted"])], width, rest, rest)
        if background:
            lines = [pad(line, width, background) for line in lines]
        return [*lines, *self._pictures.render(width)]

    def _beginning(self, text: str) -> str:
        """As much of the text as is shown."""
        count, characters = (ALL_LINES, _ALL_CHARACTERS) if self.view.expanded else (_LINES, _CHARACTERS)
        text = text[:characters]
        return "\n".join(text.split("\n", count)[:count])

    def _missing(self, text: str, shown: str) -> str:
        """What is not shown, and how to see it, in words."""
        ellipsis, how = self.context.glyphs.ellipsis, self.view.how_to_show_all
        left = text[len(shown) :]
        if lines := left.count("\n"):
            return f"{ellipsis} {counted(lines, 'more line')} hidden{how}"
        if left:
            return f"{ellipsis} {counted(len(left), 'more character')} hidden{how}"
        return how.strip() if text != self._text else ""


def _folded(text: str, pasted: Sequence[str]) -> str:
    """The text with a word in place of each text that was pasted into it, the longest first."""
    for paste in sorted({paste.strip("\n") for paste in pasted}, key=len, reverse=True):
        if paste and paste in text:
            lines = count_lines(paste)
            size = counted(lines, "line") if lines > 1 else counted(len(paste), "character")
            text = text.replace(paste, f"[pasted {size}]")
    return text


def split_content(content: Sequence[TextContent | ImageContent] | str) -> tuple[str, list[ImageContent]]:
    if isinstance(content, str):
        return content, []
    text = "\n".join(block.text for block in content if isinstance(block, TextContent))
    return text, [block for block in content if isinstance(block, ImageContent)]
