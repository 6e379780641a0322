"""The dialog that asks whether to open an address in the browser."""

from collections.abc import Callable

from kaa.ext.questions import Confirmed, Declined, Dismissed, OpenUrl
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.tui.context import Context
from kaa.tui.sanitize import one_line


class AddressDialog(QuestionDialog[Confirmed | Declined | Dismissed]):
    """Shows an address with its host, and opens it after a yes. No is the first answer.

    Args:
        browse: opens an address in the browser. Returns whether that could be begun.
    """

    def __init__(
        self,
        context: Context,
        question: OpenUrl,
        on_answer: Callable[[Confirmed | Declined | Dismissed], None],
        browse: Callable[[str], bool],
        copy: Callable[[str], object],
    ) -> None:
        super().__init__(context, question.title, self._said, on_answer)
        self._question = question
        self._browse = browse
        self._copy = copy
        self._problem = ""

    def _said(self, width: int) -> list[str]:
        said = [(line, "text") for line in self._question.message.splitlines()]
        said += [
            (f"Host: {one_line(self._question.host)}", "warning"),
            (one_line(self._question.url), "accent"),
        ]
        said += [(problem, "error") for problem in (self._question.warning, self._problem) if problem]
        return [line for text, token in said for line in paragraph(self._context, text, token, width)]

    def _answering(self) -> DialogChoices:
        return DialogChoices(
            self._context,
            [
                DialogChoice("n", "No", lambda: self._answer(Declined())),
                DialogChoice("o", "Open it in the browser", self._open),
                DialogChoice("c", "Copy the address, I open it", self._take),
            ],
            on_cancel=lambda: self._answer(Dismissed()),
        )

    def _open(self) -> None:
        if self._browse(self._question.url):
            self._answer(Confirmed(yes=True))
            return
        self._problem = "kaa finds no browser here: copy the address and open it on another machine"
        self.tell(self._said)

    def _take(self) -> None:
        self._copy(self._question.url)
        self._answer(Confirmed(yes=True))
