"""The answers to a question: chosen with the arrows or a number, and Enter, or at once with a letter."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kaa.tui.components.display import Display
from kaa.tui.context import Context
from kaa.tui.events import Input, Key
from kaa.tui.sanitize import one_line
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, clip

# Below this height of the screen there is no room for a line for each answer, and for what they are about.
_ROWS_FOR_ALL = 12


class DialogChoice(NamedTuple):
    """An answer.

    Attributes:
        letter: the key that gives it at once.
        take: called when it is chosen.
    """

    letter: str
    label: str
    take: Callable[[], None]


class DialogChoices(Display):
    """A short list of answers.

    Args:
        proposed: the letter of the one that Enter gives if nothing else is done; the first if it is empty.
        on_stop: called for the key that stops a run everywhere else; None has that key cancel.
    """

    def __init__(
        self,
        context: Context,
        choices: Sequence[DialogChoice],
        on_cancel: Callable[[], None],
        proposed: str = "",
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(context)
        self._choices = tuple(choices)
        self._on_cancel = on_cancel
        self._on_stop = on_stop or on_cancel
        self._selected = next((index for index, choice in enumerate(choices) if choice.letter == proposed), 0)
        self._is_short = False

    def render(self, width: int) -> list[str]:
        """A line for each answer; on a small screen only one, with the letters of the others."""
        is_short = self._context.size.rows < _ROWS_FOR_ALL
        if is_short != self._is_short:
            self._is_short = is_short
            self.changed()
        return super().render(width)

    def key(self, key: Input) -> bool:
        match self._context.keymap.first(
            key, "app.clear", "tui.select.up", "tui.select.down", "tui.select.confirm", "tui.select.cancel"
        ):
            case "app.clear":
                self._on_stop()
            case "tui.select.up":
                self._select(self._selected - 1)
            case "tui.select.down":
                self._select(self._selected + 1)
            case "tui.select.confirm":
                self._choices[self._selected].take()
            case "tui.select.cancel":
                self._on_cancel()
            case _:
                return self._take_by_letter(key) or self._select_by_number(key)
        return True

    def has(self, key: Key) -> bool:
        """Whether a key is the letter or the number of an answer."""
        return self._by_letter(key) is not None or self.numbered(key) is not None

    def numbered(self, key: Input) -> int | None:
        """The index of the answer whose number a key is: 1 is the first. It is selected, and Enter takes it."""
        pressed = key.text if isinstance(key, Key) and key.action != "release" else ""
        index = "123456789".find(pressed) if len(pressed) == 1 else -1
        return index if 0 <= index < len(self._choices) else None

    def take(self, words: str) -> bool:
        """Give the answer that a line of text names: by its letter, or by the word it begins with.

        Returns:
            Whether there is one. Nothing is chosen otherwise.
        """
        word = words.strip().lower()
        named = [choice for choice in self._choices if word == choice.letter]
        named += [choice for choice in self._choices if word and word == choice.label.partition(",")[0].lower()]
        if named:
            named[0].take()
        return bool(named)

    def written(self, width: int) -> list[str]:
        """A line for each answer, whatever the height of the screen."""
        return [self._line(index, width) for index in range(len(self._choices))]

    def cursor(self) -> tuple[int, int]:
        """At the selected answer, where screen readers and magnifiers look."""
        return 0 if self._is_short else self._selected, 0

    def _take_by_letter(self, key: Input) -> bool:
        chosen = self._by_letter(key)
        if chosen is not None:
            chosen.take()
        return chosen is not None

    def _select_by_number(self, key: Input) -> bool:
        if (index := self.numbered(key)) is not None:
            self._select(index)
        return index is not None

    def _by_letter(self, key: Input) -> DialogChoice | None:
        pressed = key.text.lower() if isinstance(key, Key) and key.action != "release" else ""
        return next((choice for choice in self._choices if pressed and choice.letter == pressed), None)

    def _select(self, index: int) -> None:
        self._selected = index % len(self._choices)
        self.changed()

    def _paint(self, width: int) -> list[str]:
        if self._is_short:
            others = " ".join(choice.letter for index, choice in enumerate(self._choices) if index != self._selected)
            return [self._line(self._selected, width, f"  {others}")]
        return self.written(width)

    def _line(self, index: int, width: int, others: str = "") -> str:
        glyphs, palette, choice = self._context.glyphs, self._context.palette, self._choices[index]
        selected = index == self._selected
        letter = f" ({choice.letter}){others}"
        label = clip(one_line(choice.label), max(0, width - cells(glyphs.pointer) - 1 - cells(letter)))
        spans: list[Span] = [
            (f"{glyphs.pointer if selected else ' ' * cells(glyphs.pointer)} ", palette["accent"]),
            (label, palette["accent"] if selected else palette["text"]),
            (letter, palette["dim"]),
        ]
        return paint_spans(spans)
