"""A frame, a background or just room around another component. *Stage 1*."""

from kaa.tui.component import Component
from kaa.tui.components.text import truncated
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.layout import pad
from kaa.tui.sanitize import one_line
from kaa.tui.style import BOLD, join, paint, paint_spans
from kaa.tui.width import cells

# Below this there is no room for two borders and something between them.
_NARROWEST_BORDERED = 3


class Box:
    """A component with something around it; keys and the cursor are the component's.

    Args:
        context: what all components know.
        child: what is in the box.
        title: foreign text shown in the upper border, or as a line of its own if there is no border.
        border_token: colour of the border; None draws no border.
        background_token: what the box is filled with; empty fills nothing.
        padding: free cells left and right of the child.
        vertical_padding: free lines above and below the child.
    """

    def __init__(
        self,
        context: Context,
        child: Component,
        title: str = "",
        border_token: str | None = None,
        background_token: str = "",
        padding: int = 1,
        vertical_padding: int = 0,
    ) -> None:
        self._context = context
        self._child = child
        self._title = one_line(title)
        self._border_token = border_token
        self._background_token = background_token
        self._padding = padding
        self._vertical_padding = vertical_padding
        self._painted_at: tuple[int, int] | None = None
        self._content: list[str] = []
        self._lines: list[str] = []
        self._offset = (0, 0)

    def set_title(self, title: str) -> None:
        """Show another title."""
        self._title = one_line(title)
        self._painted_at = None

    def render(self, width: int) -> list[str]:
        """The lines of the child and what is around them."""
        width = max(1, width)
        bordered = self._border_token is not None and width >= _NARROWEST_BORDERED
        inside = width - 2 if bordered else width
        padding = min(self._padding, (inside - 1) // 2)
        content = self._child.render(inside - 2 * padding)
        state = (width, self._context.palette.version)
        if state != self._painted_at or content is not self._content:
            self._painted_at, self._content = state, content
            self._lines = self._paint(content, width, padding, bordered=bordered)
        return self._lines

    def key(self, key: Input) -> bool:
        """What the child says to it."""
        return self._child.key(key)

    def cursor(self) -> tuple[int, int] | None:
        """That of the child."""
        position = self._child.cursor()
        return position and (position[0] + self._offset[0], position[1] + self._offset[1])

    def _paint(self, content: list[str], width: int, padding: int, *, bordered: bool) -> list[str]:
        palette, glyphs = self._context.palette, self._context.glyphs
        background = palette[self._background_token] if self._background_token else ""
        space = " " * padding
        lines = [*[""] * self._vertical_padding, *content, *[""] * self._vertical_padding]
        if not bordered:
            head = (
                [space + paint(truncated(self._title, width - padding, glyphs.ellipsis), BOLD)] if self._title else []
            )
            self._offset = (len(head) + self._vertical_padding, padding)
            shown = [*head, *(space + line if line else "" for line in lines)]
            return [pad(line, width, background) for line in shown] if background else shown
        border = palette[self._border_token or ""]
        side = paint(glyphs.vertical, border)
        self._offset = (1 + self._vertical_padding, 1 + padding)
        lines = [side + pad(space + line, width - 2, "") + side for line in lines]
        bottom = paint(glyphs.bottom_left + glyphs.horizontal * (width - 2) + glyphs.bottom_right, border)
        return [pad(line, width, background) for line in (self._top(width, border), *lines, bottom)]

    def _top(self, width: int, border: str) -> str:
        glyphs = self._context.glyphs
        title = truncated(self._title, width - 6, glyphs.ellipsis) if self._title and width > 6 else ""
        if not title:
            return paint(glyphs.top_left + glyphs.horizontal * (width - 2) + glyphs.top_right, border)
        filling = glyphs.horizontal * (width - 5 - cells(title))
        return paint_spans(
            [
                (glyphs.top_left + glyphs.horizontal + " ", border),
                (title, join(border, BOLD)),
                (" " + filling + glyphs.top_right, border),
            ]
        )
