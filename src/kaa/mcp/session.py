"""Requests over one connection, both ways: ids, waiting, progress, cancellation and limits."""

import asyncio
from collections.abc import Callable
from itertools import count

from kaa.core.messages import Json
from kaa.host.allowance import RateLimiter
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.mcp import codes, rounds
from kaa.mcp.connection import (
    ErrorResponse,
    JsonRpcNotification,
    JsonRpcRequest,
    Message,
    RequestId,
    Response,
    ServerConnection,
)
from kaa.mcp.contents import Progress
from kaa.mcp.errors import McpError, NoAnswerError, ServerGoneError
from kaa.mcp.manifest import NAMESPACE, ToolInfo
from kaa.mcp.parsing import one_line
from kaa.mcp.questions import ServerQuestions

_MESSAGES_A_SECOND, _BURST_MESSAGES = 500.0, 5_000.0
_MAX_ANSWERING = 64
_SHOWN_CHARACTERS = 500  # of an error


class _Waiting:
    """A request whose answer has not come."""

    def __init__(
        self,
        answer: "asyncio.Future[dict[str, Json]]",
        limit: asyncio.Timeout,
        patience: float | None,
        progress: Callable[[Progress], None] | None,
        questions: ServerQuestions | None,
    ) -> None:
        self.answer = answer
        self.limit = limit
        self.patience = patience
        self.progress = progress
        self.questions = questions
        self.asked = 0

    def alive(self) -> None:
        """The server works on it: patience begins anew. While the server waits for the person, nothing counts."""
        if self.patience is None or self.answer.done():
            return
        now = asyncio.get_running_loop().time()
        self.limit.reschedule(None if self.asked else now + self.patience)


