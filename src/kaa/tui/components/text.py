"""Plain text, wrapped, or cut to one line. The text may come from anywhere. *Stage 1*."""

from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.layout import wrap
from kaa.tui.sanitize import one_line, sanitize
from kaa.tui.style import paint
from kaa.tui.width import cells, clip, expand_tabs


def harmless(text: str) -> str:
    """Foreign text made fit for layout: sanitized, without tabs."""
    return expand_tabs(sanitize(text))


class Text(Display):
    """Text, broken into lines at words.

    Args:
        context: what all components know.
        text: foreign text; empty shows nothing.
        style_token: the palette's token it is painted in.
    """

    def __init__(self, context: Context, text: str = "", style_token: str = "") -> None:
        super().__init__(context)
        self._text = harmless(text)
        self._token = style_token

    def set_text(self, text: str, style_token: str | None = None) -> None:
        """Show another text, in another token if one is given."""
        clean = harmless(text)
        token = self._token if style_token is None else style_token
        if (clean, token) != (self._text, self._token):
            self._text, self._token = clean, token
            self.changed()

    def _paint(self, width: int) -> list[str]:
        if not self._text:
            return []
        return wrap([(self._text, self._context.palette[self._token])], width)


class Truncated(Display):
    """One line; what does not fit is cut and an ellipsis says so. Line feeds are shown as spaces.

    Args:
        context: what all components know.
        text: foreign text.
        style_token: the palette's token it is painted in.
    """

    def __init__(self, context: Context, text: str = "", style_token: str = "") -> None:
        super().__init__(context)
        self._text = one_line(text)
        self._token = style_token

    def set_text(self, text: str) -> None:
        """Show another text."""
        clean = one_line(text)
        if clean != self._text:
            self._text = clean
            self.changed()

    def _paint(self, width: int) -> list[str]:
        shown = truncated(self._text, width, self._context.glyphs.ellipsis)
        return [paint(shown, self._context.palette[self._token])]


def truncated(text: str, width: int, ellipsis: str) -> str:
    """Plain text within `width` cells, with the ellipsis at its end if some of it is missing."""
    # Of a long text only the beginning is measured; no character takes more than two cells or less than none.
    if len(text) <= 8 * width and cells(text) <= width:
        return text
    return clip(clip(text[: 8 * width], width - cells(ellipsis)).rstrip() + ellipsis, width)
