"""A person who logs in at an `McpOAuthServer`."""

import asyncio
import threading
import urllib.request
from contextlib import suppress
from typing import TypeVar

from kaa.ext.questions import Answer, Confirmed, Dismissed, OpenUrl, Question
from tests.support.mcp_oauth import McpOAuthServer

AnswerT = TypeVar("AnswerT")


class Browsing:
    """An `Asker`: answers from a list; who agrees to open an address also logs in there.

    Attributes:
        server: where.
        answers: the next ones.
        questions: what was asked.
    """

    def __init__(self, server: McpOAuthServer, *answers: Answer) -> None:
        self.server = server
        self.answers = list(answers)
        self.questions: list[object] = []

    @property
    def can_ask(self) -> bool:
        """Always."""
        return True

    async def ask(self, question: Question[AnswerT]) -> AnswerT | Dismissed:
        """Answer the next question, or leave it unanswered beyond the last."""
        self.questions.append(question)
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(question, OpenUrl) and answer == Confirmed(yes=True):
            visit(self.server.agree(question.url))
        return question.fit(answer)


def visit(address: str) -> None:
    """Go there, as a browser does."""
    threading.Thread(target=_get, args=(address,)).start()


def _get(address: str) -> None:
    with suppress(OSError):  # a page that says no, which the tests see from the other side
        urllib.request.urlopen(address).close()
