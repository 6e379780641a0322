"""Calls of grep, find and ls: what was looked for, how much was found, and the first of it."""

import re
from collections.abc import Sequence

from kaa.frontends.interactive.transcript.excerpt import beginning, count_lines
from kaa.frontends.interactive.transcript.tools.renderer import OUTPUT_LINES, ShownCall, error_lines, first_lines, named
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.style import Span

# As the grep tool prints lines that match; those around them have hyphens.
_MATCH = re.compile(r"^[^\n]+?:\d+: ", re.MULTILINE)
# What the tools answer when there is nothing.
_NOTHING = frozenset({"No matches found", "No files found", "(empty directory)"})


class _ListRenderer:
    """An answer that is a list of lines."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view

    def body(self, call: ShownCall, width: int) -> list[str]:
        if call.failed:
            return error_lines(self._view, call.text.output, width)
        return first_lines(self._view, _found(call), OUTPUT_LINES, width)


class GrepRenderer(_ListRenderer):
    def title(self, call: ShownCall) -> Sequence[Span]:
        """The pattern, and where it is searched."""
        glob = call.argument("glob")
        return named(self._view, call.name, call.argument("pattern"), _where(self._view, call, glob))

    def aside(self, call: ShownCall) -> str:
        return _count(call, len(_MATCH.findall(_found(call))), "match", "matches")


class FindRenderer(_ListRenderer):
    def title(self, call: ShownCall) -> Sequence[Span]:
        """The pattern, and where it is searched."""
        return named(self._view, call.name, call.argument("pattern"), _where(self._view, call))

    def aside(self, call: ShownCall) -> str:
        return _count(call, count_lines(_found(call)), "file", "files")


class LsRenderer(_ListRenderer):
    """The names in a directory."""

    def title(self, call: ShownCall) -> Sequence[Span]:
        path = self._view.path(call.path)
        return named(self._view, call.name, path or ("." if call.is_complete else ""))

    def aside(self, call: ShownCall) -> str:
        return _count(call, count_lines(_found(call)), "name", "names")


def _where(view: ViewOptions, call: ShownCall, glob: str = "") -> str:
    path = view.path(call.path)
    parts = [f"in {path}" if path not in ("", ".") else "", glob]
    return beginning(" ".join(filter(None, parts)))


def _found(call: ShownCall) -> str:
    output = call.text.output
    return "" if call.failed or output in _NOTHING else output


def _count(call: ShownCall, count: int, one: str, several: str) -> str:
    if call.result is None or call.failed:
        return ""
    return f"{count or 'no'} {one if count == 1 else several}"
