"""Calls of edit: which file, and what has changed in it."""

from collections.abc import Sequence

from kaa.frontends.interactive.transcript.excerpt import ALL_LINES
from kaa.frontends.interactive.transcript.tools.call import ShownCall
from kaa.frontends.interactive.transcript.tools.renderer import error_lines, named
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.diff import DiffView
from kaa.tui.style import Span

_LINES = 30


class EditRenderer:
    """Pieces of a file that are replaced."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._shown: tuple[str, int] | None = None
        self._diff = DiffView(view.context, "")

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The file."""
        return named(self._view, call.name, self._view.path(call.path))

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The difference, once it is made."""
        if call.failed:
            return error_lines(self._view, call.text.output, width)
        text = _diff(call)
        if not text:
            return []
        shown = (text, ALL_LINES if self._view.expanded else _LINES)
        if shown != self._shown:
            self._shown = shown
            self._diff = DiffView(self._view.context, text, max_lines=shown[1])
        return self._diff.render(width)

    def aside(self, call: ShownCall) -> str:
        """How many lines came and went."""
        text = _diff(call)
        if not text or call.failed:
            return ""
        signs = [line[:1] for line in text.split("\n")]
        return f"+{signs.count('+')} -{signs.count('-')}"


def _diff(call: ShownCall) -> str:
    diff = call.detail("diff")
    return diff if isinstance(diff, str) else ""
