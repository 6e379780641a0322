"""The question whether a project may configure kaa: what it would use, or what has changed since it was trusted."""

from collections.abc import Callable, Iterator

from kaa.frontends.interactive.dialogs.choices import Choice, Choices
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.frontends.interactive.dialogs.question import Question
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import Changed, TrustState
from kaa.tui.components.diff import Diff
from kaa.tui.context import Context


class TrustDialog(Question[TrustChoice | None]):
    """Asks whether a project may configure kaa.

    Args:
        context: colours and keys.
        configuration: what the project would configure.
        state: what was decided before.
        on_answer: gets the answer, as `kaa.frontends.interactive.audience.Respondent.ask_trust` explains it.
    """

    def __init__(
        self,
        context: Context,
        configuration: ProjectConfiguration,
        state: TrustState,
        on_answer: Callable[[TrustChoice | None], None],
    ) -> None:
        self._configuration = configuration
        self._state = state
        changed = isinstance(state, Changed)
        title = "This project's configuration has changed" if changed else "Do you trust this project?"
        super().__init__(context, title, self._explanation, on_answer)

    def _choices(self) -> Choices:
        return Choices(
            self._context,
            [
                Choice("n", "No, not this time: use nothing of it", lambda: self._answer(None)),
                Choice("d", "No, and do not ask again here", lambda: self._answer("no")),
                Choice("o", "Yes, this time", lambda: self._answer("yes")),
                Choice("y", "Yes, until it changes", lambda: self._answer("stored")),
            ],
            on_cancel=lambda: self._answer(None),
        )

    def _explanation(self, width: int) -> list[str]:
        return [line for part in self._parts(width) for line in part]

    def _parts(self, width: int) -> Iterator[list[str]]:
        yield self._said(self._configuration.root, "accent", width)
        match self._state:
            case Changed(difference=difference):
                yield self._said("You trusted it as it was before. Since then:", "text", width)
                for what, paths in (
                    ("new", difference.added),
                    ("changed", difference.changed),
                    ("gone", difference.removed),
                ):
                    for path in paths:
                        yield self._said(f"{what}: {path}", "warning", width, bullet=True)
                yield Diff(self._context, difference.diff).render(width)
            case _:
                yield self._said("It brings along what would be used if you trust it:", "text", width)
                for use in self._configuration.uses:
                    yield self._said(use, "warning", width, bullet=True)
        yield self._said(
            "Whoever wrote these files then tells kaa what to do. The sandbox and the approvals hold either way.",
            "muted",
            width,
        )

    def _said(self, text: str, token: str, width: int, *, bullet: bool = False) -> list[str]:
        return paragraph(self._context, text, token, width, bullet=bullet)