class Session:
    """The requests of one connection.

    Args:
        connection: not opened yet.
        questions: answers what the server asks outside any request that has questions of its own.
        notified: gets the notifications that are not about a request.
        ended: told why the connection ended, in a sentence, once; not after `close`.

    Attributes:
        meta: what every request carries in `_meta`, once the revision demands it.
        has_answered: whether a request was answered, with a result or an error.
    """

    def __init__(
        self,
        connection: ServerConnection,
        questions: ServerQuestions,
        notified: Callable[[str, dict[str, Json]], None],
        ended: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self.questions = questions
        self._notified = notified
        self._on_end = ended
        self._ids = count(1)
        self._waiting: dict[RequestId, _Waiting] = {}
        self._answering: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks = Tasks()
        self._allowance = RateLimiter(_MESSAGES_A_SECOND, _BURST_MESSAGES)
        self._reason = ""
        self.has_answered = False
        self.meta: dict[str, Json] = {}
        self._stray = ""  # what came last that answers no request, in words
        connection.use(self._receive, self._ended, self._strayed)

    async def open(self) -> None:
        """Open the connection.

        Raises:
            ServerGoneError: nothing answers at the other end.
        """
        await self._connection.open()

    async def request(
        self,
        method: str,
        params: dict[str, Json],
        *,
        patience: float | None,
        tool: ToolInfo | None = None,
        progress: Callable[[Progress], None] | None = None,
        questions: ServerQuestions | None = None,
    ) -> dict[str, Json]:
        """Ask, and wait for the answer. Cancelling tells the server.

        If the server refuses the revision of the request and lists it as supported, the request is sent once more.

        Args:
            params: its parameters, without `_meta`.
            patience: seconds without a sign of life that this may take; None for any time.
            tool: what a `tools/call` calls.

        Raises:
            McpError: the server refused, or did not answer in time.
            ServerGoneError: the connection is over.
        """

        async def ask() -> dict[str, Json]:
            return await self._ask(method, params, patience, tool, progress, questions)

        try:
            return await ask()
        except McpError as error:
            if error.code != codes.UNSUPPORTED_REVISION or self._revision not in revisions_in(error):
                raise
            return await ask()

    @property
    def _revision(self) -> Json:
        """The revision that requests name; None before one is agreed, and in revisions without that."""
        return self.meta.get(f"{NAMESPACE}protocolVersion")

    async def _ask(
        self,
        method: str,
        params: dict[str, Json],
        patience: float | None,
        tool: ToolInfo | None,
        progress: Callable[[Progress], None] | None,
        questions: ServerQuestions | None,
    ) -> dict[str, Json]:
        self._check_open()
        id_ = next(self._ids)
        meta = self.meta | ({"progressToken": id_} if progress is not None else {})
        message = JsonRpcRequest(id_, method, params | ({"_meta": meta} if meta else {}))
        try:
            async with asyncio.timeout(patience) as limit:
                answer: asyncio.Future[dict[str, Json]] = asyncio.get_running_loop().create_future()
                answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may end while sending
                self._waiting[id_] = _Waiting(answer, limit, patience, progress, questions)
                try:
                    self._stray = ""
                    await self._connection.send(message, tool)
                    return await answer
                finally:
                    del self._waiting[id_]
        except TimeoutError:
            await self._give_up(id_, method)
            stray = f"; the last unexpected message: {one_line(stray)}" if (stray := self._stray) else ""
            raise NoAnswerError(f"no answer to {method} within {patience:g} seconds{stray}") from None
        except asyncio.CancelledError:
            await self._give_up(id_, method)
            raise

    async def notify(self, method: str, params: dict[str, Json]) -> None:
        """Say something.

        Raises:
            ServerGoneError: the connection is over.
        """
        self._check_open()
        await self._connection.send(JsonRpcNotification(method, params))

    def agreed(self, protocol: str) -> None:
        """From now on both sides speak this revision."""
        self._connection.agreed(protocol)

    async def close(self) -> None:
        self._fail("kaa closed the connection", told=False)
        await self._connection.close()

    def _check_open(self) -> None:
        if self._reason:
            raise ServerGoneError(self._reason)

    async def _give_up(self, id_: RequestId, method: str) -> None:
        """Tell the server that nobody waits any more; `initialize` must not be cancelled (specification)."""
        if self._reason or self._connection.cancel(id_) or method == "initialize":
            return
        try:
            await self._connection.send(JsonRpcNotification("notifications/cancelled", {"requestId": id_}))
        except McpError as error:
            LOG.debug("mcp: a cancellation was not sent: %s", error)

    def _receive(self, message: Message) -> None:
        if self._reason:
            return
        if not self._allowance.take(1):
            text = f"it sent more than {_BURST_MESSAGES:.0f} messages, faster than {_MESSAGES_A_SECOND:.0f} a second"
            self._fail(text)
        elif isinstance(message, JsonRpcRequest):
            self._requested(message)
        elif isinstance(message, JsonRpcNotification):
            self._take_notification(message)
        elif isinstance(message, ErrorResponse) and _is_of_unread_request(message) and len(self._waiting) == 1:
            (only,) = self._waiting.values()
            if not only.answer.done():
                only.answer.set_exception(_error(message))
        elif message.id is None or (waiting := self._waiting.get(message.id)) is None or waiting.answer.done():
            self._strayed(_misaddressed(message))
            LOG.debug("mcp: an answer to no request that waits: %r", message.id)
        else:
            self.has_answered = True
            if isinstance(message, Response):
                waiting.answer.set_result(message.result)
            else:
                waiting.answer.set_exception(_error(message))

    def _take_notification(self, message: JsonRpcNotification) -> None:
        if message.method == "notifications/progress":
            self._progressed(message.params)
        elif message.method == "notifications/cancelled":
            id_ = message.params.get("requestId")
            if isinstance(id_, int | str) and (task := self._answering.get(id_)) is not None:
                task.cancel()
        else:
            self._notified(message.method, message.params)

    def _progressed(self, params: dict[str, Json]) -> None:
        token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
        waiting = self._waiting.get(token) if isinstance(token, int | str) else None
        if waiting is None or waiting.progress is None or not isinstance(done, int | float):
            return
        waiting.alive()
        said = params.get("message")
        waiting.progress(Progress(done, total if isinstance(total, int | float) else None, one_line(said)[:200]))

    def _requested(self, request: JsonRpcRequest) -> None:
        """Answer a request in the background. It belongs to the youngest request that answers questions."""
        if len(self._answering) >= _MAX_ANSWERING or request.id in self._answering:
            refusal = ErrorResponse(request.id, codes.BUSY, "too many requests at once, or an id twice")
            _ = self._tasks.begin(self._deliver(refusal))
            return
        concerned = [one for one in self._waiting.values() if one.questions is not None]
        task = self._tasks.begin(self._answer(request, concerned[-1] if concerned else None))
        self._answering[request.id] = task
        task.add_done_callback(lambda _: self._answering.pop(request.id, None))

    async def _answer(self, request: JsonRpcRequest, concerned: _Waiting | None) -> None:
        questions = self.questions
        if concerned is not None:
            questions = concerned.questions or questions
            concerned.asked += 1
            concerned.alive()
        reply: Message
        try:
            reply = Response(request.id, await rounds.answer(request.method, request.params, questions))
        except McpError as error:
            reply = ErrorResponse(request.id, error.code or codes.INTERNAL_ERROR, str(error))
        finally:
            if concerned is not None:
                concerned.asked -= 1
                concerned.alive()
        await self._deliver(reply)

    async def _deliver(self, reply: Message) -> None:
        try:
            await self._connection.send(reply)
        except McpError as error:
            LOG.debug("mcp: an answer was not sent: %s", error)

    def _strayed(self, what: str) -> None:
        self._stray = what

    def _ended(self, reason: str) -> None:
        self._fail(reason)

    def _fail(self, reason: str, *, told: bool = True) -> None:
        if self._reason:
            return
        self._reason = reason
        for waiting in tuple(self._waiting.values()):
            if not waiting.answer.done():
                waiting.answer.set_exception(ServerGoneError(reason))
        self._tasks.cancel()
        if told:
            self._on_end(reason)


def _misaddressed(answer: Response | ErrorResponse) -> str:
    """Describe an answer to no request that waits."""
    what = "a response" if isinstance(answer, Response) else f"the error {str(_error(answer))[:_SHOWN_CHARACTERS]!r}"
    return (
        f"{what} without the id of a request"
        if answer.id is None
        else f"{what} to request {answer.id!r}, which is not pending"
    )


def _is_of_unread_request(error: ErrorResponse) -> bool:
    """Whether the server could not read what it was sent (JSON-RPC 2.0, 5.1), and so does not know its id."""
    return error.id is None and error.code in (codes.PARSE_ERROR, codes.INVALID_REQUEST)


def revisions_in(error: McpError) -> list[str]:
    """List the revisions that a server names in a refusal of another one."""
    found = error.data.get("supported") if isinstance(error.data, dict) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _error(message: ErrorResponse) -> McpError:
    text = one_line(message.message) or f"error {message.code} without a message"
    return McpError(text, code=message.code, data=message.data, status=message.status)
