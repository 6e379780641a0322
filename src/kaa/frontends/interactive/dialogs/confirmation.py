"""The question whether something is to go on: what a slash command is about to do, a run whose budget is used up."""

from collections.abc import Callable

from kaa.frontends.interactive.dialogs.choices import Choice, Choices
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.dialogs.question import Question
from kaa.tui.context import Context


class ConfirmationDialog(Question[bool]):
    """Asks for a yes. No is the first answer, and that of Escape.

    Args:
        context: colours and keys.
        question: in one line.
        details: what the answer depends on, in lines.
        on_answer: gets the answer.

    Attributes:
        question: what is asked.
    """

    def __init__(self, context: Context, question: str, details: str, on_answer: Callable[[bool], None]) -> None:
        self.question = question
        self._details = details
        super().__init__(context, question, self._explanation, on_answer)

    def _choices(self) -> Choices:
        return Choices(
            self._context,
            [Choice("n", "No", lambda: self._answer(False)), Choice("y", "Yes", lambda: self._answer(True))],
            on_cancel=lambda: self._answer(False),
        )

    def _explanation(self, width: int) -> list[str]:
        return [
            line
            for detail in self._details.splitlines()
            for line in paragraph(self._context, detail, "text", width, bullet=True)
        ]
