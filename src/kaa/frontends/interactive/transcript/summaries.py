"""What stands in for a part of the conversation, and what extensions say in it."""

from kaa.builtin.amounts import counted
from kaa.core.events import CompactionEnd
from kaa.frontends.interactive.footer import short_count
from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, head, more
from kaa.frontends.interactive.transcript.piece import Piece
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.layout import pad, wrap

TO_MODEL = "to the model"
"""The label of messages that kaa, a hook or a slash command wrote, and not the person."""

_LINES = 6


def condensed(view: ViewOptions, event: CompactionEnd) -> "SummaryBlock":
    """What stands for the conversation from now on, and how much shorter it is."""
    count = counted(event.dropped, "message")
    before, after = short_count(event.tokens_before), short_count(event.tokens_after)
    label = f"compacted: {count}, {before} tokens are now about {after}; /uncompact restores them"
    return SummaryBlock(view, label, event.summary)


class SummaryBlock(Piece):
    """A labelled text, its first lines as long as cards are not expanded.

    Args:
        text: the text, which may come from anywhere.
    """

    def __init__(self, view: ViewOptions, label: str, text: str) -> None:
        super().__init__(view)
        self._label = label
        self._text = text.strip("\n")
        self.finished = True

    def layout(self, width: int) -> list[str]:
        """The label, then the text."""
        palette = self.context.palette
        lines = [*wrap([(f"[{harmless(self._label)}]", palette["customMessageLabel"])], width), *self.content(width)]
        background = "" if self.view.linear else palette["customMessageBg"]
        return [pad(line, width, background) for line in lines] if background else lines

    def content(self, width: int) -> list[str]:
        """The lines below the label."""
        excerpt = head(self._text, ALL_LINES if self.view.expanded else _LINES)
        style = self.context.palette["customMessageText"]
        lines = [row for line in excerpt.lines for row in wrap([(line, style)], width, [("  ", "")])]
        return [*lines, more(self.view, excerpt, width)] if excerpt.hidden else lines
