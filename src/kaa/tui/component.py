"""What a component is: lines at a width, keys it wants, and where its cursor is."""

from typing import Protocol

from kaa.tui.events import Input


class Component(Protocol):
    """Something shown.

    A line is at most `width` cells wide, sets every style it uses and ends with none in force; besides text it has
    only SGR sequences and OSC 8 links. Text that a component is given as plain `str` may come from anywhere: the
    component passes it through `kaa.tui.sanitize` and expands tabs. Spans and painted lines are ours and trusted.
    """

    def render(self, width: int) -> list[str]:
        """The lines at this width; the same list object as before if nothing changed. Callers do not change it."""

    def key(self, key: Input) -> bool:
        """Take a key or a paste. False: it means nothing here, let others have it."""

    def cursor(self) -> tuple[int, int] | None:
        """Row and column of the cursor within the lines rendered last; None if there is none to show."""
