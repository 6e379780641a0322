"""Tells an answer to a question from the letters of a message that somebody is typing.

While the editor has text, keys go on into it, and only Esc and the arrows are for the question; after an arrow, all
keys are. With an empty editor a letter answers if it stands alone: if another one follows at once, both are text. A
list has no letters that answer: before an arrow, what is typed is text, and afterwards it searches the list.
"""

from typing import Any

from kaa.frontends.interactive.dialogs.choices import DialogChoices
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.components.select_list import SelectList
from kaa.tui.events import Input, Key, Paste
from kaa.tui.reactor import Timer

# Within a word people need less for the next letter: 40 words a minute are 0.3 s for each.
_ALONE_SECONDS = 0.4

_SELECTING = ("tui.select.up", "tui.select.down")
_NEVER_TEXT = (*_SELECTING, "tui.select.pageUp", "tui.select.pageDown", "tui.select.cancel")


class LoneLetters:
    """Hands over to a question what is meant for it.

    Args:
        main_view: has the editor.
        dialog: the question.
    """

    def __init__(self, main_view: MainView, dialog: QuestionDialog[Any]) -> None:
        self._main_view = main_view
        self._dialog = dialog
        self._is_selecting = False
        self._held: tuple[Key, Timer] | None = None

    @property
    def hint(self) -> str:
        """Why letters do not answer; empty if they do."""
        if not self._is_writing:
            return ""
        key = self._main_view.key_of("tui.select.down")
        return f"keys continue your message, {key} selects an answer"

    def take(self, key: Input) -> bool:
        """Take a key, unless it belongs to the message.

        Returns:
            Whether it was for the question.
        """
        if isinstance(key, Key) and key.action == "release":
            return True
        held = self._let_go()
        keymap = self._main_view.context.keymap
        if keymap.first(key, *_NEVER_TEXT):
            self._is_selecting |= keymap.first(key, *_SELECTING) is not None
        elif self._is_writing:
            return False
        elif held is not None:
            if keymap.first(key, "tui.select.confirm") is None:
                self._main_view.editor.key(held)
                return False
            key = held
        elif isinstance(self._dialog.control, DialogChoices) and not self._is_selecting and _types(key):
            return self._hold(key, self._dialog.control)
        elif isinstance(self._dialog.control, SelectList) and not self._is_selecting and _types(key):
            return False
        self._dialog.key(key)
        return True

    @property
    def _is_writing(self) -> bool:
        return not self._is_selecting and not self._main_view.editor.is_empty

    def _hold(self, key: Input, choices: DialogChoices) -> bool:
        """Answer with a letter as soon as it is known to be alone. Returns whether it is an answer at all."""
        if not isinstance(key, Key) or not choices.has(key):
            return False
        self._held = (key, self._main_view.app.reactor.call_later(_ALONE_SECONDS, self._answer))
        return True

    def _answer(self) -> None:
        held = self._let_go()
        if held is not None and self._main_view.dock.dialog is self._dialog:
            self._dialog.key(held)
            self._main_view.app.refresh()

    def _let_go(self) -> Key | None:
        if self._held is None:
            return None
        (key, timer), self._held = self._held, None
        timer.cancel()
        return key


def _types(key: Input) -> bool:
    return isinstance(key, Paste) or bool(key.text)
