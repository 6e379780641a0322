"""The menu of what can be completed: a few rows with the chosen one marked, and what each of them is."""

from collections.abc import Sequence

from kaa.tui.completion import Completion
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, clip, fit

_MAX_LABEL = 32
# A description with less room than this says nothing.
_MIN_DESCRIPTION = 8
_GAP = 2


class CompletionMenu:
    """Rows to choose from.

    Args:
        context: palette and glyphs.
        max_visible: how many rows it has at most, besides the one that tells the position.
    """

    def __init__(self, context: Context, max_visible: int = 5) -> None:
        self.max_visible = max_visible
        self._context = context
        self._items: Sequence[Completion] = ()
        self._chosen = 0
        self._top = 0

    def show(self, items: Sequence[Completion]) -> None:
        """Let these be chosen from; the first one is the chosen one."""
        if items is not self._items:
            self._items = items
            self._chosen = self._top = 0

    @property
    def chosen(self) -> Completion | None:
        """The marked one; None if there is nothing to choose from."""
        return self._items[self._chosen] if self._items else None

    def move(self, by: int) -> None:
        """Choose another one; behind the last one comes the first."""
        if abs(by) == 1:
            self._chosen = (self._chosen + by) % len(self._items)
        else:
            self._chosen = max(0, min(self._chosen + by, len(self._items) - 1))

    def render(self, width: int) -> list[str]:
        """The rows; none if there is nothing to choose from."""
        visible = min(max(1, self.max_visible), len(self._items))
        self._top = max(0, min(self._top, self._chosen), self._chosen - visible + 1)
        shown = self._items[self._top : self._top + visible]
        label_width = min(_MAX_LABEL, max((cells(one_line(item.label)) for item in shown), default=0))
        lines = [
            fit(paint_spans(self._row(item, index == self._chosen, label_width, width)), width)
            for index, item in enumerate(shown, self._top)
        ]
        if len(self._items) > visible:
            muted = self._context.palette["dim"]
            lines.append(fit(paint_spans([(f"  ({self._chosen + 1}/{len(self._items)})", muted)]), width))
        return lines

    def _row(self, item: Completion, is_chosen: bool, label_width: int, width: int) -> list[Span]:
        palette, glyphs = self._context.palette, self._context.glyphs
        pointer = glyphs.pointer if is_chosen else " " * cells(glyphs.pointer)
        style = palette["accent"] if is_chosen else palette["text"]
        label = one_line(item.label)
        if cells(label) > label_width:
            label = clip(label, label_width - cells(glyphs.ellipsis)) + glyphs.ellipsis
        row: list[Span] = [(f"{pointer} {label}", style)]
        room = width - cells(pointer) - 1 - label_width - _GAP
        if item.description and room >= _MIN_DESCRIPTION:
            row.append(
                (" " * (label_width - cells(label) + _GAP) + clip(one_line(item.description), room), palette["muted"])
            )
        return row
