"""The question whether something is to be done: what a slash command is about to do, a run whose budget is used up."""

from collections.abc import Callable

from kaa.ext.questions import Confirmation, Confirmed, Dismissed
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.paragraph import details_of
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.tui.context import Context


class ConfirmationDialog(QuestionDialog[Confirmed | Dismissed]):
    """Asks for a yes. No is the first answer.

    Args:
        context: colours and keys.
        question: what is asked.
        on_answer: gets the answer.
    """

    def __init__(
        self, context: Context, question: Confirmation, on_answer: Callable[[Confirmed | Dismissed], None]
    ) -> None:
        super().__init__(context, question.title, details_of(context, question.details), on_answer)

    def _answering(self) -> DialogChoices:
        return DialogChoices(
            self._context,
            [
                DialogChoice("n", "No", lambda: self._answer(Confirmed(yes=False))),
                DialogChoice("y", "Yes", lambda: self._answer(Confirmed(yes=True))),
            ],
            on_cancel=lambda: self._answer(Dismissed()),
        )
