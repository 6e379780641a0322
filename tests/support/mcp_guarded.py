"""A scripted MCP server behind the door of an `McpOAuthServer`, and a person who logs in there."""

import asyncio
import threading
import urllib.request
from contextlib import suppress
from typing import TypeVar

from kaa.ext.questions import Answer, Confirmed, Dismissed, OpenUrl, Question
from kaa.llm.http.authorized import AuthorizedTransport, Authorizer
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.mcp.connection import Message
from kaa.mcp.errors import LoginNeededError
from kaa.mcp.manifest import ToolInfo
from tests.support.mcp_connection import MemoryConnection
from tests.support.mcp_oauth import McpOAuthServer
from tests.support.mcp_server import ScriptedServer

AnswerT = TypeVar("AnswerT")


class GuardedConnection(MemoryConnection):
    """Carries a message only if a real request with the same authorization is let in.

    Args:
        server: answers the messages.
        url: where the request is sent.
        authorizer: lets it in.
    """

    def __init__(self, server: ScriptedServer, url: str, authorizer: Authorizer) -> None:
        super().__init__(server)
        self._url = url
        self._live = LiveTransport()
        self._transport = AuthorizedTransport(self._live, authorizer)

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        """See `Connection`."""
        async with self._transport.send(HttpRequest("POST", self._url, (), b"{}")) as response:
            if response.status in (401, 403):
                challenge = response.headers.get("www-authenticate") or ""
                raise LoginNeededError("the server wants a login", challenge=challenge)
        await super().send(message, tool)

    async def close(self) -> None:
        """See `Connection`."""
        await self._live.close()
        await super().close()


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
