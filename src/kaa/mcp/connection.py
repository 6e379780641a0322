"""The seam between the protocol and what carries it: messages of JSON-RPC 2.0 out, messages in."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from kaa.core.messages import Json
from kaa.mcp.manifest import ToolInfo

RequestId: TypeAlias = int | str


class JsonRpcRequest(msgspec.Struct, frozen=True):
    """Asks for an answer."""

    id: RequestId
    method: str
    params: dict[str, Json]

    @property
    def has_effects(self) -> bool:
        """Whether sending it twice could do something twice."""
        return self.method == "tools/call"


class JsonRpcNotification(msgspec.Struct, frozen=True):
    """Says something."""

    method: str
    params: dict[str, Json]


class Response(msgspec.Struct, frozen=True):
    """Answers a request."""

    id: RequestId
    result: dict[str, Json]


class ErrorResponse(msgspec.Struct, frozen=True):
    """Refuses a request.

    Attributes:
        id: None if the other side could not read which one.
        status: that of HTTP, if the answer came so.
    """

    id: RequestId | None
    code: int
    message: str
    data: Json = None
    status: int | None = None


Message: TypeAlias = JsonRpcRequest | JsonRpcNotification | Response | ErrorResponse


class ServerConnection(ABC):
    """Carries messages to one server and back: a program's pipes, HTTP, or a test's lists.

    Messages that come belong to `receive`, whichever stream they came by: answers, and what the server says or asks.
    Where each request has a stream of its own that ends without an answer, the connection makes an `ErrorResponse`.
    """

    _receive: Callable[[Message], None]
    _ended: Callable[[str], None]
    _strayed: Callable[[str], None]

    def use(
        self, receive: Callable[[Message], None], ended: Callable[[str], None], strayed: Callable[[str], None]
    ) -> None:
        """Connect the two ends, before `open`.

        Args:
            ended: told why the connection ended, in a sentence, once.
            strayed: told, in words, of what came that is no message. Whoever waits in vain for an answer shows it.
        """
        self._receive, self._ended, self._strayed = receive, ended, strayed

    @abstractmethod
    async def open(self) -> None:
        """Start to carry.

        Raises:
            ServerGoneError: the program does not start.
        """

    @abstractmethod
    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        """Deliver a message. `tool`: what a `tools/call` calls (HTTP repeats some arguments in headers).

        Raises:
            ServerGoneError: it cannot be delivered.
            LoginNeededError: the server wants a login.
        """

    def agreed(self, protocol: str) -> None:  # noqa: B027 most depend on nothing of it
        """From now on both sides speak this revision."""

    def cancel(self, request: RequestId) -> bool:
        """Nobody waits for the answer any more: close its stream, if it has one. Whether the server learns that so."""
        return False

    def take_hindrance(self, said: str = "", asked: str = "") -> str:
        """What kept the server from its work, in a sentence with the remedy; empty if nothing new is known to have.

        Args:
            asked: what it was asked to do, as text.
        """
        return ""

    @abstractmethod
    async def close(self) -> None:
        """End the connection. The server ends too, if it is a program."""
