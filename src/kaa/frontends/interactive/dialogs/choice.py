"""The question which of some options is meant."""

from collections.abc import Callable

from kaa.ext.questions import Choice, Chosen, Dismissed
from kaa.frontends.interactive.dialogs.paragraph import details_of
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.tui.components.select_list import SelectItem, SelectList
from kaa.tui.context import Context
from kaa.tui.fuzzy import rank


class ChoiceDialog(QuestionDialog[Chosen | Dismissed]):
    """A list of options.

    Args:
        context: colours and keys.
        question: what is asked.
        on_answer: gets the answer.
    """

    _keys = "Enter chooses, Esc cancels"

    def __init__(self, context: Context, question: Choice, on_answer: Callable[[Chosen | Dismissed], None]) -> None:
        super().__init__(context, question.title, details_of(context, question.details), on_answer)
        self._options = question.options

    def _answering(self) -> SelectList[str]:
        return SelectList(
            self._context,
            [SelectItem(option, option) for option in self._options],
            on_select=lambda item: self._answer(Chosen(item.value)),
            on_cancel=lambda: self._answer(Dismissed()),
            rank=rank,
        )
