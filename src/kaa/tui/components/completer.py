"""Completes what is typed in an editor: opens the menu, takes its keys, and puts the chosen one into the text."""

from collections.abc import Callable, Sequence

from kaa.tui.completion import Completion, CompletionSession
from kaa.tui.context import Context
from kaa.tui.editing.buffer import Buffer
from kaa.tui.events import Input
from kaa.tui.sanitize import one_line, sanitize
from kaa.tui.style import Span, paint_spans
from kaa.tui.width import cells, clip, fit


class Completer:
    """The menu of an editor.

    Args:
        context: palette, keymap and glyphs.
        buffer: what is completed.
        submit: submits the buffer.

    Attributes:
        session: asks the sources.
        menu: shows what they offer.
    """

    def __init__(self, context: Context, buffer: Buffer, submit: Callable[[], object]) -> None:
        self.session = CompletionSession(self._offer_changed)
        self.menu = CompletionMenu(context)
        self._keymap = context.keymap
        self._buffer = buffer
        self._submit = submit
        self._takes_single = False  # what is offered is taken at once if there is nothing else

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose from."""
        return self.session.offer is not None

    def key(self, key: Input) -> bool:
        """Take a key if the menu is open."""
        self._takes_single = False
        if not self.is_open:
            return False
        page = self.menu.max_visible
        moves = {"tui.select.up": -1, "tui.select.down": 1, "tui.select.pageUp": -page, "tui.select.pageDown": page}
        if move := self._keymap.first(key, *moves):
            self.menu.move(moves[move])
        elif self._keymap.matches(key, "tui.input.tab"):
            self._take()
        elif self._keymap.first(key, "tui.input.submit", "tui.select.confirm"):
            self._take_and_submit()
        elif self._keymap.matches(key, "tui.select.cancel"):
            self.session.close()
        else:
            return False
        return True

    def request(self) -> None:
        """Offer what there is, or take it if there is only one thing."""
        self._takes_single = True
        self.session.refresh(self._buffer.text, self._buffer.caret, requested=True)

    def follow(self) -> None:
        """Something was typed: offer what fits now."""
        self.session.refresh(self._buffer.text, self._buffer.caret)

    def close(self) -> None:
        """Offer nothing until something else is typed."""
        self.session.close()

    def forget(self) -> None:
        """Offer nothing: there is nothing to complete any more."""
        self.session.forget()

    def _offer_changed(self) -> None:
        offer = self.session.offer
        self.menu.show(offer.items if offer else ())
        if self._takes_single and offer and len(offer.items) == 1:
            self._takes_single = False
            self._take()
            self.follow()  # the offer may have come later than the key, after which nobody else asks anew

    def _take_and_submit(self) -> None:
        chosen, before = self.menu.chosen, self._buffer.text
        self._take()
        if (chosen and chosen.submits) or self._buffer.text == before:
            self._submit()

    def _take(self) -> None:
        offer, chosen = self.session.offer, self.menu.chosen
        if not offer or not chosen:
            return
        text, insert = self._buffer.text, sanitize(chosen.insert)  # names of files, for one, come from anywhere
        # A space that is there already is not doubled.
        is_spaced = insert.endswith(" ") and text[offer.end : offer.end + 1] == " "
        end = offer.end + is_spaced
        if text[offer.start : end] == insert:
            self._buffer.move(end)
        else:
            self._buffer.replace(offer.start, end, insert)
        if not chosen.is_partial:
            self.session.close()


_MAX_LABEL = 32
# A description with less room than this says nothing.
_MIN_DESCRIPTION = 8
_GAP = 2


class CompletionMenu:
    """Rows to choose from.

    Args:
        context: palette and glyphs.
        max_visible: how many rows it has at most, besides the one that tells the position.
    """

    def __init__(self, context: Context, max_visible: int = 5) -> None:
        self.max_visible = max_visible
        self._context = context
        self._items: Sequence[Completion] = ()
        self._chosen = 0
        self._top = 0

    def show(self, items: Sequence[Completion]) -> None:
        """Let these be chosen from; the first one is the chosen one."""
        if items is not self._items:
            self._items = items
            self._chosen = self._top = 0

    @property
    def chosen(self) -> Completion | None:
        """The marked one; None if there is nothing to choose from."""
        return self._items[self._chosen] if self._items else None

    def move(self, by: int) -> None:
        """Choose another one; behind the last one comes the first."""
        if abs(by) == 1:
            self._chosen = (self._chosen + by) % len(self._items)
        else:
            self._chosen = max(0, min(self._chosen + by, len(self._items) - 1))

    def render(self, width: int) -> list[str]:
        """The rows; none if there is nothing to choose from."""
        visible = min(max(1, self.max_visible), len(self._items))
        self._top = max(0, min(self._top, self._chosen), self._chosen - visible + 1)
        shown = self._items[self._top : self._top + visible]
        label_width = min(_MAX_LABEL, max((cells(one_line(item.label)) for item in shown), default=0))
        lines = [
            fit(paint_spans(self._row(item, index == self._chosen, label_width, width)), width)
            for index, item in enumerate(shown, self._top)
        ]
        if len(self._items) > visible:
            muted = self._context.palette["dim"]
            lines.append(fit(paint_spans([(f"  ({self._chosen + 1}/{len(self._items)})", muted)]), width))
        return lines

    def _row(self, item: Completion, is_chosen: bool, label_width: int, width: int) -> list[Span]:
        palette, glyphs = self._context.palette, self._context.glyphs
        pointer = glyphs.pointer if is_chosen else " " * cells(glyphs.pointer)
        style = palette["accent"] if is_chosen else palette["text"]
        label = one_line(item.label)
        if cells(label) > label_width:
            label = clip(label, label_width - cells(glyphs.ellipsis)) + glyphs.ellipsis
        row: list[Span] = [(f"{pointer} {label}", style)]
        room = width - cells(pointer) - 1 - label_width - _GAP
        if item.description and room >= _MIN_DESCRIPTION:
            row.append(
                (" " * (label_width - cells(label) + _GAP) + clip(one_line(item.description), room), palette["muted"])
            )
        return row
