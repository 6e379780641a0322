"""A question of the core's: read first, then answered, once."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from kaa.frontends.interactive.dialogs.frame import Body, DialogFrame
from kaa.tui.component import Component
from kaa.tui.components.text import Text
from kaa.tui.context import Context
from kaa.tui.events import Input

AnswerT = TypeVar("AnswerT")


class Keys(Protocol):
    """Decides which keys are for a question."""

    @property
    def hint(self) -> str:
        """What to say about the keys now; empty if nothing."""
        ...

    def take(self, key: Input) -> bool:
        """Hand a key over to the question, or return False."""
        ...


class QuestionDialog(DialogFrame, ABC, Generic[AnswerT]):
    """Asks once; the answer is given once. What takes the answer is there from `offer` on.

    Args:
        context: colours, keys and the size of the screen.
        body: gives the lines to read at a width.
        token: the colour of the border.

    Attributes:
        keys: decides which keys are for the question; None if all are.
    """

    def __init__(
        self, context: Context, title: str, body: Body, on_answer: Callable[[AnswerT], None], token: str = "warning"
    ) -> None:
        super().__init__(context, title, body, Text(context), token=token)
        self._on_answer: Callable[[AnswerT], None] | None = on_answer
        self.takes_keys = False
        self.keys: Keys | None = None

    def offer(self) -> None:
        """Let it be answered."""
        self.takes_keys = True
        self.exchange(self._answering(), self._keys)

    def take(self, key: Input) -> bool:
        """Take a key if it is for the question."""
        if self.takes_keys and self.keys is not None:
            return self.keys.take(key)
        return super().take(key)

    def render(self, width: int) -> list[str]:
        """The dialog, with what is to be known about the keys."""
        self.note(self.keys.hint if self.takes_keys and self.keys is not None else "")
        return super().render(width)

    _keys = ""  # what the keys do, where the control does not show it

    @abstractmethod
    def _answering(self) -> Component:
        """What takes the answer."""

    def _answer(self, answer: AnswerT) -> None:
        give, self._on_answer = self._on_answer, None
        if give is not None:
            give(answer)
