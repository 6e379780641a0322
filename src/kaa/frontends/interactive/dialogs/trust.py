"""The question whether a project may configure and instruct kaa: its files, or what changed in them since."""

from collections.abc import Callable, Iterator

from kaa.ext.choices import TrustAnswer
from kaa.ext.questions import Dismissed, Trust, TrustDecision
from kaa.frontends.interactive.dialogs.choices import DialogChoice, DialogChoices
from kaa.frontends.interactive.dialogs.frame import QuestionDialog
from kaa.frontends.interactive.dialogs.paragraph import paragraph
from kaa.tui.components.code import Code
from kaa.tui.components.diff import DiffView
from kaa.tui.context import Context
from kaa.tui.style import paint

_OTHERWISE = (
    "Without trust the model gets instructions as information, and kaa ignores configuration. The sandbox and the"
    " approvals apply either way."
)
_SERVERS = "“Yes, until it changes” also permits these MCP servers of the project:"
_REGISTRIES = (
    "The project has {}. An installation in the sandbox needs the public package registries (/net lists them): the last"
    " answer permits them until you leave kaa, otherwise kaa asks then."
)


class TrustDialog(QuestionDialog[TrustDecision | Dismissed]):
    """Asks whether a project may configure and instruct kaa.

    Args:
        question: what the project has, and what was decided before.
        on_answer: gets the answer; `Dismissed` decides nothing.
    """

    def __init__(
        self, context: Context, question: Trust, on_answer: Callable[[TrustDecision | Dismissed], None]
    ) -> None:
        self._question = question
        self._end_of_servers = 0  # in lines of the explanation
        super().__init__(context, question.title, self._explanation, on_answer)

    def _answering(self) -> DialogChoices:
        def decide(choice: TrustAnswer) -> Callable[[], None]:
            return lambda: self._answer(TrustDecision(choice))

        def leave() -> None:
            self._answer(Dismissed())

        if self._question.is_trusted:
            choices = [
                DialogChoice("k", "Keep trusting it until it changes", leave),
                DialogChoice("r", "Revoke trust, and ask at the next start", decide("forget")),
                DialogChoice("d", "Revoke trust, and do not ask again here", decide("no")),
            ]
        else:
            choices = [
                DialogChoice("n", "No, not this time", leave),
                DialogChoice("d", "No, and do not ask again here", decide("no")),
                DialogChoice("o", "Yes, this time", decide("yes")),
                DialogChoice("y", "Yes, until it changes", self._trust_it),
            ]
            if self._question.manifests:
                choices.append(
                    DialogChoice(
                        "p",
                        "Yes, until it changes, and package registries for the session",
                        lambda: self._trust_it(registries=True),
                    )
                )
        return DialogChoices(self._context, choices, on_cancel=leave)

    def _trust_it(self, *, registries: bool = False) -> None:
        if self.lines_seen < self._end_of_servers:
            self.insist("No answer yet: read about all MCP servers")
        else:
            self._answer(TrustDecision("stored", registries))

    def _explanation(self, width: int) -> list[str]:
        lines = self._said(self._question.root, "accent", width)
        for part in (*self._state(width), *self._servers(width)):
            lines += part
        self._end_of_servers = len(lines) if self._question.servers else 0
        if self._question.manifests:
            found = " and ".join(self._question.manifests)
            lines += self._said(_REGISTRIES.format(found), "text", width)
        lines += self._said(_OTHERWISE, "muted", width)
        for part in self._long(width):
            lines += part
        return lines

    def _state(self, width: int) -> Iterator[list[str]]:
        question = self._question
        if question.status:
            yield self._said(question.status, "text", width)
        if question.was_trusted:
            yield self._said("Changed since you trusted it:", "text", width)
            for what, paths in (("changed", question.changed), ("new", question.added), ("gone", question.removed)):
                for path in paths:
                    yield self._said(f"{what}: {path}", "warning", width, bullet=True)
        elif question.uses:
            yield self._said("If you trust it, kaa uses this configuration:", "text", width)
            for use in question.uses:
                yield self._said(use, "warning", width, bullet=True)

    def _servers(self, width: int) -> Iterator[list[str]]:
        if self._question.servers:
            yield self._said(_SERVERS, "text", width)
        for lines in self._question.servers:
            yield from (self._said(line, "warning", width, bullet=True) for line in lines)

    def _long(self, width: int) -> Iterator[list[str]]:
        """What is long comes last, so that nothing is overlooked behind it."""
        question = self._question
        if question.was_trusted:
            yield DiffView(self._context, question.diff).render(width)
            return
        for text in question.texts:
            yield self._said(f"Instructions for the model, {text.path}:", "text", width)
            yield self._quoted(text.text, width)
            if text.is_cut:
                yield self._said("The file is longer: kaa does not use the rest.", "warning", width)

    def _quoted(self, text: str, width: int) -> list[str]:
        """All of it, with a bar, so that no line passes for one of kaa's."""
        bar = paint(f"{self._context.glyphs.vertical} ", self._context.palette["muted"])
        return [bar + line for line in Code(self._context, text).render(max(1, width - 2))]

    def _said(self, text: str, token: str, width: int, *, bullet: bool = False) -> list[str]:
        return paragraph(self._context, text, token, width, bullet=bullet)
