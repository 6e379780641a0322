"""What the core asks the person at the keyboard, who may be typing something else just now.

A question never takes a key that was not meant for it. It is asked when nobody has typed for a moment, and can be
answered a moment later, when its answers appear; what is typed until then goes on into the editor, and puts them off.
From then on `_LoneLetters` tells answers from text.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from kaa.ext.questions import (
    Answer,
    AnyQuestion,
    Approval,
    Choice,
    Confirmation,
    Editing,
    Entered,
    Form,
    OpenUrl,
    TextInput,
    Trust,
)
from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.dialogs.approval import ApprovalDialog
from kaa.frontends.interactive.dialogs.choices import DialogChoices
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.simple_questions import ChoiceDialog, ConfirmationDialog, TextDialog
from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.frontends.interactive.external_editor import chosen_editor, edited_in
from kaa.frontends.interactive.main_view import MainView
from kaa.tui.components.select_list import SelectList
from kaa.tui.events import Input, Key, Paste
from kaa.tui.reactor import Timer

# Between two words people pause for less.
_TYPING_SECONDS = 0.8
# Nobody has read anything, and decided, in less (the fastest reactions to a light take 0.2 s).
_REACTION_SECONDS = 0.25

_WAITING = "Waiting for your answer"


class QuestionDialogs:
    """Opens the dialogs.

    Args:
        is_attached: the conversation is that of another terminal, where the person may have asked for what is asked.
    """

    def __init__(self, main_view: MainView, attention: Attention, *, is_attached: bool = False) -> None:
        self._is_attached = is_attached
        self._main_view = main_view
        self._attention = attention
        self._asked: list[tuple[AnyQuestion, QuestionDialog[Any]]] = []

    def ask(self, question: AnyQuestion, answer: Callable[[Answer], None]) -> None:
        """Ask, when nobody is typing; `answer` is called once."""
        if isinstance(question, Editing) and question.own_editor and (text := self._edited(question.text)) is not None:
            answer(Entered(text))
            return

        def answered(given: Answer) -> None:
            self._close(question)
            answer(given)

        dialog = self._dialog(_with_agent(question), answered)
        self._asked.append((question, dialog))
        if isinstance(question, Choice) and question.requested:
            self._open(dialog)
            self._offer(dialog)
            return
        dialog.keys = _LoneLetters(self._main_view, dialog)
        self._main_view.working.show_instead(_WAITING)
        call = _call(question)
        self._attention.call(call)
        self._open_when_quiet(dialog, call)

    def _edited(self, text: str) -> str | None:
        """A text after the person's own editor; None if they have chosen none, or it fails."""
        editor = chosen_editor(self._main_view, os.environ) if not self._is_attached else ""
        return edited_in(editor, text, self._main_view, os.environ) if editor else None

    def withdraw(self, question: AnyQuestion) -> None:
        self._close(question)

    def _open_when_quiet(self, dialog: QuestionDialog[Any], call: str) -> None:
        if all(dialog is not asked for _, asked in self._asked):
            return  # it was taken back
        left = self._typing_seconds()
        later = self._main_view.app.reactor.call_later
        said = f"{call}, when you stop typing"
        if left > 0 and self._has_begun():
            self._main_view.say(said, "warning")
            later(left, lambda: self._open_when_quiet(dialog, call))
            return
        if self._main_view.status.text == said:
            self._main_view.status.show("")
        self._open(dialog)
        opened = time.monotonic()
        later(_REACTION_SECONDS, lambda: self._offer_when_quiet(dialog, opened))

    def _offer_when_quiet(self, dialog: QuestionDialog[Any], opened: float) -> None:
        left = self._typing_seconds()
        if left > 0 and self._main_view.typed_at > opened:
            self._main_view.app.reactor.call_later(left, lambda: self._offer_when_quiet(dialog, opened))
            return
        self._offer(dialog)

    def _open(self, dialog: QuestionDialog[Any]) -> None:
        self._main_view.app.look_away()
        self._main_view.dock.open(dialog)
        self._main_view.app.refresh()

    def _offer(self, dialog: QuestionDialog[Any]) -> None:
        dialog.offer()
        self._main_view.app.refresh()

    def _typing_seconds(self) -> float:
        """How long nobody would have to type from now on, to have stopped; nothing or less if they have."""
        return self._main_view.typed_at + _TYPING_SECONDS - time.monotonic()

    def _has_begun(self) -> bool:
        """Whether something is typed that is not entered yet: in the editor, in a list, or in a search."""
        return (
            not self._main_view.editor.is_empty
            or self._main_view.dock.dialog is not None
            or self._main_view.app.is_looking
        )

    def _dialog(self, question: AnyQuestion, answered: Callable[[Answer], None]) -> QuestionDialog[Any]:
        context = self._main_view.context
        match question:
            case Approval():
                return ApprovalDialog(context, question, answered)
            case Confirmation():
                return ConfirmationDialog(context, question, answered)
            case Choice():
                return ChoiceDialog(context, question, answered)
            case TextInput() | Editing():
                return TextDialog(context, question, answered)
            case Form():
                from kaa.frontends.interactive.dialogs.form import FormDialog  # lazy: few conversations have forms

                return FormDialog(context, question, answered)
            case OpenUrl():
                from kaa.frontends.browser import open_in_browser  # lazy, too
                from kaa.frontends.interactive.dialogs.address import AddressDialog

                return AddressDialog(context, question, answered, open_in_browser, self._main_view.app.on_copy)
            case Trust():
                return TrustDialog(context, question, answered)

    def _close(self, question: AnyQuestion) -> None:
        """Close its dialog, if it is still asked."""
        for asked in [asked for asked in self._asked if asked[0] is question]:
            self._asked.remove(asked)
            self._main_view.working.show_instead(_WAITING if self._asked else "")
            self._main_view.dock.close(asked[1])
            self._main_view.app.refresh()


def _with_agent(question: AnyQuestion) -> AnyQuestion:
    """The question with the agent in its title, if a tool runs the one that asks; approvals name it themselves."""
    if question.agent is None or isinstance(question, Approval):
        return question
    return msgspec.structs.replace(question, title=f"{question.agent}: {question.title}")


def _call(question: AnyQuestion) -> str:
    """What a notification says of a question."""
    match question:
        case Approval(tool=tool):
            return f"kaa asks whether {tool} may run"
        case Trust():
            return "kaa asks whether this project is to be trusted"
        case Confirmation():
            return "kaa asks for a confirmation"
        case OpenUrl():
            return "kaa asks whether to open an address"
        case _:
            return "kaa asks a question"


# While the editor has text, keys go on into it, and only Esc and the arrows are for the question; after an arrow, all
# keys are. With an empty editor a letter answers if it stands alone: if another one follows at once, both are text. A
# list has no letters that answer: before an arrow, what is typed is text, and afterwards it searches the list.

# Within a word people need less for the next letter: 40 words a minute are 0.3 s for each.
_ALONE_SECONDS = 0.4

_SELECTING = ("tui.select.up", "tui.select.down")
_NEVER_TEXT = (*_SELECTING, "tui.select.pageUp", "tui.select.pageDown", "tui.select.cancel")


class _LoneLetters:
    """Hands over to a question what is meant for it."""

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
            if isinstance(choices := self._dialog.control, DialogChoices) and choices.numbered(held) is not None:
                self._dialog.key(held)  # it selects an answer, which Enter takes
            else:
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
        """Hand over a letter or number as soon as it is known to be alone. Returns whether it is an answer at all."""
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
