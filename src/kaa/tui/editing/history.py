"""What was entered before: a list that the whole program shares, and walking through it from an editor."""

from collections.abc import Iterable

_CAPACITY = 1000


class InputHistory:
    """Entered texts, the newest last; none twice in a row.

    Args:
        entries: those of earlier sessions.

    Attributes:
        entries: the texts.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries: list[str] = list(entries)[-_CAPACITY:]

    def add(self, text: str) -> None:
        """Remember a text, unless it is blank or the newest already."""
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        self.entries.append(text)
        del self.entries[:-_CAPACITY]

    def prepend(self, entries: Iterable[str]) -> None:
        """Add what was entered before all that is here, oldest first: it was read later than it was needed."""
        self.entries[:0] = list(entries)[-(_CAPACITY - len(self.entries)) :] if len(self.entries) < _CAPACITY else []

    def search(self, query: str) -> list[str]:
        """The texts with `query` in them, whatever the case; the newest first, none twice."""
        wanted = query.lower()
        return [text for text in dict.fromkeys(reversed(self.entries)) if wanted in text.lower()]


class HistoryWalk:
    """A walk back from the draft. Steps are counted from the newest, so that older entries may still arrive."""

    def __init__(self, history: InputHistory) -> None:
        self._history = history
        self._draft = ""
        self._steps = 0

    def back(self, shown: str) -> str | None:
        """The entry before the one that is `shown`; None if there is none."""
        if self._steps == len(self._history.entries):
            return None
        if not self._steps:
            self._draft = shown
        self._steps += 1
        return self._history.entries[-self._steps]

    def forward(self) -> str | None:
        """The entry after the one shown, at last the draft; None if that is shown already."""
        if not self._steps:
            return None
        self._steps -= 1
        return self._history.entries[-self._steps] if self._steps else self._draft

    def end(self) -> None:
        """What is shown now is the draft."""
        self._steps = 0
