"""What a running tool has printed: its end, kept as it grows."""

from collections import deque

from kaa.core.terminal_text import plain_text
from kaa.frontends.interactive.transcript.excerpt import Excerpt, tail

_KEPT_CHARACTERS = 16 * 1024


class LiveOutput:
    """Takes output piece by piece; remembers the end of it, and how much came before.

    Attributes:
        skipped_bytes: output that nobody has seen, because it came too fast.
    """

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._kept = 0
        self._line_feeds_before = 0
        self.skipped_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def append(self, text: str, skipped_bytes: int = 0) -> None:
        """More output. It may hold whatever programs send to terminals."""
        self.skipped_bytes += skipped_bytes
        if not text:
            return
        self._pieces.append(text)
        self._kept += len(text)
        while self._kept - len(self._pieces[0]) >= _KEPT_CHARACTERS:
            dropped = self._pieces.popleft()
            self._kept -= len(dropped)
            self._line_feeds_before += dropped.count("\n")

    def end(self, lines: int) -> Excerpt:
        """The last lines as a reader sees them: without colours, and progress bars in their last state."""
        kept = "".join(self._pieces)
        excess = max(len(kept) - _KEPT_CHARACTERS, 0)  # a single piece can be long
        before = self._line_feeds_before + kept.count("\n", 0, excess)
        shown = tail(plain_text(kept[excess:]), lines)
        return Excerpt(shown.lines, shown.hidden + before)
