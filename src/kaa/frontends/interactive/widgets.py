"""What extensions show above or below the editor. *Stage 1*: empty until an extension shows something."""

from collections.abc import Sequence

from kaa.tui.component import Component
from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.style import paint

# Of one widget.
_MOST_LINES = 10
# All of them together leave most of the screen to the conversation.
_SHARE_OF_ROWS = 3


class WidgetArea(Display):
    """Widgets below each other; what does not fit is left out, and a line says how much.

    Args:
        context: size and colours.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._widgets: tuple[Sequence[Component], ...] = ()
        self._rows = 0

    def show(self, widgets: Sequence[Sequence[Component]]) -> None:
        """Show these, each made of components below each other."""
        self._widgets = tuple(widgets)
        self.changed()

    def render(self, width: int) -> list[str]:
        """The lines; fewer on a low screen."""
        if self._rows != self._context.size.rows:
            self._rows = self._context.size.rows
            self.changed()
        return super().render(width)

    def _paint(self, width: int) -> list[str]:
        most = max(_SHARE_OF_ROWS, self._rows // _SHARE_OF_ROWS)
        lines = [line for widget in self._widgets for line in self._cut(_lines(widget, width), _MOST_LINES)]
        return self._cut(lines, most)

    def _cut(self, lines: list[str], most: int) -> list[str]:
        if len(lines) <= most:
            return lines
        left_out = f"{self._context.glyphs.ellipsis} {len(lines) - most + 1} more lines"
        return [*lines[: most - 1], paint(left_out, self._context.palette["muted"])]


def _lines(components: Sequence[Component], width: int) -> list[str]:
    return [line for component in components for line in component.render(width)]
