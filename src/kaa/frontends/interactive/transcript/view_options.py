"""How the transcript is looked at: what all blocks share and the user switches."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kaa.tui.context import Context
from kaa.tui.key_notation import show_key

if TYPE_CHECKING:
    from kaa.tui.components.image import Graphics

# How wide images are drawn, in cells, if nobody says anything else: pi's default.
_IMAGE_COLUMNS = 60


class ViewOptions:
    """Given to every block. Blocks that depend on it paint themselves anew when `version` grows.

    What has left the screen stays as it was, whatever is switched.

    Args:
        expanded: whether cards show all of what tools gave.
        images: whether images are shown, where the terminal can.
        linear: whether lines are written once and read from top to bottom: nothing is shown before it is final.
        cwd: the project's directory; paths in it are shown without it.

    Attributes:
        image_columns: how wide images are drawn at most, in cells.
        cache_misses: whether it is told what the provider's cache did not give.
        call_titles: templates of the titles of calls, by tool.
        pasted: gives the long texts that were pasted since the start; messages show them folded.
    """

    def __init__(
        self,
        context: Context,
        *,
        expanded: bool = False,
        thinking: bool = True,
        images: bool = True,
        linear: bool = False,
        cwd: str = "",
    ) -> None:
        self.context = context
        self.expanded = expanded
        self.thinking = thinking
        self._images = images
        self._graphics: Graphics | None = None
        self.image_columns = _IMAGE_COLUMNS
        self.linear = linear
        self.cache_misses = False
        self.call_titles: Mapping[str, str] = {}
        self.pasted: Callable[[], Sequence[str]] = lambda: ()
        self.cwd = cwd
        self.version = 0

    @property
    def images(self) -> bool:
        """Whether images are shown, where the terminal can."""
        return self._images

    @images.setter
    def images(self, wanted: bool) -> None:
        if wanted != self._images:
            self._images = wanted
            self.version += 1

    @property
    def graphics(self) -> "Graphics | None":
        """How the terminal draws images; None if it cannot, or is not known to."""
        return self._graphics

    def title_calls(self, titles: Mapping[str, str]) -> None:
        """Title the calls of these tools like this from now on (`kaa.ext.call_titles`)."""
        if titles != self.call_titles:
            self.call_titles = titles
            self.version += 1

    def draw_with(self, graphics: "Graphics") -> None:
        """Draw images like this from now on; to be told again when more is known of the terminal."""
        self._graphics = graphics
        self.version += 1

    def toggle_tools(self) -> None:
        """Show all that tools gave, or little of it."""
        self.expanded = not self.expanded
        self.version += 1

    def toggle_thinking(self) -> None:
        """Show the model's reasoning, or hide it."""
        self.show_thinking(shown=not self.thinking)

    def show_thinking(self, *, shown: bool) -> None:
        """Whether the model's reasoning is shown from now on."""
        self.thinking = shown
        self.version += 1

    def path(self, path: str) -> str:
        """A path as it is shown."""
        inside = self.cwd.rstrip("/") + "/"
        return path[len(inside) :] if self.cwd and path.startswith(inside) else path

    @property
    def how_to_show_all(self) -> str:
        """How to see what is hidden, in brackets, to be put behind a text; empty if nothing more can be shown."""
        if self.expanded:
            return ""
        return " (/transcript writes all)" if self.linear else self.hint("app.tools.expand", "shows all")

    def hint(self, action: str, what: str = "") -> str:
        """The key of an action in brackets, to be put behind a text; empty if it has none."""
        keys = self.context.keymap.keys(action)
        return f" ({' '.join(filter(None, (show_key(keys[0]), what)))})" if keys else ""
