"""The dialogs of simple questions: one of some options, yes or no, a text."""

from collections.abc import Callable
from itertools import zip_longest

from kaa.ext.questions import Choice, Chosen, Confirmation, Confirmed, Dismissed, Editing, Entered, TextInput
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.paragraph import details_of
from kaa.frontends.interactive.dialogs.text_entry import TextEntry
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.tui.component import Component
from kaa.tui.components.input import Input
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line, squeezed

_MOST_WITHOUT_SEARCH = 5


class ChoiceDialog(QuestionDialog[Chosen | Dismissed]):
    _keys = "Enter chooses, Esc cancels"

    def __init__(self, context: Context, question: Choice, on_answer: Callable[[Chosen | Dismissed], None]) -> None:
        token = "borderAccent" if question.requested else "warning"
        super().__init__(
            context, question.title, details_of(context, question.details, question.diff), on_answer, token
        )
        self._question = question

    def _answering(self) -> SelectList[str]:
        question = self._question
        described = tuple(zip_longest(question.options, question.descriptions, fillvalue=""))
        return SelectList(
            self._context,
            [
                SelectItem(option, squeezed(option), squeezed(meaning), option == question.current)
                for option, meaning in described
            ],
            on_select=lambda item: self._answer(Chosen(item.value)),
            on_cancel=lambda: self._answer(Dismissed()),
            rank=words_first if question.requested or len(described) > _MOST_WITHOUT_SEARCH else None,
        )


class ConfirmationDialog(QuestionDialog[Confirmed | Dismissed]):
    """Asks for a yes. No is the first answer. What only a person may permit must have been on the screen as a whole."""

    def __init__(
        self, context: Context, question: Confirmation, on_answer: Callable[[Confirmed | Dismissed], None]
    ) -> None:
        super().__init__(context, question.title, details_of(context, question.details, question.diff), on_answer)
        self._is_to_be_read = question.only_person
        self.urge = "Scroll to the end to allow" if question.only_person else ""

    def _answering(self) -> DialogChoices:
        return DialogChoices(
            self._context,
            [
                DialogChoice("n", "No", lambda: self._answer(Confirmed(yes=False))),
                DialogChoice("y", "Yes", self._allow),
            ],
            on_cancel=lambda: self._answer(Dismissed()),
        )

    def _allow(self) -> None:
        if self._is_to_be_read and not self.is_read:
            self.insist("No answer yet, read to the end")
        else:
            self._answer(Confirmed(yes=True))


class TextDialog(QuestionDialog[Entered | Dismissed]):
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
