"""What the core tells and asks. All of it happens in the user interface's thread."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kaa.frontends.interactive.reporter import ConversationListener

if TYPE_CHECKING:
    from kaa.ext.questions import Answer, AnyQuestion


class CoreListener(ConversationListener, Protocol):
    """Who is told what happens; every method runs in the user interface's thread."""

    def show_notice(self, text: str) -> None:
        """Something worth knowing that does not stop us."""
        ...


class QuestionPresenter(Protocol):
    """Who is asked; every method runs in the user interface's thread."""

    def ask(self, question: "AnyQuestion", answer: "Callable[[Answer], None]") -> None:
        """Ask the user; `answer` may be called once, from any thread."""
        ...

    def withdraw(self, question: "AnyQuestion") -> None:
        """The question has no meaning any more."""
        ...
