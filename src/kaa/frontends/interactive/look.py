"""How things look: the theme that the user, the terminal and its file ask for, and how images are drawn."""

from kaa.frontends.interactive.desk import Desk
from kaa.tui.colors import Depth
from kaa.tui.components.image import Graphics
from kaa.tui.palette import Theme
from kaa.tui.reactor import Timer
from kaa.tui.theme_file import ThemeError

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
        self._known = self._of_terminal()
        self._watch: Timer | None = None
        self._graphics = Graphics()
        desk.view.draw_with(self._graphics)
        self.terminal_told()
        self._keep_watching()

    def terminal_told(self) -> None:
        """The terminal may have said which colours it has, or how it draws images."""
        capabilities = self._desk.app.terminal.capabilities
        self._graphics.protocol, self._graphics.cell_pixels = capabilities.images, capabilities.cell_pixels
        known = self._of_terminal()
        if known != self._known:
            self._known = known
            self._desk.themes.depth = known[1]
            self._desk.context.hyperlinks = capabilities.hyperlinks
            self.choose(self._desk.preferences.theme)

    def choose(self, setting: str | None) -> None:
        """Put a theme in force, as the setting names it."""
        self.setting = setting
        choice = self._desk.themes.choose(setting, self._known[0])
        self._show(choice.theme)
        if choice.problem is not None:
            self._desk.say(choice.problem, "warning")
        self._keep_watching()

    def preview(self, name: str) -> None:
        """Show a theme while somebody chooses."""
        try:
            theme = self._desk.themes.load(name)
        except ThemeError as error:
            self._desk.say(str(error), "warning")
        else:
            self._desk.context.palette.change(theme)
            self._desk.app.refresh()

    def _of_terminal(self) -> tuple[bool | None, Depth]:
        capabilities = self._desk.app.terminal.capabilities
        return capabilities.is_dark, capabilities.colors

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
