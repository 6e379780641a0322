"""Calls the person at the keyboard when something waits for them, and tells the window what continues."""

import os

from kaa.frontends.interactive.main_view import MainView
from kaa.tui.terminal import Terminal

# A run that was shorter than this ends before anybody looked away.
_WORTH_A_CALL_SECONDS = 10.0


class Attention:
    """Bell, notification, title and progress."""

    def __init__(self, main_view: MainView, terminal: Terminal) -> None:
        self._main_view = main_view
        self._terminal = terminal
        self._focused: bool | None = None  # terminals that do not tell are taken for looked at
        self._project = os.path.basename(main_view.footer.state.directory) or "kaa"
        self._session = self._title = ""
        self._is_working = False

    def focus(self, *, gained: bool) -> None:
        """The window got or lost the focus."""
        self._focused = gained

    def call(self, text: str) -> None:
        """Something waits for an answer."""
        choice = self._main_view.preferences.notifications
        if choice == "off" or self._focused:
            return
        self._terminal.bell()
        if choice == "on" and self._focused is False:
            self._terminal.notify("kaa", text)

    def rest(self) -> None:
        """Nothing continues."""
        self._is_working = False
        self._show_title()

    def name_session(self, name: str) -> None:
        """The session is called this; empty if it has no name."""
        if name != self._session:
            self._session = name
            self._show_title()

    def entitle(self, title: str) -> None:
        """The window's title is this; empty for kaa's own."""
        self._title = title
        self._show_title()

    def begin(self) -> None:
        """The agent works."""
        self._is_working = True
        self._show_title()
        if self._main_view.preferences.show_terminal_progress:
            self._terminal.set_progress(busy=True)

    def end(self, seconds: float, text: str) -> None:
        """The agent is done, after so many seconds."""
        self.rest()
        if self._main_view.preferences.show_terminal_progress:
            self._terminal.set_progress(busy=False)
        if seconds >= _WORTH_A_CALL_SECONDS:
            self.call(text)

    def _show_title(self) -> None:
        # The name first: tabs have little room, and the other sessions of the project have the same behind it.
        about = f"{self._session} - {self._project}" if self._session else self._project
        title = self._title or f"kaa: {about}"
        self._terminal.set_title(f"{title}{' (working)' if self._is_working else ''}")
