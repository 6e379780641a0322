"""Results that tools of extensions give as display values."""

from collections.abc import Sequence

import msgspec

from kaa.core.messages import ToolResultMessage
from kaa.ext.display import DisplayValue
from kaa.frontends.interactive.display_values import component_of
from kaa.frontends.interactive.transcript.excerpt import rest
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.component import Component

_LINES = 10


class DisplayedResult:
    """The display values of one result, which may come from a session file.

    Args:
        view: how the transcript is looked at.
        result: the result.
    """

    def __init__(self, view: ViewOptions, result: ToolResultMessage) -> None:
        self.result = result
        self._view = view
        self._components: Sequence[Component] = [component_of(value, view.context) for value in _values(result)]

    def lines(self, width: int) -> list[str]:
        """The first lines, or all of them when cards are expanded; none without display values."""
        lines = [line for component in self._components for line in component.render(width)]
        if len(lines) <= _LINES or self._view.expanded:
            return lines
        return [*lines[: _LINES - 1], rest(self._view, width)]


def _values(result: ToolResultMessage) -> tuple[DisplayValue, ...]:
    """The display values; none if the details are something else."""
    shown = result.details.get("display") if isinstance(result.details, dict) else None
    try:
        return () if shown is None else msgspec.convert(shown, tuple[DisplayValue, ...])
    except msgspec.ValidationError:
        return ()
