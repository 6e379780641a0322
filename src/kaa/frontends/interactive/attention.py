"""Calls the person at the keyboard when something waits for them, and tells the window what goes on."""

import os

from kaa.frontends.interactive.desk import Desk
from kaa.tui.terminal import Terminal

# A run that was shorter than this ends before anybody looked away.
_WORTH_A_CALL_SECONDS = 10.0


class Attention:
    """Bell, notification, title and progress.

    Args:
        desk: has the user's choice.
        terminal: shows them.
    """

    def __init__(self, desk: Desk, terminal: Terminal) -> None:
        self._desk = desk
        self._terminal = terminal
        self._focused: bool | None = None  # terminals that do not tell are taken for looked at
        self._project = os.path.basename(desk.footer.state.directory) or "kaa"

    def focus(self, *, gained: bool) -> None:
        """The window got or lost the focus."""
        self._focused = gained

    def call(self, text: str) -> None:
        """Something waits for an answer."""
        choice = self._desk.preferences.notifications
        if choice == "off" or self._focused:
            return
        self._terminal.bell()
        if choice == "on" and self._focused is False:
            self._terminal.notify("kaa", text)

    def rest(self) -> None:
        """Nothing goes on."""
        self._terminal.set_title(f"kaa: {self._project}")

    def begin(self) -> None:
        """The agent works."""
        self._terminal.set_title(f"kaa: {self._project} (working)")
        if self._desk.preferences.show_terminal_progress:
            self._terminal.set_progress(busy=True)

    def end(self, seconds: float, text: str) -> None:
        """The agent is done, after so many seconds."""
        self.rest()
        if self._desk.preferences.show_terminal_progress:
            self._terminal.set_progress(busy=False)
        if seconds >= _WORTH_A_CALL_SECONDS:
            self.call(text)
