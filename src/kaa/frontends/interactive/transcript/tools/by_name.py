"""The renderer of each tool, and the one of tools that have none of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.excerpt import beginning
from kaa.frontends.interactive.transcript.tools.bash import BashRenderer, ProcessRenderer, ProgramRenderer
from kaa.frontends.interactive.transcript.tools.files import EditRenderer, ReadRenderer, WriteRenderer
from kaa.frontends.interactive.transcript.tools.renderer import (
    OUTPUT_LINES,
    CallRenderer,
    ShownCall,
    error_lines,
    first_lines,
    live_lines,
    named,
)
from kaa.frontends.interactive.transcript.tools.search import FindRenderer, GrepRenderer, LsRenderer
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.frontends.json_text import encoded
from kaa.session.changed_paths import PATCH_TOOL, changed_paths
from kaa.tui.components.text import harmless
from kaa.tui.style import Span

if TYPE_CHECKING:
    from kaa.core.messages import Json, ToolResultMessage
    from kaa.frontends.interactive.transcript.displayed import DisplayedValues

_ARGUMENT_CHARACTERS = 200
_ALL_ARGUMENT_CHARACTERS = 10_000


_SERVER_TOOL = "mcp__"  # what names of tools of MCP servers begin with


class GenericRenderer:
    """Name, arguments as JSON, and what was answered: display values, or the text."""

    def __init__(self, view: ViewOptions) -> None:
        self._view = view
        self._displayed: tuple[ToolResultMessage, DisplayedValues] | None = None

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The name, and what its extension says of the call, or the arguments."""
        palette = self._view.context.palette
        template = self._view.call_titles.get(call.name)
        if template is not None and call.arguments and not self._view.expanded:
            # Lazily: few extensions give titles.
            from kaa.ext.call_titles import filled_title

            title = filled_title(template, call.arguments)
            return [(harmless(call.name), palette["toolTitle"]), (f" {title}", palette["muted"])]
        return self._with_arguments(call.name, call.arguments)

    def _with_arguments(self, name: str, arguments: "Mapping[str, Json]") -> Sequence[Span]:
        palette = self._view.context.palette
        most = _ALL_ARGUMENT_CHARACTERS if self._view.expanded else _ARGUMENT_CHARACTERS
        text = f" {beginning(encoded(arguments).decode(), most)}" if arguments else ""
        return [(harmless(name), palette["toolTitle"]), (text, palette["muted"])]

    def body(self, call: ShownCall, width: int) -> list[str]:
        """The first lines of the answer; the last ones as long as there is no answer."""
        if call.result is None:
            return live_lines(self._view, call.output, width)
        text = plain_text(self._answer(call.text.output))
        if call.failed:
            return error_lines(self._view, text, width)
        if call.detail("display") is not None:
            # Lazily: few tools have display values.
            from kaa.core.display_values import values_in
            from kaa.frontends.interactive.transcript.displayed import DisplayedValues

            if self._displayed is None or self._displayed[0] is not call.result:
                self._displayed = call.result, DisplayedValues(self._view, values_in(call.result.details))
            if lines := self._displayed[1].lines(width):
                return lines
        return first_lines(self._view, text, OUTPUT_LINES, width)

    def aside(self, call: ShownCall) -> str:
        """Nothing is known of the answer."""
        return ""

    def _answer(self, text: str) -> str:
        return text


class ServerRenderer(GenericRenderer):
    """A call of an MCP server, by its own tool or by the tool `mcp`."""

    def title(self, call: ShownCall) -> Sequence[Span]:
        """The server and its tool with the arguments, or what else is asked of the servers."""
        if call.name.startswith(_SERVER_TOOL):
            return self._with_arguments(" ".join(call.name.split("__", 2)[1:]), call.arguments)
        words = [call.argument(name) for name in ("action", "server", "tool")]
        inner = call.arguments.get("arguments")
        name = " ".join(filter(None, words[1:] if words[0] == "call" else ("mcp", *words)))
        return self._with_arguments(name or call.name, inner if isinstance(inner, dict) else {})

    def _answer(self, text: str) -> str:
        # Lazily: only those who use servers see this.
        from kaa.builtin.mcp.results import unframed

        said = unframed(text)
        return text if said is None else said.text


class PatchRenderer(GenericRenderer):
    """A patch of several files."""

    def title(self, call: ShownCall) -> Sequence[Span]:
        return named(self._view, call.name, ", ".join(changed_paths(PATCH_TOOL, call.arguments)))


_RENDERERS: Mapping[str, Callable[[ViewOptions], CallRenderer]] = {
    PATCH_TOOL: PatchRenderer,
    "bash": BashRenderer,
    "call_tools": ProgramRenderer,
    "edit": EditRenderer,
    "find": FindRenderer,
    "grep": GrepRenderer,
    "ls": LsRenderer,
    "mcp": ServerRenderer,
    "process": ProcessRenderer,
    "read": ReadRenderer,
    "write": WriteRenderer,
}


def renderer_for(tool: str, view: ViewOptions) -> CallRenderer:
    other = ServerRenderer if tool.startswith(_SERVER_TOOL) else GenericRenderer
    return _RENDERERS.get(tool, other)(view)
