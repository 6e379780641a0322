"""The base of components that show something and take no keys: caching of what was painted. *Stage 1*."""

from abc import ABC, abstractmethod

from kaa.tui.context import Context
from kaa.tui.events import Input


class Display(ABC):
    """Paints when the width, the theme or its content has changed, and else gives the same lines again.

    Args:
        context: what all components know.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lines: list[str] = []
        self._painted_at: tuple[int, int] | None = None

    def render(self, width: int) -> list[str]:
        """The lines; see `Component`."""
        state = (width, self._context.palette.version)
        if self._painted_at != state:
            self._lines = self._paint(max(1, width))
            self._painted_at = state
        return self._lines

    def key(self, key: Input) -> bool:
        """Takes none."""
        return False

    def cursor(self) -> tuple[int, int] | None:
        """Shows none."""
        return None

    def changed(self) -> None:
        """Paint anew when asked next."""
        self._painted_at = None

    @abstractmethod
    def _paint(self, width: int) -> list[str]:
        """The lines at a width of at least 1."""
