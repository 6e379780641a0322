"""The card of one tool call, from the first words of the model to the result."""

from collections.abc import Mapping, Sequence

import msgspec

from kaa.builtin.amounts import shown_duration
from kaa.core.messages import Json, ToolResultMessage
from kaa.core.partial_json import PartialJson
from kaa.frontends.interactive.transcript.card import Card, Face, State
from kaa.frontends.interactive.transcript.pictures import Pictures
from kaa.frontends.interactive.transcript.tools.by_name import renderer_for
from kaa.frontends.interactive.transcript.tools.renderer import ShownCall
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.style import Span
from kaa.workspace.blocked import Blocked, sentences


class ToolCard(Card):
    """A tool call. What happens to it is only noted; it is laid out with the next frame."""

    def __init__(self, view: ViewOptions, tool: str) -> None:
        super().__init__(view)
        self._call = ShownCall(tool)
        self._renderer = renderer_for(tool, view)
        self._state: State = "idle"
        self._fragments: list[str] = []  # JSON text of the arguments that has not been read yet
        self._arguments = PartialJson()
        self._duration_ms = 0
        self._changed_by = ""
        self._pictures = Pictures(view)

    def write(self, fragment: str) -> None:
        """The model has written more of the arguments."""
        self._fragments.append(fragment)
        self.changed()

    def call(self, arguments: Mapping[str, Json]) -> None:
        self._fragments.clear()
        self._call.arguments = arguments
        self._call.is_complete = True
        self.changed()

    def run(self, arguments: Mapping[str, Json]) -> None:
        self.call(arguments)
        self._state = "running"

    def replace(self, arguments: Mapping[str, Json], source: str) -> None:
        """An extension changed the arguments; kaa itself if `source` is empty."""
        self.call(arguments)
        self._changed_by = f"extension {source}" if source else "kaa"

    def print(self, output: str, skipped_bytes: int = 0) -> None:
        """The tool has more to show."""
        self._call.output.append(output, skipped_bytes)
        self.changed()

    def end(self, result: ToolResultMessage, duration_ms: int = 0) -> None:
        self._call.result = result
        self._pictures = Pictures(self.view, self._call.images)
        self._duration_ms = duration_ms
        self._finish("failed" if result.is_error else "done")

    def give_up(self) -> None:
        """There will be no result: the reply broke off, or kaa ended."""
        if not self.finished:
            self._finish("not run")

    def face(self, width: int) -> Face:
        """What is known of the call."""
        self._read_arguments()
        call = self._call
        asides = [self._renderer.aside(call), shown_duration(self._duration_ms), self._missing()]
        return Face(
            self._state,
            self._renderer.title(call),
            self._renderer.body(call, width),
            self._notes(),
            " · ".join(filter(None, asides)),
            self._pictures.render(width),
        )

    def _finish(self, state: State) -> None:
        self._state = state
        self.finished = True
        self.changed()

    def _read_arguments(self) -> None:
        """Take in what the model has written since the last frame."""
        if self._fragments:
            self._arguments.feed("".join(self._fragments))
            self._fragments.clear()
            self._call.arguments = self._arguments.value

    def _notes(self) -> Sequence[Span]:
        palette, text = self.context.palette, self._call.text
        remarks = palette["error" if self._call.failed else "muted"]
        blocked = dict.fromkeys([*_blocked(self._call.detail("blocked")), *text.blocked])
        changed = [f"{self._changed_by} changed this call"] if self._changed_by else []
        told = self._call.briefing.splitlines() if self.view.expanded else []
        guided = ", ".join(harmless(self.view.path(path)) for path in self._call.instructions)
        return [
            *((harmless(line), palette["muted"]) for line in told),
            *([(f"The model also got {guided}", palette["muted"])] if guided else []),
            *((harmless(note), palette["warning"]) for note in changed),
            *((harmless(note), remarks) for note in text.notes),
            *((harmless(sentence), palette["warning"]) for sentence in blocked),
        ]

    def _missing(self) -> str:
        """What is not there, in few words."""
        if self._state == "not run":
            return "not run"
        skipped = self._call.output.skipped_bytes
        return f"{skipped} bytes not shown" if skipped and self._call.result is None else ""


def _blocked(details: Json) -> Sequence[str]:
    """What the sandbox stopped, in its words."""
    try:
        return sentences(msgspec.convert(details, list[Blocked]))
    except msgspec.ValidationError:
        return ()
