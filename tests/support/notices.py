"""A frontend that keeps what extensions tell the user."""

from collections.abc import Collection

from kaa.ext.display import DisplayKind, DisplayUpdate, plain_text_of


class Notices:
    """Shows notices only.

    Attributes:
        texts: those that were shown.
    """

    shows: Collection[DisplayKind] = frozenset({"notice"})

    def __init__(self) -> None:
        self.texts: list[str] = []

    def show(self, update: DisplayUpdate) -> None:
        """Keep a notice."""
        self.texts.append(plain_text_of(update.change))

    def __contains__(self, text: str) -> bool:
        """Whether a notice has this text."""
        return any(text in one for one in self.texts)
