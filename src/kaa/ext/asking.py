"""Asking the person: one way for approvals, commands, tools, extensions and trust.

Light on purpose: every conversation imports this, and few ask anything. The questions are in `kaa.ext.questions`.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from kaa.ext.errors import CommandError

if TYPE_CHECKING:
    from kaa.ext.questions import Dismissed, Question

AnswerT = TypeVar("AnswerT")


class NobodyToAskError(CommandError):
    """A question cannot be asked, because no person watches this run."""


class Asker(Protocol):
    """Asks the person.

    Attributes:
        can_ask: whether anybody is there to answer. May change while a conversation goes on.
    """

    @property
    def can_ask(self) -> bool:
        """Whether anybody is there to answer."""

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        """Wait for the answer. Cancelling the call withdraws the question.

        Raises:
            NobodyToAskError: nobody is there to answer.
        """


class Nobody:
    """The asker of runs that no person watches."""

    @property
    def can_ask(self) -> bool:
        """Never."""
        return False

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        """Refuse.

        Raises:
            NobodyToAskError: always.
        """
        raise NobodyToAskError(
            f"Nobody can be asked here: {question.title} To answer it, run kaa in the terminal or in rpc mode."
        )


NOBODY = Nobody()


class AttributingAsker:
    """Asks for one conversation or agent, and says so in its questions.

    Args:
        asker: asks the person.
        conversation: the id of the conversation; None leaves what the question says.
        agent: the id of the agent, likewise.
    """

    def __init__(self, asker: Asker, *, conversation: str | None = None, agent: str | None = None) -> None:
        self._asker = asker
        self._conversation = conversation
        self._agent = agent

    @property
    def can_ask(self) -> bool:
        """See `Asker`."""
        return self._asker.can_ask

    async def ask(self, question: "Question[AnswerT]") -> "AnswerT | Dismissed":
        """See `Asker`."""
        conversation, agent = self._conversation or question.conversation, self._agent or question.agent
        return await self._asker.ask(msgspec.structs.replace(question, conversation=conversation, agent=agent))


async def confirm(asker: Asker, title: str, details: str = "", *, only_person: bool = False, diff: str = "") -> bool:
    """Ask for a yes. Dismissing the question counts as no.

    Args:
        asker: asks.
        title: the question, in one line.
        details: what the answer depends on, in lines.
        only_person: a yes lets code of others run, or trusts it; a program that drives kaa cannot say it.
        diff: a unified diff that the answer depends on, too.

    Raises:
        NobodyToAskError: nobody is there to answer.
    """
    from kaa.ext.questions import Confirmation, Confirmed  # lazy: few conversations ask

    return await asker.ask(Confirmation(title, details, only_person, diff)) == Confirmed(yes=True)
