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


def details_of(context: Context, details: str) -> Callable[[int], list[str]]:
    """The body of a dialog that says, with a bullet for each line, what an answer depends on."""

    def body(width: int) -> list[str]:
        return [
            line for detail in details.splitlines() for line in paragraph(context, detail, "text", width, bullet=True)
        ]

    return body
