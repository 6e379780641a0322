"""How far a call of a server is, as lines of its output while it runs."""

import time
from collections.abc import Callable

from kaa.mcp.contents import Progress

# More often nobody reads it, and each line is an event for every frontend.
_SECONDS_BETWEEN = 0.25
_MOST_CHARACTERS = 200


class ProgressLines:
    """Shows progress as lines such as `12/40 indexing`, at most four a second, and the last one always.

    Args:
        clock: seconds.
    """

    def __init__(self, update: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._update = update
        self._clock = clock
        self._shown_at: float | None = None
        self._shown = ""

    def show(self, progress: Progress) -> None:
        """Show it, unless another was shown just now."""
        now = self._clock()
        is_last = progress.total is not None and progress.progress >= progress.total
        line = _line(progress)
        if line == self._shown or (
            not is_last and self._shown_at is not None and now - self._shown_at < _SECONDS_BETWEEN
        ):
            return
        self._shown_at, self._shown = now, line
        self._update(f"{line}\n")


def _line(progress: Progress) -> str:
    total = "" if progress.total is None else f"/{progress.total:g}"
    message = " ".join(progress.message.split())[:_MOST_CHARACTERS]
    return f"{progress.progress:g}{total} {message}".rstrip()
