"""Calls of bash, of its background processes and of programs: what is run, and the end of its output."""

from collections.abc import Sequence

from kaa.builtin.tools.bash import with_own_names
from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.excerpt import ALL_LINES, head, hidden_lines
from kaa.frontends.interactive.transcript.tools.renderer import (
    OUTPUT_LINES,
    ShownCall,
    error_lines,
    last_lines,
    live_lines,
    named,
)
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.style import Span

_COMMAND_LINES = 4


class BashRenderer:
    """A command as a shell shows it."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The command, and how it is run if that is unusual."""
        command = with_own_names(dict(call.arguments)).get("command")  # the model may have named it as others do
        text = command if isinstance(command, str) else ""
        return command_title(self._view, "$", text, "toolTitle", _conditions(call))

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The end of the output, also of a command that failed."""
        if call.result is None:
            return live_lines(self._view, call.output, width)
        if call.failed and not isinstance(call.result.details, dict):  # it was not run
            return error_lines(self._view, call.text.output, width)
        return last_lines(self._view, plain_text(call.text.output), OUTPUT_LINES, width)

    def aside(self, call: ShownCall) -> str:
        """The output speaks for itself."""
        return ""


class ProgramRenderer(BashRenderer):
    """A program of the model, the calls that it makes, and what it printed."""

    def title(self, call: ShownCall) -> Sequence[Span]:
        return command_title(self._view, ">>>", call.argument("program"), "toolTitle")


def command_title(view: ViewOptions, prompt: str, command: str, token: str, conditions: str = "") -> list[Span]:
    """A command's first lines behind a prompt, or all of them when cards are expanded."""
    palette, ellipsis = view.context.palette, view.context.glyphs.ellipsis
    excerpt = head(command, ALL_LINES if view.expanded else _COMMAND_LINES)
    more = f" {ellipsis} {hidden_lines(excerpt)}{view.how_to_show_all}" if excerpt.hidden else ""
    return [
        (f"{prompt} ", palette[token]),
        ("\n".join(excerpt.lines) or ellipsis, palette[token]),
        (more, palette["muted"]),
        (f" ({conditions})" if conditions else "", palette["muted"]),
    ]


def _conditions(call: ShownCall) -> str:
    timeout = call.arguments.get("timeout")
    in_background = call.arguments.get("background") is True
    parts = [
        "in the background" if in_background else "",
        f"at most {timeout:g} s" if isinstance(timeout, int | float) and not isinstance(timeout, bool) else "",
    ]
    return ", ".join(filter(None, parts))


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
