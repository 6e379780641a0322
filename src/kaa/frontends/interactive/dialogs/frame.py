"""The frame of a dialog: a border with a title, something to read that scrolls, and below it what takes the keys.

A question of the core's is read first, then answered, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kaa.builtin.amounts import counted
from kaa.frontends.interactive.dialogs.choices import DialogChoices
from kaa.tui.component import Component
from kaa.tui.components.select_list import SelectList
from kaa.tui.components.text import Text, truncated
from kaa.tui.context import Context
from kaa.tui.events import Input
from kaa.tui.key_notation import show_key
from kaa.tui.sanitize import one_line
from kaa.tui.style import BOLD, join, paint, paint_spans
from kaa.tui.width import cells, clip, fit, plain

Body = Callable[[int], list[str]]
_PAGES = ("tui.select.pageUp", "tui.select.pageDown")
# Rows of the screen that a dialog leaves to the transcript and to the footer; on a small screen to the footer only, and
# if all of it fits then, to the footer and the line above the dialog.
_ROWS_LEFT = 5
_LEAST_ROWS_LEFT = 3
_FOOTER_ROWS = 2
# Two borders, and what separates the body from the control, or says how much more of it there is.
_ROWS_AROUND = 3
_MIN_BODY_ROWS = 3
AnswerT = TypeVar("AnswerT")


class DialogFrame:
    """A dialog in the dock.

    Args:
        context: colours, keys and the size of the screen.
        body: gives the lines to read at a width; None if there is nothing to read.
        control: takes the keys; may be exchanged.
        hint: said in the lower border.
        token: the colour of the border.

    Attributes:
        takes_keys: False as long as it is only to be looked at.
        urge: why the body should be read to its end; shown as long as not all of it was on the screen with the control.
    """

    def __init__(
        self,
        context: Context,
        title: str,
        body: Body | None,
        control: Component,
        hint: str = "",
        token: str = "borderAccent",
    ) -> None:
        self.takes_keys = True
        self.urge = ""
        self._insistence = ""
        self._context = context
        self._title = one_line(title)
        self._body = body
        self._control = control
        self._hint = hint
        self._note = ""
        self._token = token
        self._scroll = 0
        self._shown = 0  # lines of the body
        self._hidden = 0
        self._seen = 0  # lines of the body that were on the screen, from the first one on
        self._is_tight = False
        self._body_for: tuple[int, int] | None = None
        self._body_lines: list[str] = []
        self._control_row = 0
        self._control_lines: list[str] = []
        self._painted_for: tuple[int, ...] = ()
        self._lines: list[str] = []

    @property
    def control(self) -> Component:
        return self._control

    @property
    def is_read(self) -> bool:
        """Whether every line of the body was on the screen."""
        return self._body is None or (self._body_for is not None and self._seen >= len(self._body_lines))

    @property
    def lines_seen(self) -> int:
        """The lines of the body that were on the screen, from the first one on."""
        return self._seen

    def insist(self, urge: str) -> None:
        """Say this instead of `urge` until the body is scrolled: somebody wanted to answer before it was read."""
        self._insistence, self._painted_for = urge, ()

    def exchange(self, control: Component, hint: str = "") -> None:
        """Let something else take the keys from now on."""
        self._control, self._hint, self._painted_for = control, hint, ()

    def note(self, text: str) -> None:
        """Say this in the lower border instead of the hint; nothing if it is empty."""
        if text != self._note:
            self._note, self._painted_for = text, ()

    def tell(self, body: Body) -> None:
        """Let something else be read from now on, from its beginning."""
        self._body, self._body_for, self._scroll, self._seen, self._painted_for = body, None, 0, 0, ()

    def render(self, width: int) -> list[str]:
        """The dialog, not higher than the screen leaves room for."""
        inner = _inner(width)
        body, control = self._read(inner), self._control.render(inner)
        self._divide(len(body), len(control))
        if self.takes_keys and self._scroll <= self._seen:  # before, the answers do not take their room yet
            self._seen = max(self._seen, self._scroll + self._shown)
        painted_for = (width, self._context.palette.version, self._scroll, self._shown, self._context.size.rows)
        if painted_for != self._painted_for or control is not self._control_lines:
            self._painted_for, self._control_lines = painted_for, control
            rows = self._above(body[self._scroll : self._scroll + self._shown], inner)
            self._control_row = 1 + len(rows)
            self._lines = self._framed([*rows, *control], width)
        return self._lines

    def written(self, width: int) -> list[str]:
        """The same without a frame and as long as it is, to be read line by line.

        Above the answers the title stands again if the first one has left the screen.
        """
        inner = _inner(width)  # as within the frame: what was laid out for it is not laid out again
        control = self._control
        asked = control.written(inner) if isinstance(control, DialogChoices | SelectList) else control.render(inner)
        body = self._read(inner)
        self._seen = len(body)
        title = paint(self._title, BOLD)
        return [title, *body, *([title] if len(body) + len(asked) + 2 > self._context.size.rows else []), *asked]

    def take(self, key: Input) -> bool:
        """Take a key that was pressed while this dialog is open. Returns False if it is for what is behind it."""
        if self.takes_keys:
            self.key(key)
        return self.takes_keys

    def key(self, key: Input) -> bool:
        """The control takes it first; what it leaves scrolls the body."""
        if self._hidden and (step := self._step(key)):
            self._scroll, self._insistence = max(0, self._scroll + step), ""
            return True
        return self._control.key(key)

    def cursor(self) -> tuple[int, int] | None:
        cursor = self._control.cursor()
        return None if cursor is None else (self._control_row + cursor[0], 2 + cursor[1])

    def _read(self, width: int) -> list[str]:
        body_for = (width, self._context.palette.version)
        if self._body is not None and body_for != self._body_for:
            was_read = self.is_read
            self._body_for, self._body_lines = body_for, self._body(width)
            if was_read:
                self._seen = len(self._body_lines)
            elif self._seen:  # in other lines nobody knows which of them were seen
                self._seen = self._scroll = 0
        return self._body_lines

    def _divide(self, body: int, control: int) -> None:
        """Say how many lines of the body are shown."""
        rows = self._context.size.rows - _ROWS_AROUND - control
        self._is_tight = rows - _ROWS_LEFT < min(body, _MIN_BODY_ROWS)
        self._shown = min(body, max(1, rows - (_FOOTER_ROWS if self._is_tight else _ROWS_LEFT)))
        # To say that one line is hidden would take its row.
        if body - self._shown == 1 or self._shown < body <= rows - _LEAST_ROWS_LEFT:
            self._shown = body
        self._hidden = body - self._shown
        self._scroll = min(self._scroll, self._hidden)

    def _step(self, key: Input) -> int:
        """How far a key scrolls the body that does not fit."""
        match self._context.keymap.first(key, *_PAGES):
            case "tui.select.pageUp":
                return -max(1, self._shown - 1)
            case "tui.select.pageDown":
                return max(1, self._shown - 1)
            case _:
                return 0

    def _above(self, body: list[str], width: int) -> list[str]:
        """What stands above the control: the lines of the body that are shown, and how many there are more."""
        rows = list(body)
        if self._hidden:
            keys = [keys[0] for action in _PAGES if (keys := self._context.keymap.keys(action))]
            above = counted(self._scroll, "line")
            more = f"{above} above, {self._hidden - self._scroll} below ({' / '.join(map(show_key, keys))})"
            urge = "" if self.is_read else self._insistence or self.urge
            token = "dim" if not urge else "error" if self._insistence else "warning"
            rows.append(paint(clip(f"{urge}{': ' if urge else ''}{more}", width), self._context.palette[token]))
        if rows and not self._is_tight:
            rows.append("")
        return rows

    def _framed(self, rows: list[str], width: int) -> list[str]:
        glyphs, palette = self._context.glyphs, self._context.palette
        border, inner = palette[self._token], _inner(width)
        side = paint(glyphs.vertical, border)
        title = truncated(self._title, max(0, width - 6), glyphs.ellipsis)
        top = paint_spans(
            [
                (glyphs.top_left + glyphs.horizontal, border),
                (f" {title} ", join(palette["accent"], BOLD)),
                (glyphs.horizontal * (width - 5 - cells(title)) + glyphs.top_right, border),
            ]
        )
        said = self._note or self._hint
        hint = clip(f" {_whole_parts(said, width - 6)} ", max(0, width - 4)) if said else ""
        bottom = paint_spans(
            [
                (glyphs.bottom_left + glyphs.horizontal, border),
                (hint, palette["dim"]),
                (glyphs.horizontal * (width - 3 - cells(hint)) + glyphs.bottom_right, border),
            ]
        )
        filled = [f"{side} {_filled(row, inner)} {side}" for row in rows]
        return [fit(line, width) for line in (top, *filled, bottom)]


def _inner(width: int) -> int:
    """How wide it is within the frame."""
    return max(1, width - 4)


def _whole_parts(hint: str, width: int) -> str:
    """As many of its parts as have room: half a key is no hint."""
    parts = hint.split(", ")
    while len(parts) > 1 and cells(", ".join(parts)) > width:
        parts.pop()
    return ", ".join(parts)


def _filled(line: str, width: int) -> str:
    line = fit(line, width)
    return line + " " * (width - cells(plain(line)))


class Keys(Protocol):
    """Decides which keys are for a question."""

    @property
    def hint(self) -> str:
        """What to say about the keys now; empty if nothing."""

    def take(self, key: Input) -> bool:
        """Hand a key over to the question, or return False."""


class QuestionDialog(DialogFrame, ABC, Generic[AnswerT]):
    """Asks once; the answer is given once. What takes the answer is there from `offer` on.

    Args:
        context: colours, keys and the size of the screen.
        body: gives the lines to read at a width.
        token: the colour of the border.

    Attributes:
        keys: decides which keys are for the question; None if all are.
    """

    def __init__(
        self, context: Context, title: str, body: Body, on_answer: Callable[[AnswerT], None], token: str = "warning"
    ) -> None:
        super().__init__(context, title, body, Text(context), token=token)
        self._on_answer: Callable[[AnswerT], None] | None = on_answer
        self.takes_keys = False
        self.keys: Keys | None = None

    def offer(self) -> None:
        self.takes_keys = True
        self.exchange(self._answering(), self._keys)

    def take(self, key: Input) -> bool:
        """Take a key if it is for the question."""
        if self.takes_keys and self.keys is not None:
            return self.keys.take(key)
        return super().take(key)

    def render(self, width: int) -> list[str]:
        """The dialog, with what is to be known about the keys."""
        self.note(self.keys.hint if self.takes_keys and self.keys is not None else "")
        return super().render(width)

    _keys = ""  # what the keys do, where the control does not show it

    @abstractmethod
    def _answering(self) -> Component:
        """What takes the answer."""

    def _answer(self, answer: AnswerT) -> None:
        give, self._on_answer = self._on_answer, None
        if give is not None:
            give(answer)
