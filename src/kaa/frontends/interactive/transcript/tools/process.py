"""Calls of process: what is wanted of which background process, and what it printed."""

from collections.abc import Sequence

from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.tools.call import ShownCall
from kaa.frontends.interactive.transcript.tools.renderer import OUTPUT_LINES, error_lines, last_lines, named
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.style import Span


class ProcessRenderer:
    """A background process, or the list of them."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The action and the number."""
        number = call.number("id")
        return named(self._view, call.name, call.argument("action"), "" if number is None else str(number))

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The end of what was answered."""
        if call.failed:
            return error_lines(self._view, call.text.output, width)
        return last_lines(self._view, plain_text(call.text.output), OUTPUT_LINES, width)

    def aside(self, call: ShownCall) -> str:
        """The answer says how the process is."""
        return ""
