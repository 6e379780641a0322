"""Completes what is typed in an editor: opens the menu, takes its keys, and puts the chosen one into the text."""

from collections.abc import Callable

from kaa.tui.completion import CompletionSession
from kaa.tui.components.completion_menu import CompletionMenu
from kaa.tui.context import Context
from kaa.tui.editing.buffer import Buffer
from kaa.tui.events import Input
from kaa.tui.sanitize import sanitize


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
