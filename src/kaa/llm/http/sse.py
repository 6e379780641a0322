"""Server-sent events, decoded from bytes in any chunking.

Follows the WHATWG event stream grammar (https://html.spec.whatwg.org/multipage/server-sent-events.html),
with two tolerances that model servers and proxies need: a missing final blank line, and blank lines lost
between events.
"""

from typing import Final

import msgspec

from kaa.core.errors import MalformedStreamError

_BOM: Final = b"\xef\xbb\xbf"
_MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
_MAX_DIGITS: Final = 10


# A reply consists of thousands. They cannot form cycles, so the garbage collector need not look at them.
class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event; `event` is empty if the server gave it no name."""

    event: str
    data: bytes


class SseDecoder:
    """Turns chunks of bytes into events. Work is linear in the bytes, whatever the chunking.

    Args:
        max_event_bytes: the most memory one unfinished event may take.

    Attributes:
        last_id: where the stream can be resumed; empty if the server did not say.
        retry_ms: how long the server wants one to wait before that, in milliseconds; None if it did not say.
    """

    def __init__(self, *, max_event_bytes: int = _MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []  # pieces of the line whose end has not come
        self._after_cr = False
        self._at_start = True
        self._event = ""
        self._data: list[bytes] = []
        self._held_bytes = 0
        self.last_id = ""
        self.retry_ms: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes.

        Raises:
            MalformedStreamError: an event is larger than the limit.
        """
        if not chunk:
            return []
        ends_in_cr = chunk.endswith(b"\r")
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = ends_in_cr
        # bytes.splitlines splits at CR, LF and CRLF only, unlike that of str.
        lines = chunk.splitlines()
        unfinished = lines.pop() if lines and not chunk.endswith((b"\n", b"\r")) else b""
        if lines and self._line:
            lines[0] = self._rest_of_line() + lines[0]
        events = self._take(lines)
        if unfinished:
            self._line.append(unfinished)
            self._hold(len(unfinished))
        return events

    def finish(self) -> list[SseEvent]:
        """The event that the end of the stream completes, if any."""
        return self._take([self._rest_of_line(), b""])

    def _rest_of_line(self) -> bytes:
        line, self._line = b"".join(self._line), []
        self._held_bytes -= len(line)
        return line

    def _take(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        if lines and self._at_start:
            self._at_start = False
            lines = [lines[0].removeprefix(_BOM), *lines[1:]]
        data = self._data
        for line in lines:
            if not line:
                if len(data) == 1:  # as nearly always, and without a call
                    events.append(SseEvent(self._event, data.pop()))
                    self._event, self._held_bytes = "", 0
                else:
                    self._dispatch(events)
            elif line.startswith(b"data:"):
                if len(data) == 1 and _is_whole(data[0]):
                    self._dispatch(events)
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._held_bytes += len(line)
                if self._held_bytes > self._max_event_bytes:
                    self._hold(0)
            else:
                self._take_other(line, events)
        return events

    def _take_other(self, line: bytes, events: list[SseEvent]) -> None:
        """Take a line that is neither blank nor of data."""
        if line.startswith(b"event:"):
            # A second name cannot belong to the same event: the blank line between them was lost.
            if self._event and self._data:
                self._dispatch(events)
            self._event = line[6:].removeprefix(b" ").decode("utf-8", "replace")
        elif line == b"data":
            self._data.append(b"")
            self._hold(len(line))
        elif line.startswith(b"id:") and b"\0" not in line:
            self.last_id = line[3:].removeprefix(b" ").decode("utf-8", "replace")
        elif line.startswith(b"retry:") and (value := line[6:].strip()).isdigit() and len(value) < _MAX_DIGITS:
            self.retry_ms = int(value)

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent(self._event, b"\n".join(self._data)))
            self._data.clear()
        self._event = ""
        self._held_bytes = 0

    def _hold(self, size: int) -> None:
        self._held_bytes += size
        if self._held_bytes > self._max_event_bytes:
            raise MalformedStreamError(
                f"the server sent an event of more than {self._max_event_bytes} bytes: this is not an answer of a "
                "model. Check the base URL."
            )


def _is_whole(data: bytes) -> bool:
    """Whether nothing more can belong to `data`: JSON objects end where they end, as does the end marker.

    Another data line after such a line is therefore another event, whose blank line a proxy has lost.
    """
    if data == b"[DONE]":
        return True
    if not (data.startswith(b"{") and data.rstrip().endswith(b"}")):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
