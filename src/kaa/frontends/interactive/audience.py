"""What the core tells and asks. All of it happens in the user interface's thread."""

from collections.abc import Callable
from typing import Protocol

from kaa.frontends.interactive.reporter import Listener
from kaa.shell.approvals.requests import Answer, ApprovalRequest
from kaa.shell.options import TrustChoice
from kaa.shell.trust.configuration import ProjectConfiguration
from kaa.shell.trust.store import TrustState


class Audience(Listener, Protocol):
    """Who is told what happens; every method runs in the user interface's thread."""

    def show_notice(self, text: str) -> None:
        """Something worth knowing that does not stop us."""
        ...


class Respondent(Protocol):
    """Who is asked; every method runs in the user interface's thread."""

    def ask_approval(self, request: ApprovalRequest, answer: Callable[[Answer], None]) -> None:
        """Ask the user; `answer` may be called once, from any thread."""
        ...

    def withdraw_approval(self, request: ApprovalRequest) -> None:
        """The question has no meaning any more."""
        ...

    def ask_trust(
        self, configuration: ProjectConfiguration, state: TrustState, answer: Callable[[TrustChoice | None], None]
    ) -> None:
        """Ask whether the project may configure anything.

        The answer: `stored` and `no` are kept for good, `yes` holds for this run; None declines for this run.
        """
        ...

    def ask_confirmation(self, question: str, details: str, answer: Callable[[bool], None]) -> None:
        """Ask whether something is to go on; `answer` may be called once, from any thread."""
        ...

    def withdraw_confirmation(self, question: str) -> None:
        """That question has no meaning any more."""
        ...
