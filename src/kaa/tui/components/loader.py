"""Says that something is going on: a spinner and a text. It has no timer; whoever shows it makes it turn. *Stage 1*."""

from kaa.tui.components.display import Display
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line
from kaa.tui.style import paint
from kaa.tui.width import cells


class Loader(Display):
    """One line: a spinner and a text.

    Args:
        context: what all components know.
        text: foreign text.
        style_token: the text's token.
        spinner_token: the spinner's token.
    """

    def __init__(
        self, context: Context, text: str = "", style_token: str = "muted", spinner_token: str = "accent"
    ) -> None:
        super().__init__(context)
        self._text = ""
        self._style_token = style_token
        self._spinner_token = spinner_token
        self._frame = 0
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text beside the spinner."""
        clean = one_line(text)
        if clean != self._text:
            self._text = clean
            self.changed()

    def tick(self) -> None:
        """Turn the spinner by one step."""
        self._frame += 1
        self.changed()

    def _paint(self, width: int) -> list[str]:
        palette, glyphs = self._context.palette, self._context.glyphs
        frame = glyphs.spinner[self._frame % len(glyphs.spinner)]
        room = width - cells(frame) - 1
        line = paint(frame, palette[self._spinner_token])
        if self._text and room > 0:
            line += " " + paint(truncated(self._text, room, glyphs.ellipsis), palette[self._style_token])
        return [line]
