"""Markdown that is there as a whole."""

from kaa.tui.components.markdown_stream import MarkdownStream
from kaa.tui.components.markdown_syntax import code_blocks
from kaa.tui.context import Context
from kaa.tui.events import Input

__all__ = ["Markdown", "MarkdownStream", "code_blocks"]


class Markdown:
    """Markdown that is there as a whole.

    Args:
        context: what all components know.
        text: foreign text.
        style_token: the palette's token of text without markup.
    """

    def __init__(self, context: Context, text: str = "", style_token: str = "") -> None:
        self._context = context
        self._style_token = style_token
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._stream = MarkdownStream(self._context, self._style_token)
        self._stream.append(text)
        self._stream.finish()

    def render(self, width: int) -> list[str]:
        """The lines at this width."""
        return self._stream.render(width)

    def key(self, key: Input) -> bool:
        """Takes none."""
        return False

    def cursor(self) -> tuple[int, int] | None:
        """Shows none."""
        return None
