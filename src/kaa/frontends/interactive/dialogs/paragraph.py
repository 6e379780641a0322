"""What dialogs say, as lines."""

from collections.abc import Callable

from kaa.tui.components.text import harmless
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.style import Span


def paragraph(context: Context, text: str, token: str, width: int, *, bullet: bool = False) -> list[str]:
    """A foreign text in one colour, wrapped; with a bullet it is one of several."""
    first: list[Span] = [(f" {context.glyphs.bullet} ", "")] if bullet else []
    rest: list[Span] = [("   ", "")] if bullet else []
    return wrap([(harmless(text), context.palette[token])], width, first, rest)


def details_of(context: Context, details: str, diff: str = "") -> Callable[[int], list[str]]:
    """Return the body of a dialog that says, with a bullet for each line, what an answer depends on.

    Args:
        details: in lines; an empty one separates what is above it from what is below it.
        diff: a unified diff, which comes last.
    """

    def body(width: int) -> list[str]:
        lines = [
            line
            for detail in details.splitlines()
            for line in (paragraph(context, detail, "text", width, bullet=True) if detail else [""])
        ]
        if diff:
            from kaa.tui.components.diff import DiffView  # lazy: few questions have a diff

            lines += ["", *DiffView(context, diff).render(width)]
        return lines

    return body
