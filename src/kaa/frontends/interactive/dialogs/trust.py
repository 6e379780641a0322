"""The question whether a project may configure kaa: what it would use, or what has changed since it was trusted."""

from collections.abc import Callable, Iterator

from kaa.ext.choices import TrustChoice
from kaa.ext.questions import Dismissed, Trust, TrustDecision
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.dialogs.question import QuestionDialog
from kaa.tui.components.diff import DiffView
from kaa.tui.context import Context


class TrustDialog(QuestionDialog[TrustDecision | Dismissed]):
    """Asks whether a project may configure kaa.

    Args:
        context: colours and keys.
        question: what the project would configure, and what was decided before.
        on_answer: gets the answer; `Dismissed` declines for this run.
    """

    def __init__(
        self, context: Context, question: Trust, on_answer: Callable[[TrustDecision | Dismissed], None]
    ) -> None:
        self._question = question
        super().__init__(context, question.title, self._explanation, on_answer)

    def _answering(self) -> DialogChoices:
        def decide(choice: TrustChoice) -> Callable[[], None]:
            return lambda: self._answer(TrustDecision(choice))

        return DialogChoices(
            self._context,
            [
                DialogChoice("n", "No, not this time: ignore it", lambda: self._answer(Dismissed())),
                DialogChoice("d", "No, and do not ask again here", decide("no")),
                DialogChoice("o", "Yes, this time", decide("yes")),
                DialogChoice("y", "Yes, until it changes", decide("stored")),
            ],
            on_cancel=lambda: self._answer(Dismissed()),
        )

    def _explanation(self, width: int) -> list[str]:
        return [line for part in self._parts(width) for line in part]

    def _parts(self, width: int) -> Iterator[list[str]]:
        question = self._question
        yield self._said(question.root, "accent", width)
        if question.was_trusted:
            yield self._said("Changed since you trusted it:", "text", width)
            for what, paths in (("new", question.added), ("changed", question.changed), ("gone", question.removed)):
                for path in paths:
                    yield self._said(f"{what}: {path}", "warning", width, bullet=True)
            yield DiffView(self._context, question.diff).render(width)
        else:
            yield self._said("If you trust it, kaa uses:", "text", width)
            for use in question.uses:
                yield self._said(use, "warning", width, bullet=True)
        yield self._said(
            "These files can instruct kaa. The sandbox and the approvals apply either way.",
            "muted",
            width,
        )

    def _said(self, text: str, token: str, width: int, *, bullet: bool = False) -> list[str]:
        return paragraph(self._context, text, token, width, bullet=bullet)
