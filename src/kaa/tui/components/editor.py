"""The editor: text of many lines between two rules, and below it the menu of what can be completed."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from kaa.tui.component import Component
from kaa.tui.components.completer import Completer
from kaa.tui.context import Context
from kaa.tui.editing.buffer import Buffer
from kaa.tui.editing.commands import EditingCommands
from kaa.tui.editing.history import InputHistory
from kaa.tui.editing.layout import TextLayout, TextRow
from kaa.tui.editing.pastes import Pastes
from kaa.tui.editing.recall import Recall
from kaa.tui.editing.vertical import VerticalMovement
from kaa.tui.events import Input, Paste
from kaa.tui.sanitize import sanitize
from kaa.tui.style import INVERSE, Span, Style, join, paint, paint_spans
from kaa.tui.width import cells, clip, fit

_LEAST_ROWS = 5
_MAX_PADDING = 3


class KeyMode(Protocol):
    """Takes keys before the editor does, as the modes of vi do."""

    def key(self, key: Input) -> bool:
        """Take a key. False: the editor shall have it."""


class Editor:
    """Text of many lines.

    Args:
        context: palette, keymap, glyphs and the terminal's size.
        history: what was entered before.

    Attributes:
        buffer: what is edited. Large pastes are one character each in it; `text` has them in full.
        commands: what keys do to the buffer; `commands.on_copy` takes what is copied.
        completer: what can be completed: `completer.session.sources`, `completer.menu.max_visible`.
        history: what was entered before.
        mode: takes keys first; None if there are no modes.
        on_submit: called with the text when it is submitted; `take` then empties the editor.
        on_change: called after each change of the text.
        on_first_paste: called with what was pasted at the beginning of the text; returns what to put there.
        border_token: colour of the rules.
        title: stands in the rule above.
        hint: stands in the rule below.
        placeholder: shown as long as there is no text.
        padding: cells left free on both sides, 0 to 3.
        max_rows: how many rows of text are shown at most; None: a third of the terminal's, but five.
    """

    def __init__(self, context: Context, history: InputHistory | None = None) -> None:
        self.buffer = Buffer()
        self.history = history or InputHistory()
        self.mode: KeyMode | None = None
        self.on_submit: Callable[[str], None] | None = None
        self.on_change: Callable[[], None] | None = None
        self.on_first_paste: Callable[[str], str] | None = None
        self.border_token = "border"
        self.title = ""
        self.hint = ""
        self.placeholder = ""
        self.padding = 0
        self.max_rows: int | None = None
        self._context = context
        self._pastes = Pastes()
        self.commands = EditingCommands(self.buffer, context.keymap, self._pastes.expand)
        self.completer = Completer(context, self.buffer, self._submit)
        self._layout = TextLayout(self._pastes.label, context.size.columns)
        self._area = _TextArea(context, self.buffer, self._layout)
        self._vertical = VerticalMovement(self.buffer, self._layout)
        self._recall = Recall(self.buffer, self.history, self._layout)
        self._prompt: Component | None = None
        self._cursor = (0, 0)
        self._state: object = None
        self._lines: list[str] = []
        move, move_or_to_edge = self._vertical.by, self._vertical.by_or_to_edge
        self._actions: dict[str, Callable[[], object]] = {
            "tui.input.newLine": lambda: self.buffer.insert("\n"),
            "tui.input.submit": self._submit,
            "tui.input.tab": self.completer.request,
            "tui.editor.cursorUp": lambda: move(-1) or self._recall.earlier() or move_or_to_edge(-1),
            "tui.editor.cursorDown": lambda: move(1) or self._recall.later() or move_or_to_edge(1),
            "tui.editor.pageUp": lambda: move_or_to_edge(-self._page),
            "tui.editor.pageDown": lambda: move_or_to_edge(self._page),
            "tui.editor.selectUp": lambda: move_or_to_edge(-1, selecting=True),
            "tui.editor.selectDown": lambda: move_or_to_edge(1, selecting=True),
            "tui.editor.historyPrevious": self._recall.earlier,
            "tui.editor.historyNext": self._recall.later,
            "tui.editor.historySearch": self._search_history,
            "tui.editor.expandPaste": self._expand_paste,
        }

    @property
    def text(self) -> str:
        """The text, with all that was pasted."""
        return self._pastes.expand(self.buffer.text)

    @property
    def pasted(self) -> Sequence[str]:
        """The large texts that were pasted since the start."""
        return self._pastes.texts

    @property
    def is_empty(self) -> bool:
        """Whether there is no text at all."""
        return not self.buffer.text

    def set_text(self, text: str) -> None:
        """Replace the text; the caret goes to its end. It can be undone."""
        self._recall.show(sanitize(text))
        self._changed()

    def insert(self, text: str) -> None:
        """Put text where the caret is, in place of the selection."""
        self.buffer.insert(sanitize(text))
        self._changed()

    def take(self) -> str:
        """The text, which goes into the history; the editor is empty then."""
        text = self.text
        self.history.add(text)
        self.buffer.reset()
        self._changed()
        return text

    def open_prompt(self, prompt: Component) -> None:
        """Let a component take the place of the rule below, and have the keys."""
        self._prompt = prompt

    def close_prompt(self) -> None:
        """End what `open_prompt` began."""
        self._prompt = None

    def key(self, key: Input) -> bool:
        """Edit, move, complete, submit; False if the key means nothing here."""
        changes, caret = self.buffer.changes, self.buffer.caret
        is_handled = self._handle(key)
        if self.buffer.changes != changes:
            self._changed()
        elif self.buffer.caret != caret and self.completer.is_open:
            self.completer.follow()
        return is_handled

    def _handle(self, key: Input) -> bool:
        if not isinstance(key, Paste) and key.action == "release":
            return False
        if prompt := self._prompt:
            if prompt.key(key):
                return True
            if self._prompt is prompt:  # it did not end with this key
                return False
        if self.commands.waits_for_character and self._jump(key):
            return True
        if self.completer.key(key) or (self.mode and self.mode.key(key)):
            return True
        if isinstance(key, Paste):
            pasted = sanitize(key.text)
            if self.on_first_paste and not min(self.buffer.selection or (self.buffer.caret,)):
                pasted = self.on_first_paste(pasted)
            self.buffer.insert(self._pastes.stand_in(pasted))
            return True
        if action := self._context.keymap.first(key, *self._actions):
            self._actions[action]()
            return True
        if self.commands.key(key):
            return True
        if key.text:
            self.buffer.insert(sanitize(key.text), typed=True)
        return bool(key.text)

    def _jump(self, key: Input) -> bool:
        return self.commands.key(key) or self._context.keymap.matches(key, "tui.select.cancel")

    def _changed(self) -> None:
        if self._recall.is_shown:
            self.completer.close()
        elif self.is_empty:
            self.completer.forget()
        else:
            self.completer.follow()
        if self.on_change:
            self.on_change()

    def _submit(self) -> None:
        caret = self.buffer.caret
        if self.buffer.text[:caret].endswith("\\"):
            # How to start a new line in terminals that have no key for it.
            self.buffer.replace(caret - 1, caret, "\n")
        elif self.on_submit:
            self.on_submit(self.text)

    def _expand_paste(self) -> None:
        for at in (self.buffer.caret, self.buffer.caret - 1):
            if 0 <= at < len(self.buffer.text) and (pasted := self._pastes.text(self.buffer.text[at])):
                self.buffer.replace(at, at + 1, pasted)
                return

    def _search_history(self) -> None:
        # Lazily: the first frame has no use for it.
        from kaa.tui.components.history_search import HistorySearch

        draft, caret = self.buffer.text, self.buffer.caret

        def end(taken: bool) -> None:
            self.close_prompt()
            if not taken:
                self._recall.show(draft)
                self.buffer.move(caret)

        def show(found: str | None) -> None:
            self._recall.show(draft if found is None else found)

        self.completer.close()
        self.open_prompt(HistorySearch(self._context, self.history, show, end))

    def render(self, width: int) -> list[str]:
        """The rules with the text between them, and the menu."""
        padding = max(0, min(self.padding, _MAX_PADDING, (width - 1) // 2))
        prompt = self._prompt.render(width) if self._prompt else None
        menu = self.completer.menu.render(width)
        state = (
            *(width, padding, self._rows_at_most(), self.buffer.revision, self._context.palette.version),
            *(self.border_token, self.title, self.hint, self.placeholder, prompt, menu),
        )
        if state != self._state:
            self._state = state
            self._lines = self._painted(width, padding, prompt, menu)
        if self._prompt and (at := self._prompt.cursor()):
            self._cursor = len(self._lines) - len(menu) - len(prompt or ()) + at[0], at[1]
        else:
            self._cursor = 1 + self._area.caret[0], padding + self._area.caret[1]
        return self._lines

    def cursor(self) -> tuple[int, int]:
        """Where the caret is, in the text or in the rule below."""
        return self._cursor

    @property
    def _page(self) -> int:
        return max(1, self._rows_at_most() - 1)

    def _rows_at_most(self) -> int:
        return self.max_rows or max(_LEAST_ROWS, self._context.size.rows // 3)

    def _painted(self, width: int, padding: int, prompt: list[str] | None, menu: list[str]) -> list[str]:
        rows = self._area.render(max(1, width - 2 * padding), self._rows_at_most())
        if self.is_empty and self.placeholder:
            rows = [paint(clip(self.placeholder, max(0, width - 2 * padding)), self._context.palette["dim"])]
        above = self._rule(width, self.title, f"{self._area.above} more above" if self._area.above else "")
        below = self._rule(width, self.hint, f"{self._area.below} more below" if self._area.below else "")
        return [above, *(" " * padding + row for row in rows), *(prompt or [below]), *menu]

    def _rule(self, width: int, *labels: str) -> str:
        horizontal = self._context.glyphs.horizontal
        text = "".join(f"{horizontal * 2} {label} " for label in labels if label)
        return paint(
            fit(clip(text, width), width) + horizontal * (width - cells(text)), self._context.palette[self.border_token]
        )


_MAYBE_LABELLED = re.compile("[\ud800-\udfff]")


class _TextArea:
    """Rows of a buffer.

    Args:
        context: the palette.
        buffer: what is shown.
        layout: where it is.

    Attributes:
        above: how many rows there are above those rendered last.
        below: how many there are below.
        caret: row and column of the caret within those rendered last.
    """

    def __init__(self, context: Context, buffer: Buffer, layout: TextLayout) -> None:
        self.above = 0
        self.below = 0
        self.caret = (0, 0)
        self._context = context
        self._buffer = buffer
        self._layout = layout

    def render(self, width: int, max_rows: int) -> list[str]:
        """The rows around the caret."""
        self._layout.update(self._buffer.text, width)
        row, column = self._layout.locate(self._buffer.caret)
        shown = min(max(1, max_rows), self._layout.row_count)
        # No further than the caret asks for, and no empty rows behind the last one.
        top = max(row - shown + 1, min(self.above, row, self._layout.row_count - shown))
        self.above, self.below = top, self._layout.row_count - top - shown
        self.caret = row - top, min(column, width - 1)
        return [fit(paint_spans(self._spans(self._layout.row(number))), width) for number in range(top, top + shown)]

    def _spans(self, row: TextRow) -> Iterator[Span]:
        selection = self._buffer.selection or (0, 0)
        label, selected = self._context.palette["accent"], self._context.palette["selectedBg"] or INVERSE
        for start, end, is_label in self._pieces(row, selection):
            is_selected = selection[0] <= start < selection[1]
            style: Style = join(label if is_label else "", selected if is_selected else "")
            yield self._layout.shown(start, end), style
        if row.ends_line and selection[0] <= row.end < selection[1]:
            yield " ", selected  # the line feed

    def _pieces(self, row: TextRow, selection: tuple[int, int]) -> Iterator[tuple[int, int, bool]]:
        """What has one style: start, end, and whether it is the label of something."""
        text = self._buffer.text
        labels = {
            found.start()
            for found in _MAYBE_LABELLED.finditer(text, row.start, row.end)
            if self._layout.is_label(found.start())
        }
        cuts = {row.start, row.end, *labels, *(at + 1 for at in labels)}
        cuts.update(at for at in selection if row.start < at < row.end)
        edges = sorted(cuts)
        for start, end in pairwise(edges):
            yield start, end, start in labels
