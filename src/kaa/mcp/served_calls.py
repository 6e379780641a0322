"""Calls of tools that kaa serves, and how they ask: a legacy client at once, a modern one between its requests."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count

from kaa.core.messages import Json
from kaa.mcp.contents import CallResult
from kaa.mcp.questions import ElicitAnswer, FormRequest
from kaa.mcp.served_json import elicit_answer


class ToolCaller:
    """Who called a tool, as the service sees it.

    Args:
        ask: asks a legacy client; None for a modern one, whose call sets it.

    Attributes:
        token: with which progress is sent; None while nobody wants it.
    """

    def __init__(
        self,
        forms: bool,
        ask: "Callable[[FormRequest], Coroutine[None, None, ElicitAnswer]] | None",
        tell: Callable[[Json, int, str], None],
    ) -> None:
        self.forms = forms
        self.token: Json = None
        self.ask = ask
        self._tell = tell
        self._numbers = count(1)

    def progress(self, message: str) -> None:
        """Say what the call does now. Clients that did not ask for this are not told."""
        if isinstance(self.token, int | str):
            self._tell(self.token, next(self._numbers), message)

    async def elicit(self, asked: FormRequest) -> ElicitAnswer:
        """Ask the person. A client that cannot ask, and one that fails to, answers with `cancel`."""
        return ElicitAnswer("cancel") if self.ask is None or not self.forms else await self.ask(asked)


class RoundedCall:
    """A call by a modern client: it goes on between the requests that bring its answers.

    Args:
        caller: who called; asks through this from now on.
    """

    def __init__(self, caller: ToolCaller, work: Coroutine[None, None, CallResult]) -> None:
        self.caller = caller
        caller.ask = self._ask
        self.task = asyncio.ensure_future(work)
        self._one_question = asyncio.Lock()
        self._question: FormRequest | None = None
        self._answer: asyncio.Future[ElicitAnswer] | None = None
        self._has_asked = asyncio.Event()

    async def outcome(self) -> FormRequest | None:
        """Wait for the next question, or for the end (None). Cancelling ends the call."""
        asked = asyncio.ensure_future(self._has_asked.wait())
        try:
            await asyncio.wait((self.task, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            await asyncio.wait((self.task,))
            raise
        finally:
            asked.cancel()
        return None if self.task.done() else self._question

    def answer(self, responses: Json) -> None:
        """Take the client's answer."""
        self._has_asked.clear()
        response = responses.get("question") if isinstance(responses, dict) else None
        if self._answer is not None:
            settle(self._answer, elicit_answer(response if isinstance(response, dict) else {}))

    async def _ask(self, asked: FormRequest) -> ElicitAnswer:
        async with self._one_question:
            self._question = asked
            self._answer = asyncio.get_running_loop().create_future()
            self._has_asked.set()
            return await self._answer


def settle(future: "asyncio.Future[ElicitAnswer]", answer: ElicitAnswer) -> None:
    """Answer a question, if nobody has."""
    if not future.done():
        future.set_result(answer)
