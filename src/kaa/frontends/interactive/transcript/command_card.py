"""The card of a command that the user ran himself, with `!`."""

from typing import NamedTuple

from kaa.builtin.amounts import shown_duration
from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.card import Card, Face, State
from kaa.frontends.interactive.transcript.live_output import LiveOutput
from kaa.frontends.interactive.transcript.tools.bash import command_title
from kaa.frontends.interactive.transcript.tools.renderer import last_lines, live_lines
from kaa.frontends.interactive.transcript.view_options import ViewOptions
from kaa.tui.components.text import harmless
from kaa.tui.style import Span

# More than of a tool's output: the user asked for it.
_OUTPUT_LINES = 20


class CommandEnd(NamedTuple):
    """How a user's command ended; the fields are those of `kaa.core.events.UserCommandEnd`."""

    output: str
    exit_code: int | None
    cancelled: bool
    full_output_path: str | None
    duration_ms: int = 0


class CommandCard(Card):
    """A command of the user's. `in_context`: the model is told of it."""

    def __init__(self, view: ViewOptions, command: str, *, in_context: bool) -> None:
        super().__init__(view)
        self._command = command
        self._in_context = in_context
        self._output = LiveOutput()
        self._end: CommandEnd | None = None

    def print(self, output: str, skipped_bytes: int = 0) -> None:
        """The command has more to show."""
        self._output.append(output, skipped_bytes)
        self.changed()

    def end(self, end: CommandEnd) -> None:
        self._end = end
        self.finished = True
        self.changed()

    def face(self, width: int) -> Face:
        """What is known of the command."""
        prompt = "!" if self._in_context else "!!"
        if self._end is None:
            body = live_lines(self.view, self._output, width, _OUTPUT_LINES)
        else:
            body = last_lines(self.view, plain_text(self._end.output), _OUTPUT_LINES, width)
        return Face(
            self._state,
            command_title(self.view, prompt, self._command, "bashMode"),
            body,
            self._notes(),
            shown_duration(self._end.duration_ms) if self._end is not None else "",
        )

    @property
    def _state(self) -> State:
        if self._end is None:
            return "running"
        return "done" if self._end.exit_code == 0 and not self._end.cancelled else "failed"

    def _notes(self) -> list[Span]:
        end, palette = self._end, self.context.palette
        notes: list[Span] = []
        if end is None:
            return notes
        if end.cancelled:
            notes.append(("Stopped.", palette["warning"]))
        elif end.exit_code is None:
            notes.append(("Ended by a signal.", palette["error"]))
        elif end.exit_code:
            notes.append((f"Command exited with code {end.exit_code}", palette["error"]))
        if end.full_output_path:
            notes.append((f"Full output: {harmless(end.full_output_path)}", palette["muted"]))
        return notes
