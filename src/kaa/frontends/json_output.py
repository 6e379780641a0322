"""JSON mode's output: one JSON object per line, the session's header first, then every event.

Streamed text appears as deltas only, so the output is linear in the size of the run.
"""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, BinaryIO, TextIO

from kaa.core.events import AgentEnd, Event
from kaa.frontends import getting_started
from kaa.frontends.delivery import deliver
from kaa.frontends.event_json import EventJson, display_event, entry_appended, extension_error
from kaa.frontends.json_text import encoded
from kaa.llm.models.registry import NoModelError
from kaa.shell.conversation import Conversation
from kaa.shell.host import HostNotice
from kaa.tui.sanitize import sanitize

if TYPE_CHECKING:
    from kaa.ext.display import DisplayKind, DisplayUpdate

# What JSON may hold as it is, but a terminal obeys: DEL and C1, in UTF-8.
_OBEYED = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


class JsonOutput:
    """Writes a run for programs.

    Args:
        err: gets the reason when the run did not end well, as in print mode.

    Attributes:
        shows: what it writes of what extensions show: all that needs no editor.
    """

    shows: "Collection[DisplayKind]" = ("notice", "status", "widget", "title", "working")

    def __init__(self, out: BinaryIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._for_people = out.isatty()
        self._events = EventJson()
        self._ended = False
        self._held: list[DisplayUpdate] = []

    def event(self, event: Event) -> None:
        self._write_held()
        self._line(encoded(self._events.of(event)))
        self._ended = isinstance(event, AgentEnd)
        if isinstance(event, AgentEnd) and event.reason != "done":
            self._tell(f"kaa: {event.error or event.reason}\n")

    def begin(self, conversation: Conversation) -> None:
        """Write the session's header, and from now on every event and every new entry of the session."""
        self._events = EventJson(conversation.models.is_free)
        self._line(encoded(conversation.session_header))
        conversation.subscribe(self.event)
        conversation.subscribe_agents(lambda event: self._line(encoded(self._events.of(event))))
        conversation.on_entries(lambda line: self._line(encoded(entry_appended(line))))

    def reply(self, text: str) -> None:
        """Write what a slash command answered; it ends as everything else does."""
        self._line(encoded({"type": "command_reply", "text": text}))
        self.event(AgentEnd("done", ()))

    def notice(self, notice: HostNotice) -> None:
        """Write a notice; on stderr once everything has ended, because the end is the last line."""
        if self._ended:
            self._tell(f"{notice.text}\n")
        elif notice.failure is not None:
            self._line(encoded(extension_error(notice.failure)))
        else:
            self._line(encoded({"type": "notice", "text": notice.text, "conversation": notice.conversation}))

    def show(self, update: "DisplayUpdate") -> None:
        """Write what an extension shows; between runs, with the next event, because the end is the last line."""
        if self._ended:
            self._held.append(update)
        else:
            self._line(encoded(display_event(update)))

    def failure(self, message: str) -> None:
        """Say why nothing was done; the last event, in the shape of a run's end."""
        self.event(AgentEnd("error", (), message))

    def no_model(self, error: NoModelError) -> None:
        """Say how to get going, on stderr; the last event says that nothing was done."""
        self._line(encoded(self._events.of(AgentEnd("error", (), str(error)))))
        self._tell(getting_started.screen(error))

    def _write_held(self) -> None:
        held, self._held = self._held, []
        for update in held:
            self._line(encoded(display_event(update)))

    def _line(self, encoded: bytes) -> None:
        if self._for_people:
            encoded = _OBEYED.sub(lambda match: b"\\u00%02x" % match[0][-1], encoded)
        deliver(self._out, encoded + b"\n")

    def _tell(self, text: str) -> None:
        deliver(self._err, sanitize(text))
