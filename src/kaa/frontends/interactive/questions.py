"""What the core asks the person at the keyboard. Questions come one after another; the newest is in front."""

from collections.abc import Callable

from kaa.frontends.interactive.attention import Attention
from kaa.frontends.interactive.desk import Desk
from kaa.frontends.interactive.dialogs.approval import ApprovalDialog
from kaa.frontends.interactive.dialogs.trust import TrustDialog
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import TrustState


class Questions:
    """Opens the dialogs.

    Args:
        desk: where they are opened.
        attention: calls the person.
    """

    def __init__(self, desk: Desk, attention: Attention) -> None:
        self._desk = desk
        self._attention = attention
        self._approvals: list[ApprovalDialog] = []

    def ask_approval(self, request: ApprovalRequest, answer: Callable[[Answer], None]) -> None:
        """Ask whether a call may run."""

        def answered(given: Answer) -> None:
            self._close(dialog)
            answer(given)

        dialog = ApprovalDialog(self._desk.context, request, answered)
        self._approvals.append(dialog)
        self._desk.dock.open(dialog)
        self._attention.call(f"kaa asks whether {request.tool} may run")
        self._desk.app.refresh()

    def withdraw_approval(self, request: ApprovalRequest) -> None:
        """Take the question back."""
        for dialog in [dialog for dialog in self._approvals if dialog.request is request]:
            self._close(dialog)

    def ask_trust(
        self, configuration: ProjectConfiguration, state: TrustState, answer: Callable[[TrustChoice | None], None]
    ) -> None:
        """Ask whether the project may configure anything."""

        def answered(choice: TrustChoice | None) -> None:
            self._desk.dock.close(dialog)
            self._desk.app.refresh()
            answer(choice)

        dialog = TrustDialog(self._desk.context, configuration, state, answered)
        self._desk.dock.open(dialog)
        self._attention.call("kaa asks whether this project is to be trusted")
        self._desk.app.refresh()

    def _close(self, dialog: ApprovalDialog) -> None:
        self._approvals.remove(dialog)
        self._desk.dock.close(dialog)
        self._desk.app.refresh()
