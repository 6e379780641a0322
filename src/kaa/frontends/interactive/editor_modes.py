"""The keys of the editor: as usual, or those of vi with its modes."""

from collections.abc import Callable, Sequence

from kaa.frontends.interactive.main_view import MainView
from kaa.tui.completion_sources import CommandCompletion, CommandEntry, beginning_with


class EditorModes:
    """Puts the keys of vi in force, and tells which of its modes the editor is in.

    Args:
        on_command: gets what is entered behind a `:`.
        on_change: gets the mode when it is another one, as it is shown; empty with the usual keys.
    """

    def __init__(
        self,
        main_view: MainView,
        offered: Callable[[], Sequence[CommandEntry]],
        on_command: Callable[[str], None],
        on_change: Callable[[str], None],
    ) -> None:
        self._main_view = main_view
        self._offered = offered
        self._on_command = on_command
        self._on_change = on_change
        self._chosen = "default"

    def choose(self, mode: str) -> None:
        """Put keys in force: `default` or `vim`."""
        if mode == self._chosen:
            return
        self._chosen = mode
        if mode == "vim":
            from kaa.frontends.interactive.colon_commands import colon_commands, lines_of  # lazy, both: few use it
            from kaa.tui.vim import Vim

            vim = Vim(self._main_view.editor, self._main_view.context)
            history = self._main_view.editor.history
            vim.on_command = self._on_command
            vim.command_sources = (CommandCompletion(lambda: colon_commands(self._offered()), "", beginning_with),)
            vim.entered_commands = lambda: lines_of(history.entries)
            vim.on_mode_change = lambda: self._on_change(vim.mode.upper())
            self._main_view.editor.mode = vim
            self._on_change(vim.mode.upper())
        else:
            self._main_view.editor.mode = None
            self._on_change("")
