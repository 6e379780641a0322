"""What keys do, besides typing: the actions `app.*`, and where each key goes."""

import time
from collections.abc import Callable, Mapping, Sequence

from kaa.frontends.interactive.attachments import dropped_image
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.events import Event, Focus, Input, Key, Mouse, Paste, TerminalReply

# Within this time, the same key again means more (pi's figure); leaving by accident costs more than waiting.
_DOUBLE_ESCAPE_SECONDS = 0.5
_DOUBLE_CLEAR_SECONDS = 1.5

_IN_LINE = ("tui.editor.cursorLineStart", "tui.editor.cursorLineEnd")


class Shortcuts:
    """Takes everything that comes from the terminal.

    Args:
        actions: what each action does, by id.
        command_actions: gives the same for slash commands that have keys.
        on_image: a path of an image was dropped on the terminal.
        on_viewer_key: takes what is typed while another document is looked at.
    """

    def __init__(
        self,
        main_view: MainView,
        actions: Mapping[str, Callable[[], None]],
        *,
        command_actions: Callable[[], Mapping[str, Callable[[], None]]],
        on_focus: Callable[[bool], None],
        on_told: Callable[[], None],
        on_image: Callable[[str], None],
        on_viewer_key: Callable[[Input], None],
    ) -> None:
        self._main_view = main_view
        self._actions = actions
        self._command_actions = command_actions
        self._on_focus = on_focus
        self._on_told = on_told
        self._on_image = on_image
        self._on_viewer_key = on_viewer_key

    def take(self, events: Sequence[Event]) -> None:
        """Deal with a batch of events."""
        for event in events:
            match event:
                case Key() | Paste():
                    self._take_input(event)
                case Focus(gained=gained):
                    self._on_focus(gained)
                case TerminalReply():
                    self._on_told()
                case Mouse():
                    self._main_view.app.take_mouse(event)

    def _take_input(self, key: Input) -> None:
        self._main_view.typed_at = time.monotonic()
        if self._main_view.app.is_looking:
            self._on_viewer_key(key)
            return
        dialog = self._main_view.dock.dialog
        if dialog is not None and dialog.take(key):
            return
        if self._is_for_text(key):
            self._main_view.editor.key(key)
        elif self._main_view.app.take_view_key(key):
            pass
        elif isinstance(key, Paste):
            self._paste(key)
        elif (not key.text or self._main_view.editor.is_empty) and self._main_view.context.keymap.first(
            key, "app.exit"
        ):
            self._leave(key)
        elif not self._main_view.editor.key(key) and not self._act(key, *self._actions):
            self._run_command(key)

    def _leave(self, key: Key) -> None:
        """Leave; with text in the editor the key is its own, and where that does nothing, say why kaa stays."""
        editor = self._main_view.editor
        if editor.is_empty:
            self._act(key, "app.exit")
            return
        before = editor.text
        if not editor.key(key) or editor.text == before:
            clear, leave = map(self._main_view.key_of, ("app.clear", "app.exit"))
            self._main_view.say(f"the editor has text: {clear} clears it, then {leave} leaves", "warning")

    def _is_for_text(self, key: Input) -> bool:
        """Keys by which one moves in a line move in the transcript only if there is no line."""
        keymap = self._main_view.context.keymap
        return not self._main_view.editor.is_empty and keymap.first(key, *_IN_LINE) is not None

    def _paste(self, paste: Paste) -> None:
        path = dropped_image(paste.text)
        if path is None:
            self._main_view.editor.key(paste)
        else:
            self._on_image(path)

    def _run_command(self, key: Input) -> None:
        actions = self._command_actions()
        action = self._main_view.context.keymap.first(key, *actions)
        if action is not None:
            actions[action]()

    def _act(self, key: Input, *actions: str) -> bool:
        action = self._main_view.context.keymap.first(key, *actions)
        if action is None or action not in self._actions:
            return False
        self._actions[action]()
        return True


class DoublePress:
    """Tells whether something was done twice in a row.

    Args:
        seconds: within which the second time counts.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = float("-inf")

    def now(self) -> bool:
        """It is done now. Returns whether this was the second time."""
        now = time.monotonic()
        again = now - self._last <= self._seconds
        self._last = float("-inf") if again else now
        return again


def double_escape() -> DoublePress:
    """For Esc."""
    return DoublePress(_DOUBLE_ESCAPE_SECONDS)


def double_clear() -> DoublePress:
    """For the key that clears the editor."""
    return DoublePress(_DOUBLE_CLEAR_SECONDS)
