"""The question which of some options is meant."""

from collections.abc import Callable
from itertools import zip_longest

from kaa.ext.questions import Choice, Chosen, Dismissed
from kaa.frontends.interactive.dialogs.paragraph import details_of
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.frontends.interactive.selectors.lists import words_first
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.sanitize import squeezed


class ChoiceDialog(QuestionDialog[Chosen | Dismissed]):
    """A list of options.

    Args:
        context: colours and keys.
        question: what is asked.
        on_answer: gets the answer.
    """

    _keys = "Enter chooses, Esc cancels"

    def __init__(self, context: Context, question: Choice, on_answer: Callable[[Chosen | Dismissed], None]) -> None:
        token = "borderAccent" if question.requested else "warning"
        super().__init__(context, question.title, details_of(context, question.details), on_answer, token)
        self._question = question

    def _answering(self) -> SelectList[str]:
        question = self._question
        described = zip_longest(question.options, question.descriptions, fillvalue="")
        return SelectList(
            self._context,
            [
                SelectItem(option, squeezed(option), squeezed(meaning), option == question.current)
                for option, meaning in described
            ],
            on_select=lambda item: self._answer(Chosen(item.value)),
            on_cancel=lambda: self._answer(Dismissed()),
            rank=words_first,
        )
