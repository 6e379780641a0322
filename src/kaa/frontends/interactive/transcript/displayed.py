"""Display values of extensions in the transcript: of a tool's result, of a message, of an entry."""

from collections.abc import Sequence

from kaa.core.display_values import DisplayValue, values_in
from kaa.core.messages import Json
from kaa.frontends.interactive.display_values import component_of
from kaa.frontends.interactive.transcript.excerpt import rest
from kaa.frontends.interactive.transcript.summaries import SummaryBlock
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.component import Component

_LINES = 10


class DisplayedValues:
    """Lines of display values: the first ones, or all of them when cards are expanded."""

    def __init__(self, view: ViewOptions, values: Sequence[DisplayValue]) -> None:
        self._view = view
        self._components: Sequence[Component] = [component_of(value, view.context) for value in values]

    def lines(self, width: int) -> list[str]:
        """The lines; none without display values."""
        lines = [line for component in self._components for line in component.render(width)]
        if len(lines) <= _LINES or self._view.expanded:
            return lines
        return [*lines[: _LINES - 1], rest(self._view, width)]


class ExtensionBlock(SummaryBlock):
    """What an extension says in the conversation: display values, or the text if there are no valid ones.

    Args:
        text: of a message; it may come from anywhere.
        details: of the message, with the display values.
    """

    def __init__(self, view: ViewOptions, label: str, text: str, details: Json) -> None:
        super().__init__(view, label, text)
        self._displayed = DisplayedValues(view, values_in(details))

    def content(self, width: int) -> list[str]:
        """The display values, or the text."""
        return [f"  {line}" for line in self._displayed.lines(max(width - 2, 1))] or super().content(width)
