"""How things look: the theme that the user, the terminal and its file ask for, and how images are drawn."""

from collections.abc import Sequence

from kaa.frontends.interactive.main_view import MainView
from kaa.tui.colors import Depth
from kaa.tui.components.image import Graphics
from kaa.tui.palette import Theme
from kaa.tui.reactor import Timer

_WATCH_SECONDS = 1.0


class Appearance:
    """Changes the theme, and follows what the terminal tells.

    Attributes:
        setting: the theme as the user's settings name it.
    """

    def __init__(self, main_view: MainView) -> None:
        self._main_view = main_view
        self.setting = main_view.preferences.theme
        self._known: tuple[bool | None, Depth] = (main_view.background_is_dark, main_view.themes.depth)
        self._folders: tuple[str, ...] | None = None  # of extensions; None before any conversation
        self._told: str | None = None  # why the theme is another one
        self._watch: Timer | None = None
        self._graphics = Graphics()
        main_view.view.draw_with(self._graphics)

    def begin(self) -> None:
        """Follow the terminal and the theme's file from now on; what the terminal told before counts too."""
        self.terminal_told()
        self._keep_watching()

    def terminal_told(self) -> None:
        """The terminal may have said which colours it has, or how it draws images."""
        capabilities = self._main_view.app.terminal.capabilities
        self._graphics.protocol, self._graphics.cell_pixels = capabilities.images, capabilities.cell_pixels
        self._main_view.context.hyperlinks = capabilities.hyperlinks
        known = capabilities.is_dark, capabilities.colors
        if known == self._known:
            return
        before = self._main_view.context.palette.theme.name, self._known[1]
        self._known = known
        self._main_view.themes.depth = known[1]
        choice = self._main_view.themes.choose(self.setting, known[0])
        # A terminal that confirms what was assumed is no reason to paint everything anew.
        if (choice.theme.name, known[1]) != before:
            self._show(choice.theme)
            self._keep_watching()

    def choose(self, setting: str | None) -> None:
        """Put a theme in force, as the setting names it."""
        self.setting = setting
        choice = self._main_view.themes.choose(setting, self._known[0])
        self._show(choice.theme)
        self._told = choice.problem
        if choice.problem is not None:
            self._main_view.say(choice.problem, "warning")
        self._keep_watching()

    def take_folders(self, folders: Sequence[str]) -> list[str]:
        """Extensions have themes here: they may have the one that the user chose, or have it no more.

        Returns what the user should know, in sentences.
        """
        if self._folders == (found := tuple(folders)):
            return []
        self._folders = found
        library = self._main_view.themes
        problems = library.use_folders(found)
        choice = library.choose(self.setting, self._known[0])
        if choice.theme.name != self._main_view.context.palette.theme.name:
            self._show(choice.theme)
            self._keep_watching()
        if choice.problem not in (None, self._told, *self._main_view.problems):
            self._told = choice.problem
            problems.append(choice.problem or "")
        return problems

    def preview(self, setting: str | None) -> None:
        """Show a theme on the screen while somebody chooses; what has left the screen stays as it is."""
        choice = self._main_view.themes.choose(setting, self._known[0])
        if choice.problem is not None:
            self._main_view.say(choice.problem, "warning")
        self._main_view.context.palette.change(choice.theme)
        self._main_view.app.refresh()

    def _show(self, theme: Theme) -> None:
        """Paint everything in it: what has left the screen too, unless nothing of ours has."""
        self._main_view.context.palette.change(theme)
        self._main_view.app.repaint_all()

    def _keep_watching(self) -> None:
        """A theme of the user's is looked at every second, so that it can be edited and seen."""
        if self._main_view.themes.is_watching and self._watch is None:
            self._watch = self._main_view.app.reactor.call_later(_WATCH_SECONDS, self._look)

    def _look(self) -> None:
        self._watch = None
        choice = self._main_view.themes.refresh()
        if choice is not None:
            if choice.problem is not None:
                self._main_view.say(choice.problem, "warning")
            else:
                self._show(choice.theme)
        self._keep_watching()
