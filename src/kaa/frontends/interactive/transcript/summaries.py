"""What stands in for a part of the conversation, and what extensions say in it."""

from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, head, more
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view import View
from kaa.tui.components.text import harmless
from kaa.tui.layout import pad, wrap

_LINES = 6


class Summary(Piece):
    """A labelled text, its first lines as long as cards are not expanded.

    Args:
        view: how the transcript is looked at.
        label: what kind of text this is.
        text: the text, which may come from anywhere.
    """

    def __init__(self, view: View, label: str, text: str) -> None:
        super().__init__(view)
        self._label = label
        self._text = text.strip("\n")
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The label, then the text."""
        palette = self.context.palette
        excerpt = head(self._text, ALL_LINES if self.view.expanded else _LINES)
        lines = wrap([(f"[{harmless(self._label)}]", palette["customMessageLabel"])], width)
        for line in excerpt.lines:
            lines += wrap([(line, palette["customMessageText"])], width, [("  ", "")])
        if excerpt.hidden:
            lines.append(more(self.view, excerpt.hidden, width))
        background = "" if self.view.linear else palette["customMessageBg"]
        return [pad(line, width, background) for line in lines] if background else lines
