"""How things look: the theme that the user, the terminal and its file ask for, and how images are drawn."""

from kaa.frontends.interactive.desk import Desk
from kaa.tui.colors import Depth
from kaa.tui.components.image import Graphics
from kaa.tui.palette import Theme
from kaa.tui.reactor import Timer

_WATCH_SECONDS = 1.0


class Look:
    """Changes the theme, and follows what the terminal tells.

    Args:
        desk: is painted in it.

    Attributes:
        setting: the theme as the user's settings name it.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.setting = desk.preferences.theme
        self._known: tuple[bool | None, Depth] = (desk.background_is_dark, desk.themes.depth)
        self._watch: Timer | None = None
        self._graphics = Graphics()
        desk.view.draw_with(self._graphics)

    def begin(self) -> None:
        """Follow the terminal and the theme's file from now on; what the terminal told before counts too."""
        self.terminal_told()
        self._keep_watching()

    def terminal_told(self) -> None:
        """The terminal may have said which colours it has, or how it draws images."""
        capabilities = self._desk.app.terminal.capabilities
        self._graphics.protocol, self._graphics.cell_pixels = capabilities.images, capabilities.cell_pixels
        self._desk.context.hyperlinks = capabilities.hyperlinks
        known = capabilities.is_dark, capabilities.colors
        if known == self._known:
            return
        before = self._desk.context.palette.theme.name, self._known[1]
        self._known = known
        self._desk.themes.depth = known[1]
        choice = self._desk.themes.choose(self.setting, known[0])
        # A terminal that confirms what was assumed is no reason to paint everything anew.
        if (choice.theme.name, known[1]) != before:
            self._show(choice.theme)
            self._keep_watching()

    def choose(self, setting: str | None) -> None:
        """Put a theme in force, as the setting names it."""
        self.setting = setting
        choice = self._desk.themes.choose(setting, self._known[0])
        self._show(choice.theme)
        if choice.problem is not None:
            self._desk.say(choice.problem, "warning")
        self._keep_watching()

    def preview(self, setting: str | None) -> None:
        """Show a theme on the screen while somebody chooses; what has left the screen stays as it is."""
        choice = self._desk.themes.choose(setting, self._known[0])
        if choice.problem is not None:
            self._desk.say(choice.problem, "warning")
        self._desk.context.palette.change(choice.theme)
        self._desk.app.refresh()

    def _show(self, theme: Theme) -> None:
        """Paint everything in it: what has left the screen too, unless nothing of ours has."""
        self._desk.context.palette.change(theme)
        self._desk.app.repaint_all()

    def _keep_watching(self) -> None:
        """A theme of the user's is looked at every second, so that it can be edited and seen."""
        if self._desk.themes.is_watching and self._watch is None:
            self._watch = self._desk.app.reactor.call_later(_WATCH_SECONDS, self._look)

    def _look(self) -> None:
        self._watch = None
        choice = self._desk.themes.refresh()
        if choice is not None:
            if choice.problem is not None:
                self._desk.say(choice.problem, "warning")
            else:
                self._show(choice.theme)
        self._keep_watching()
