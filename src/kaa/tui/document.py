"""What presenters show: blocks that flow upwards and, below them, the dock.

A line that has left the screen never changes. Blocks change as long as they are wholly on the screen; when their first
lines leave it, they are told (`freeze`) and go on in a way that keeps those.
"""

from typing import Protocol

from kaa.tui.component import Component


class Block(Protocol):
    """A piece of the document, such as a message."""

    def render(self, width: int) -> list[str]:
        """The lines at this width, as `Component.render` gives them; cheap if nothing changed."""
        ...

    def freeze(self, lines: int) -> None:
        """The first `lines` lines, as rendered last, have left the screen: render them the same from now on.

        0 lifts this: the document is about to be painted anew, perhaps at another width.
        """
        ...

    @property
    def settled(self) -> int:
        """How many of the lines rendered last will not change of their own accord: all of a finished block."""
        ...


class Document:
    """Blocks and the dock."""

    def __init__(self, dock: Component) -> None:
        self.blocks: list[Block] = []
        self.dock = dock
