"""Large pastes: in the buffer each is one character, so that it moves, goes and comes back as one.

The characters are halves of surrogate pairs, which no text that came through the sanitizer can hold.
"""

import re
from collections.abc import Sequence

_MAX_LINES = 10
_MAX_CHARACTERS = 1000

_FIRST = 0xD800
_COUNT = 0x800
_CHARACTER = re.compile("[\ud800-\udfff]")


class Pastes:
    """The pastes that a buffer, its undo log and its kill ring have characters for."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def stand_in(self, text: str) -> str:
        """What goes into the buffer for `text` (sanitized): itself, or a character if it is large."""
        lines = text.count("\n") + 1
        if (lines <= _MAX_LINES and len(text) <= _MAX_CHARACTERS) or len(self._texts) == _COUNT:
            return text
        self._texts.append(text)
        return chr(_FIRST + len(self._texts) - 1)

    @property
    def texts(self) -> Sequence[str]:
        """All large pastes, in their order."""
        return self._texts

    def text(self, character: str) -> str | None:
        """The paste that `character` stands for; None if it stands for itself."""
        number = ord(character) - _FIRST
        return self._texts[number] if 0 <= number < len(self._texts) else None

    def label(self, character: str) -> str | None:
        """What is shown for the paste that `character` stands for."""
        text = self.text(character)
        if text is None:
            return None
        lines = text.count("\n") + 1
        size = f"+{lines} lines" if lines > _MAX_LINES else f"{len(text)} chars"
        return f"[paste #{ord(character) - _FIRST + 1} {size}]"

    def expand(self, text: str) -> str:
        """The text with all pastes in it."""
        return _CHARACTER.sub(lambda match: self.text(match[0]) or "", text) if self._texts else text
