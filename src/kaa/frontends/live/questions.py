"""Questions of a conversation to whoever is attached to it, now or later."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import TypeVar, cast

from kaa.ext.questions import Answer, AnyQuestion, Dismissed, Question, UnfitAnswerError
from kaa.frontends.live.wire import AnyTold, Asked, Withdrawn

AnswerT = TypeVar("AnswerT")


class SharedQuestions:
    """Asks all clients (`kaa.ext.asking.Asker`). A question waits until one of them answers.

    Attributes:
        tell: sends something to all clients that follow.
    """

    def __init__(self) -> None:
        self.can_ask = False
        self.tell: Callable[[AnyTold], None] = lambda _: None
        self._waiting: dict[int, tuple[AnyQuestion, asyncio.Future[Answer]]] = {}
        self._numbers = count(1)

    @property
    def waiting(self) -> tuple[Asked, ...]:
        return tuple(Asked(number, question) for number, (question, _) in self._waiting.items())

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Ask, and wait for the first answer; see `Asker`."""
        if not self.can_ask:
            return Dismissed()
        return await self.share(question)

    async def share(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Ask those who are there or come, besides somebody else, and wait for their answer."""
        number, asked = next(self._numbers), cast("AnyQuestion", question)  # there are no other subclasses
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = asked, answered
        self.tell(Asked(number, asked))
        try:
            return question.fit(await answered)
        finally:
            del self._waiting[number]
            self.tell(Withdrawn(number))

    def answer(self, number: int, answer: Answer) -> None:
        """Take an answer.

        Raises:
            UnfitAnswerError: nothing is asked under this number any more, or the answer does not fit.
        """
        question, answered = self._waiting.get(number, (None, None))
        if question is None or answered is None or answered.done():
            raise UnfitAnswerError("this question has been answered or withdrawn already")
        answered.set_result(question.fit(answer))

    def close(self) -> None:
        """Nobody can be asked any more: dismiss what waits."""
        self.can_ask = False
        for _, answered in self._waiting.values():
            if not answered.done():
                answered.set_result(Dismissed())
