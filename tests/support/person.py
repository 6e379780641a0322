"""Somebody who answers kaa's questions, without a screen."""

import asyncio
from typing import Any, TypeVar

from kaa.ext.questions import Answer, Confirmed, Dismissed, Question

AnswerT = TypeVar("AnswerT")


class Person:
    """Answers from a list; a question beyond its end is a failure, and so are two questions at a time.

    Attributes:
        questions: what was asked.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.questions: list[Any] = []  # any: what is asked depends on the test
        self._is_asked = False

    @property
    def can_ask(self) -> bool:
        """Always."""
        return True

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Answer the next question."""
        assert not self._is_asked, "one question at a time"
        self._is_asked = True
        self.questions.append(question)
        for _ in range(5):
            await asyncio.sleep(0)
        self._is_asked = False
        return question.fit(self.answers.pop(0))


def yes_or_no(*answers: bool) -> Person:
    """Somebody who answers confirmations."""
    return Person(*(Confirmed(yes) for yes in answers))
