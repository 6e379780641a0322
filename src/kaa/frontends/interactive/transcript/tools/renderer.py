"""What a renderer is, and the lines that most of them are made of."""

from collections.abc import Sequence
from typing import Protocol

from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, beginning, head, paint_excerpt, tail
from kaa.frontends.interactive.transcript.live_output import LiveOutput
from kaa.frontends.interactive.transcript.tools.call import ShownCall
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.style import Span

# Of an output, as long as cards are not expanded.
OUTPUT_LINES = 5
_EXPANDED_LIVE_LINES = 20
_ERROR_LINES = 10


class CallRenderer(Protocol):
    """What is shown of one call. It is made for the call and may keep what is expensive to compute.

    What it shows of a call while it runs changes little where it has been shown already: lines are added at the end,
    up to a fixed number, so that nothing above moves.
    """

    def title(self, call: ShownCall) -> Sequence[Span]:
        """What is done, in a line or a few; as much as the arguments tell so far."""
        ...

    def body(self, call: ShownCall, width: int) -> list[str]:
        """Painted lines of what came of it, or is on the way. An error is shown without asking for them."""
        ...

    def aside(self, call: ShownCall) -> str:
        """Figures about the result in few words, perhaps none."""
        ...


def named(view: ViewOptions, tool: str, argument: str, rest: str = "") -> list[Span]:
    """The title of a call that one argument tells of."""
    palette = view.context.palette
    ellipsis = view.context.glyphs.ellipsis
    return [
        (tool, palette["toolTitle"]),
        (f" {beginning(argument) or ellipsis}", palette["accent"]),
        (f" {rest}" if rest else "", palette["muted"]),
    ]


def first_lines(view: ViewOptions, text: str, count: int, width: int) -> list[str]:
    """The first `count` lines of an output, or all of them when cards are expanded."""
    excerpt = head(text, ALL_LINES if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], whole=view.expanded)


def last_lines(view: ViewOptions, text: str, count: int, width: int) -> list[str]:
    """The last `count` lines of an output, or all of them when cards are expanded."""
    excerpt = tail(text, ALL_LINES if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], from_end=True, whole=view.expanded)


def live_lines(view: ViewOptions, output: LiveOutput, width: int, count: int = OUTPUT_LINES) -> list[str]:
    """The end of what a running tool has printed: never more than a few rows, so that little of it moves."""
    excerpt = output.end(max(count, _EXPANDED_LIVE_LINES) if view.expanded else count)
    return paint_excerpt(view, excerpt, width, view.context.palette["toolOutput"], from_end=True)


def error_lines(view: ViewOptions, text: str, width: int) -> list[str]:
    """Why a call failed, in the tool's words."""
    excerpt = head(text, ALL_LINES if view.expanded else _ERROR_LINES)
    return paint_excerpt(view, excerpt, width, view.context.palette["error"], whole=True)
