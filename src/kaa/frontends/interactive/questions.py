"""What the core asks the person at the keyboard, who may be typing something else just now.

A question never takes a key that was not meant for it. It is asked when nobody has typed for a moment, and can be
answered a moment later, when its answers appear; what is typed until then goes on into the editor, and puts them off.
"""

import time
from collections.abc import Callable
from typing import Any

from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.dialogs.approval import ApprovalDialog
from kaa.frontends.interactive.dialogs.confirmation import ConfirmationDialog
from kaa.frontends.interactive.dialogs.question import Question
from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import TrustState

# Between two words people pause for less.
_TYPING_SECONDS = 0.8
# Nobody has read anything, and decided, in less (the fastest reactions to a light take 0.2 s).
_REACTION_SECONDS = 0.25

_WAITING = "Waiting for your answer"


class Questions:
    """Opens the dialogs.

    Args:
        desk: where they are opened.
        attention: calls the person.
    """

    def __init__(self, desk: Desk, attention: Attention) -> None:
        self._desk = desk
        self._attention = attention
        self._asked: list[Question[Any]] = []

    def ask_approval(self, request: ApprovalRequest, answer: Callable[[Answer], None]) -> None:
        """Ask whether a call may run."""

        def answered(given: Answer) -> None:
            self._close(dialog)
            answer(given)

        dialog = ApprovalDialog(self._desk.context, request, answered)
        self._ask(dialog, f"kaa asks whether {request.tool} may run")

    def withdraw_approval(self, request: ApprovalRequest) -> None:
        """Take the question back."""
        for dialog in list(self._asked):
            if isinstance(dialog, ApprovalDialog) and dialog.request is request:
                self._close(dialog)

    def ask_trust(
        self, configuration: ProjectConfiguration, state: TrustState, answer: Callable[[TrustChoice | None], None]
    ) -> None:
        """Ask whether the project may configure anything."""

        def answered(choice: TrustChoice | None) -> None:
            self._close(dialog)
            answer(choice)

        dialog = TrustDialog(self._desk.context, configuration, state, answered)
        self._ask(dialog, "kaa asks whether this project is to be trusted")

    def ask_confirmation(self, question: str, details: str, answer: Callable[[bool], None]) -> None:
        """Ask whether something is to go on."""

        def answered(given: bool) -> None:
            self._close(dialog)
            answer(given)

        dialog = ConfirmationDialog(self._desk.context, question, details, answered)
        self._ask(dialog, "kaa asks for a yes")

    def withdraw_confirmation(self, question: str) -> None:
        """Take the question back."""
        for dialog in list(self._asked):
            if isinstance(dialog, ConfirmationDialog) and dialog.question == question:
                self._close(dialog)

    def _ask(self, dialog: Question[Any], call: str) -> None:
        self._asked.append(dialog)
        self._desk.working.show_instead(_WAITING)
        self._attention.call(call)
        self._open_when_quiet(dialog, call)

    def _open_when_quiet(self, dialog: Question[Any], call: str) -> None:
        if dialog not in self._asked:
            return  # it was taken back
        left = self._typing_seconds()
        later = self._desk.app.reactor.call_later
        said = f"{call}, when you stop typing"
        if left > 0 and self._has_begun():
            self._desk.say(said, "warning")
            later(left, lambda: self._open_when_quiet(dialog, call))
            return
        if self._desk.status.text == said:
            self._desk.status.show("")
        self._desk.app.look_away()
        self._desk.dock.open(dialog)
        self._desk.app.refresh()
        opened = time.monotonic()
        later(_REACTION_SECONDS, lambda: self._offer_when_quiet(dialog, opened))

    def _offer_when_quiet(self, dialog: Question[Any], opened: float) -> None:
        left = self._typing_seconds()
        if left > 0 and self._desk.typed_at > opened:
            self._desk.app.reactor.call_later(left, lambda: self._offer_when_quiet(dialog, opened))
            return
        dialog.offer()
        self._desk.app.refresh()

    def _typing_seconds(self) -> float:
        """How long nobody would have to type from now on, to have stopped; nothing or less if they have."""
        return self._desk.typed_at + _TYPING_SECONDS - time.monotonic()

    def _has_begun(self) -> bool:
        """Whether something is typed that is not entered yet: in the editor, in a list, or in a search."""
        return not self._desk.editor.is_empty or self._desk.dock.dialog is not None or self._desk.app.is_looking

    def _close(self, dialog: Question[Any]) -> None:
        self._asked.remove(dialog)
        self._desk.working.show_instead(_WAITING if self._asked else "")
        self._desk.dock.close(dialog)
        self._desk.app.refresh()
