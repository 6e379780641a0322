"""Foreign text that comes in pieces, sanitized as if it had come at once. *Stage 1*."""

from kaa.tui.invisible import replace_invisible
from kaa.tui.sanitize import sanitize

# Of longer runs of invisible characters nothing is kept, however they go on.
_LONGEST_RUN = 16
_NO_BASE = "a"


class ForeignText:
    """Sanitizes pieces of one text; where they are cut makes no difference."""

    def __init__(self) -> None:
        # What cannot be judged before the next character is known.
        self._held = ""
        # The last visible character, which decides about invisible ones behind it.
        self._before = ""

    def add(self, piece: str) -> str:
        """More of the text, as far as it can be judged."""
        text = self._held + piece
        end = len(text)
        while end and len(text) - end < _LONGEST_RUN and _depends_on_next(text[end - 1]):
            end -= 1
        if len(text) - end == _LONGEST_RUN:
            self._held = ""
            clean = self._sanitized(text)
            self._before = _NO_BASE
            return clean
        self._held = text[end:]
        return self._sanitized(text[:end])

    def finish(self) -> str:
        """The rest of the text."""
        rest, self._held = self._held, ""
        return self._sanitized(rest)

    def _sanitized(self, text: str) -> str:
        if not text:
            return ""
        before, self._before = self._before, text[-1]
        if text.isascii():
            return sanitize(text)
        return sanitize(before + text)[len(sanitize(before)) :]


def _depends_on_next(character: str) -> bool:
    """Whether it is a carriage return, or one of the invisible characters, which are judged in runs."""
    if character.isascii():
        return character == "\r"
    return not replace_invisible("a" + character, lambda _: "").removeprefix("a")
