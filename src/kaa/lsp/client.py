"""Requests to a language server and what comes back, over the standard streams of its program.

JSON-RPC with `Content-Length` headers (specification, Base Protocol). Whatever a server sends is read within limits.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kaa.core.lenient_json import decode_lenient_as
from kaa.core.messages import Json
from kaa.host.log import LOG
from kaa.lsp.errors import LanguageServerError, LanguageServerGoneError

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# Between two things that kaa sends. A large project has some thousand diagnostics when it is opened.
_MAX_UNASKED_BYTES = 64 * 1024 * 1024
_MAX_UNASKED_MESSAGES = 20_000
_MAX_UNREAD_BYTES = 32 * 1024 * 1024
_MAX_HEADER_BYTES = 8 * 1024
_LENGTH = re.compile(rb"(?:^|\n)content-length:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_METHOD_NOT_FOUND = -32601

ResultT = TypeVar("ResultT")


class _Failure(msgspec.Struct, frozen=True):
    message: str = "no reason"
    code: int = 0


class _Message(msgspec.Struct, frozen=True):
    """Anything that a server sends."""

    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"null")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: _Failure | None = None


class LanguageClient:
    """The connection to a server.

    Args:
        notified: gets the method and the parameters of each notification.
        answer: answers a request of the server, by method and parameters; raises `LookupError` for what it does not
            know.
    """

    def __init__(
        self,
        reader: "StreamReader",
        writer: "StreamWriter",
        notified: Callable[[str, msgspec.Raw], None],
        answer: Callable[[str, msgspec.Raw], Json],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._notified = notified
        self._answer = answer
        self._waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._last_id = 0
        self._unasked_bytes = self._unasked_messages = 0
        self._problem = ""
        self._reading = asyncio.create_task(self._read())

    async def request(self, method: str, params: Json, result: type[ResultT]) -> ResultT:
        """Ask the server, and wait for an answer of some type.

        Raises:
            LanguageServerError: it refused, or answered with nonsense.
            LanguageServerGoneError: it is gone.
        """
        return _decoded(await self._asked(method, params), method, result)

    async def request_any(self, method: str, params: Json, result: type[ResultT]) -> ResultT | None:
        """Likewise, where a server may also answer that there is nothing. Raises as `request` does."""
        answer = await self._asked(method, params)
        return None if bytes(answer).strip() == b"null" else _decoded(answer, method, result)

    async def _asked(self, method: str, params: Json) -> msgspec.Raw:
        self._last_id += 1
        request_id = self._last_id
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        try:
            self._send({"id": request_id, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            with contextlib.suppress(LanguageServerGoneError):
                self._send({"method": "$/cancelRequest", "params": {"id": request_id}})
            raise
        finally:
            self._waiting.pop(request_id, None)

    def notify(self, method: str, params: Json) -> None:
        """Tell the server something.

        Raises:
            LanguageServerGoneError: it is gone.
        """
        self._send({"method": method, "params": params})

    async def ended(self) -> str:
        """Wait for the end of what the server writes. Returns what it did wrong; empty for nothing."""
        await asyncio.wait({self._reading})
        return self._problem

    async def close(self) -> None:
        """Read and wait for nothing more."""
        self._reading.cancel()
        await asyncio.wait({self._reading})

    def _send(self, message: dict[str, Json]) -> None:
        if self._problem or self._reading.done():
            raise LanguageServerGoneError(self._problem or "it ended")
        if self._writer.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            self._give_up(f"it left {_MAX_UNREAD_BYTES // 1024**2} MiB of messages unread")
            raise LanguageServerGoneError(self._problem)
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._unasked_bytes = self._unasked_messages = 0

    async def _read(self) -> None:
        try:
            while (body := await self._next()) is not None:
                self._take(body)
                await asyncio.sleep(0)  # a flood must leave time for others
        except LanguageServerGoneError as error:
            self._problem = str(error)
        except OSError as error:  # it ended before it read everything
            LOG.debug("language server: %s", error)
        finally:
            self._give_up(self._problem or "it ended")

    async def _next(self) -> bytes | None:
        """The next message; None at the end.

        Raises:
            LanguageServerGoneError: it is too long, too many came, or this is no message.
        """
        try:
            header = await self._reader.readuntil(b"\r\n\r\n")
            found = _LENGTH.search(header[-_MAX_HEADER_BYTES:])
            if found is None:
                raise LanguageServerGoneError("it sent something that is no message")
            size = int(found.group(1))
            if size > MAX_MESSAGE_BYTES:
                raise LanguageServerGoneError(f"it sent a message of more than {MAX_MESSAGE_BYTES // 1024**2} MiB")
            self._unasked_bytes += len(header) + size
            self._unasked_messages += 1
            if self._unasked_bytes > _MAX_UNASKED_BYTES or self._unasked_messages > _MAX_UNASKED_MESSAGES:
                raise LanguageServerGoneError("it sent far too many messages")
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError as error:
            raise LanguageServerGoneError("it sent something that is no message") from error

    def _take(self, body: bytes) -> None:
        try:
            message = decode_lenient_as(body, _Message)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise LanguageServerGoneError(f"it sent something that is no message ({error})") from error
        if message.method is None:
            self._take_answer(message)
        elif message.id is None:
            self._notified(message.method, message.params)
        else:
            self._reply(message.id, message.method, message.params)

    def _take_answer(self, message: _Message) -> None:
        future = self._waiting.get(message.id) if isinstance(message.id, int) else None
        if future is None or future.done():
            return
        if message.error is not None:
            future.set_exception(LanguageServerError(f"the language server refused: {message.error.message[:300]}"))
        else:
            future.set_result(message.result)

    def _reply(self, request_id: int | str, method: str, params: msgspec.Raw) -> None:
        unasked = self._unasked_bytes, self._unasked_messages
        try:
            self._send({"id": request_id, "result": self._answer(method, params)})
        except LookupError:
            self._send({"id": request_id, "error": {"code": _METHOD_NOT_FOUND, "message": f"no method {method[:100]}"}})
        self._unasked_bytes, self._unasked_messages = unasked  # a server must not allow itself more

    def _give_up(self, problem: str) -> None:
        self._problem = self._problem or problem
        LOG.debug("language server: %s", problem)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(LanguageServerGoneError(problem))


def _decoded(answer: msgspec.Raw, method: str, result: type[ResultT]) -> ResultT:
    try:
        return decode_lenient_as(answer, result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise LanguageServerError(f"the language server answered {method} with nonsense: {error}") from error
