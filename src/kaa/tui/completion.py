"""Completing what is typed: what a source offers, and the session that asks sources while somebody types."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class Completion(NamedTuple):
    """One way to go on.

    Attributes:
        insert: what takes the place of what was typed.
        label: what the menu calls it.
        description: what the menu says of it.
        is_partial: there is more to complete after it, such as what is in a directory.
        submits: the key that submits accepts it and submits at once.
    """

    insert: str
    label: str
    description: str = ""
    is_partial: bool = False
    submits: bool = False


class Completions:
    """What a source offers for a piece of the text. It may be filled later, on the thread of the interface.

    Args:
        start: offset of what the items replace.
        end: offset behind it.
        items: the best one first.

    Attributes:
        on_change: called when it was filled.
    """

    def __init__(self, start: int, end: int, items: Sequence[Completion] = ()) -> None:
        self.start = start
        self.end = end
        self.items = items
        self.on_change: Callable[[Completions], None] | None = None

    def fill(self, items: Sequence[Completion]) -> None:
        """Offer these items."""
        self.items = items
        if self.on_change:
            self.on_change(self)


class CompletionSource(Protocol):
    """Knows how something can be completed. Answers at once: it has what it needs, or fills its answer later."""

    def complete(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        """What can be at the caret.

        Args:
            text: what is in the editor; large pastes are one character each.
            caret: an offset into it.
            requested: somebody pressed the key that completes; otherwise they are just typing.

        Returns:
            None if it has nothing to do with what is at the caret; otherwise other sources are not asked.
        """


class CompletionSession:
    """Asks sources while somebody types, and remembers what they do not want to be offered.

    Args:
        on_change: called when there is something else to show.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.sources: list[CompletionSource] = []
        self._on_change = on_change
        self._offer: Completions | None = None
        self._requested = False
        self._unwanted: int | None = None  # where the offer that was turned down or taken began

    @property
    def offer(self) -> Completions | None:
        """What can be chosen from; None if there is nothing."""
        return self._offer if self._offer and self._offer.items else None

    def refresh(self, text: str, caret: int, *, requested: bool = False) -> None:
        """Ask the sources anew. What was requested once stays so as long as the same piece of the text is completed."""
        previous = self._offer.start if self._offer and self._requested else None
        offer = self._ask(text, caret, requested=requested or previous is not None)
        if offer and not requested and previous not in (None, offer.start):
            offer, previous = self._ask(text, caret, requested=False), None
        self._requested = requested or previous is not None
        if offer is None or requested or offer.start != self._unwanted:
            self._unwanted = None
            self._show(offer)
        else:
            self._show(None)

    def _ask(self, text: str, caret: int, *, requested: bool) -> Completions | None:
        for source in self.sources:
            try:
                answer = source.complete(text, caret, requested=requested)
            except Exception:  # isolation boundary: the user can type on without completion
                import logging  # lazy: not before the first frame

                logging.getLogger("kaa").exception("completion failed")
                continue
            if answer is not None:
                return answer
        return None

    def close(self) -> None:
        """Show nothing, and offer nothing of this kind until something else is typed."""
        self._unwanted = self._offer.start if self._offer else None
        self._show(None)

    def forget(self) -> None:
        """Show nothing; whatever is typed next is a new beginning."""
        self._unwanted = None
        self._show(None)

    def _show(self, offer: Completions | None) -> None:
        if self._offer:
            self._offer.on_change = None
        self._offer = offer
        if offer:
            offer.on_change = self._filled
        self._on_change()

    def _filled(self, _offer: Completions) -> None:
        self._on_change()
