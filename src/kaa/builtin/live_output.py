"""The output of a running command on its way to the screen: little, seldom, and honest about what it leaves out."""

import asyncio
import codecs
from collections.abc import Callable

_INTERVAL_SECONDS = 0.1
_MAX_UPDATE_BYTES = 8 * 1024


class StreamedOutput:
    """Turns chunks of output into updates, at most one per 100 ms of at most 8 KiB each.

    Output that comes faster is dropped, oldest first, and counted. The text is decoded across chunk boundaries
    and otherwise as the command wrote it, escape sequences included: frontends decide what to do with them.

    Must be used on the event loop's thread, and closed.

    Args:
        update: gets the text and how many bytes were dropped before it, as `ToolRun.update` does.
    """

    def __init__(self, update: Callable[[str, int], None]) -> None:
        self._update = update
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._skipped = 0
        self._next_update = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        self._pending += data
        self._drop_excess()
        if self._timer is not None:
            return
        delay = self._next_update - self._loop.time()
        if delay <= 0:
            self._flush()
        else:
            self._timer = self._loop.call_later(delay, self._flush)

    def close(self) -> None:
        """Show what is still to be shown."""
        self._flush(final=True)

    def _drop_excess(self) -> None:
        excess = len(self._pending) - _MAX_UPDATE_BYTES
        if excess <= 0:
            return
        while excess < len(self._pending) and self._pending[excess] & 0xC0 == 0x80:  # inside a UTF-8 character
            excess += 1
        del self._pending[:excess]
        begun_character, _ = self._decoder.getstate()
        self._decoder.reset()
        self._skipped += len(begun_character) + excess

    def _flush(self, *, final: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = self._decoder.decode(bytes(self._pending), final)
        self._pending.clear()
        if text or self._skipped:
            self._update(text, self._skipped)
            self._next_update = self._loop.time() + _INTERVAL_SECONDS
        self._skipped = 0
