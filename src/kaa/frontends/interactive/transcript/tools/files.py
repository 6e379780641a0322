"""Calls of read, write and edit: the file, and its content or change."""

from collections.abc import Sequence

from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, count_lines, head, more, rest
from kaa.frontends.interactive.transcript.tools.renderer import ShownCall, error_lines, named
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.code import Code
from kaa.tui.components.diff import DiffView
from kaa.tui.style import Span

_WRITTEN_LINES = 8
_VERBS = {"Created": "created", "Overwrote": "overwritten"}


class ReadRenderer:
    """A file that is read. Its content is shown on demand only: it is the model that wants to see it."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._preview = _Preview(view)

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The file, and which lines of it."""
        return named(self._view, call.name, self._view.path(call.path), _range(call))

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The lines, when cards are expanded."""
        if call.failed:
            return error_lines(self._view, call.text.output, width)
        return self._preview.lines(call.text.output, call.path, width) if self._view.expanded else []

    def aside(self, call: ShownCall) -> str:
        """How many lines there were."""
        if call.result is None or call.failed:
            return ""
        return "image" if call.images else _lines(call.text.output)


class WriteRenderer:
    """A file that is written, as the model writes it."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._preview = _Preview(view)

    def title(self, call: ShownCall) -> Sequence[Span]:
        return named(self._view, call.name, self._view.path(call.path))

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The first lines of the new content."""
        if call.failed:
            return error_lines(self._view, call.text.output, width)
        return self._preview.lines(call.argument("content"), call.path, width, _WRITTEN_LINES)

    def aside(self, call: ShownCall) -> str:
        """Whether the file is new, and how many lines it has."""
        if call.result is None or call.failed:
            return ""
        verb = _VERBS.get(call.text.output.partition(" ")[0], "")
        return " · ".join(filter(None, (verb, _lines(call.argument("content")))))


class _Preview:
    """Highlighted code. It is laid out anew only if what is shown of it has changed."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._shown = ("", "")
        self._code = Code(view.context, "")

    def lines(self, text: str, path: str, width: int, count: int = ALL_LINES) -> list[str]:
        """The first `count` lines of the file, each in one row, or all of them when cards are expanded."""
        excerpt = head(text, ALL_LINES if self._view.expanded else count)
        shown = ("\n".join(excerpt.lines), path)
        if shown != self._shown:
            self._shown = shown
            self._code = Code(self._view.context, shown[0], filename=path)
        rows = self._code.render(width)
        if len(rows) > count and not self._view.expanded:  # long lines take several rows
            return [*rows[:count], rest(self._view, width)]
        return [*rows, more(self._view, excerpt, width)] if excerpt.hidden else rows


def _range(call: ShownCall) -> str:
    offset, limit = call.number("offset"), call.number("limit")
    if offset is None and limit is None:
        return ""
    first = max(offset or 1, 1)
    return f"from line {first}" if limit is None else f"lines {first} to {first + limit - 1}"


def _lines(text: str) -> str:
    count = count_lines(text)
    return "1 line" if count == 1 else f"{count} lines"


_LINES = 30


class EditRenderer:
    """Pieces of a file that are replaced."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._shown: tuple[str, int] | None = None
        self._diff = DiffView(view.context, "")

    def title(self, call: ShownCall) -> Sequence[Span]:
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
            self._diff = DiffView(self._view.context, text, max_lines=shown[1], hint=self._view.how_to_show_all)
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
