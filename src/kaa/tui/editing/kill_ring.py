"""What was cut off last, to be put back: kills that follow each other grow together."""

from collections import deque

_CAPACITY = 60  # as in Emacs (`kill-ring-max` before it was doubled)


class KillRing:
    """Killed texts, the newest first."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque(maxlen=_CAPACITY)

    def kill(self, text: str, *, joins: bool, before: bool = False) -> None:
        """Keep `text`.

        Args:
            text: what was cut off; nothing happens if it is empty.
            joins: it belongs to the kill before.
            before: it stood before that one.
        """
        if not text:
            return
        if joins and self._texts:
            self._texts[0] = text + self._texts[0] if before else self._texts[0] + text
        else:
            self._texts.appendleft(text)

    def newest(self) -> str:
        """The text to be put back; empty if there is none."""
        return self._texts[0] if self._texts else ""

    def rotate(self) -> str:
        """Let the one before be the newest, the newest the oldest."""
        self._texts.rotate(-1)
        return self.newest()
