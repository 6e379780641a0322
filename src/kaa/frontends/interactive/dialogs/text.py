"""The question for a text: a line, or several in an editor of its own."""

from collections.abc import Callable

from kaa.ext.questions import Dismissed, Editing, Entered, TextInput
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.tui.component import Component
from kaa.tui.components.input import Input
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line


class TextDialog(QuestionDialog[Entered | Dismissed]):
    """Takes a text.

    Args:
        context: colours and keys.
        question: what is asked.
        on_answer: gets the answer.
    """

    _keys = "Enter sends the text, Esc cancels"

    def __init__(
        self, context: Context, question: TextInput | Editing, on_answer: Callable[[Entered | Dismissed], None]
    ) -> None:
        super().__init__(context, question.title, lambda _: [], on_answer)
        self._question = question

    def _answering(self) -> Component:
        match self._question:
            case TextInput(placeholder=placeholder):
                line = Input(self._context, placeholder=one_line(placeholder))
                line.on_submit = self._enter
                line.on_cancel = self._dismiss
                return line
            case Editing(text=text):
                return TextEntry(self._context, "", text, on_enter=self._enter, on_cancel=self._dismiss)

    def _enter(self, text: str) -> None:
        self._answer(Entered(text))

    def _dismiss(self) -> None:
        self._answer(Dismissed())
