"""Calls of tools that nothing is known of, such as those of extensions."""

from collections.abc import Sequence

import msgspec

from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.excerpt import beginning
from kaa.frontends.interactive.transcript.tools.call import ShownCall
from kaa.frontends.interactive.transcript.tools.renderer import OUTPUT_LINES, error_lines, first_lines, live_lines
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.style import Span

_ARGUMENT_CHARACTERS = 200
_ALL_ARGUMENT_CHARACTERS = 10_000


class GenericRenderer:
    """Name, arguments as JSON, and the text that was answered."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The name and the arguments."""
        palette = self._view.context.palette
        most = _ALL_ARGUMENT_CHARACTERS if self._view.expanded else _ARGUMENT_CHARACTERS
        arguments = beginning(msgspec.json.encode(call.arguments).decode(), most) if call.arguments else ""
        return [(harmless(call.name), palette["toolTitle"]), (f" {arguments}" if arguments else "", palette["muted"])]

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The first lines of the answer; the last ones as long as there is no answer."""
        if call.result is None:
            return live_lines(self._view, call.output, width)
        text = plain_text(call.text.output)
        if call.failed:
            return error_lines(self._view, text, width)
        return first_lines(self._view, text, OUTPUT_LINES, width)

    def aside(self, call: ShownCall) -> str:
        """Nothing is known of the answer."""
        return ""
