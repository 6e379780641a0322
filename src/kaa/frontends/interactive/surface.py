"""What the main view needs of what shows it: `kaa.tui.application.Application` on a screen, `plain.py` line by line."""

from collections.abc import Callable, Sequence
from typing import Protocol

from kaa.tui.context import Context
from kaa.tui.document import Document
from kaa.tui.events import Event, Input, Mouse
from kaa.tui.reactor import Reactor
from kaa.tui.terminal import Terminal


class Surface(Protocol):
    """Shows the document, and hands over what is typed.

    Attributes:
        terminal: of the user.
        reactor: the loop of this thread.
        on_events: gets what is typed, in batches.
        on_gone: called when the terminal was closed.
        on_copy: takes what was selected with the mouse.
        is_looking: whether another document is shown than the main view's.
        rebuilds: whether a change of the width lays out anew what has left the screen.
    """

    terminal: Terminal
    reactor: Reactor
    on_events: Callable[[Sequence[Event]], object]
    on_gone: Callable[[], object]
    on_copy: Callable[[str], object]
    is_looking: bool
    rebuilds: bool

    @property
    def is_fullscreen(self) -> bool:
        """Whether the full screen is used."""
        ...

    def start(self) -> None:
        """Show what there is."""
        ...

    def stop(self) -> None:
        """Give the terminal back."""
        ...

    def refresh(self) -> None:
        """Something is different: show it soon."""
        ...

    def repaint(self, *, clear_scrollback: bool = False) -> None:
        """Show everything anew."""
        ...

    def repaint_all(self) -> None:
        """Everything looks different now."""
        ...

    def suspend(self) -> None:
        """Stop the process."""
        ...

    def run_elsewhere(self, program: Callable[[], object]) -> None:
        """Leave the terminal to another program while this function runs."""
        ...

    def toggle_fullscreen(self) -> None:
        """Toggle full-screen mode."""
        ...

    def look_at(self, context: Context, document: Document) -> None:
        """Show another document, until `look_away`."""
        ...

    def look_away(self) -> None:
        """Show the main view's document again."""
        ...

    def take_view_key(self, key: Input) -> bool:
        """Scroll or search, where that can be done."""
        ...

    def take_mouse(self, event: Mouse) -> None:
        """Scroll or select with the mouse, where that can be done."""
        ...


# Makes one for a terminal, a loop, what components know, and what is shown.
MakeSurface = Callable[[Terminal, Reactor, Context, Document], Surface]
