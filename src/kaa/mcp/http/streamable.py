"""Streamable HTTP: each message is a request of its own (specification 2026-07-28 and 2025-11-25, Streamable HTTP).

In revision 2026-07-28 each request stands alone: its answer comes in its response, as JSON or as a stream, and closing
that cancels it; headers repeat parts of it for proxies (SEP-2243). Before, a server may name a session, streams can be
resumed, and one more stream carries what the server says unasked.
"""

import asyncio
import contextlib
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Json
from kaa.host.log import LOG
from kaa.host.tasks import Tasks
from kaa.llm.http.sse import SseDecoder
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport
from kaa.mcp import codes, messages
from kaa.mcp.connection import (
    ErrorResponse,
    JsonRpcNotification,
    JsonRpcRequest,
    Message,
    RequestId,
    Response,
    ServerConnection,
)
from kaa.mcp.errors import McpError, ServerGoneError
from kaa.mcp.http.exchanges import (
    NOT_FOUND,
    OK,
    Headers,
    body_of,
    check_login,
    each_event,
    exchange,
    is_refusal,
    kind_of,
    messages_in,
    new_decoder,
    refusal,
)
from kaa.mcp.http.sse import SseConnection
from kaa.mcp.manifest import MODERN, ToolInfo
from kaa.mcp.parsing import one_line

_STREAM = "text/event-stream"
# How servers before streamable HTTP refuse a message (specification, Backwards Compatibility).
_OLDER = (400, 404, 405)
_RESUME_SECONDS, _MAX_RESUME_SECONDS = 1.0, 60.0
_LAST_SECONDS = 2.0
HEADER_FIELD = "x-mcp-header"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2
_PRIMITIVES = ("string", "integer", "boolean")
# Values under these keywords are data, not schemas.
_DATA = ("default", "const", "enum", "examples")


class StreamableHttpConnection(ServerConnection):
    """A connection to a server at an address.

    Args:
        transport: to the network; it stays open.
        headers: gives those that each request has, when it opens.
    """

    def __init__(self, url: str, transport: Transport, headers: Callable[[], Awaitable[Headers]]) -> None:
        self._url = url
        self._transport = transport
        self._given = headers
        self._headers: Headers = ()
        self._protocol = ""
        self._session_id = ""
        self._initialize: JsonRpcRequest | None = None
        self._beginning = asyncio.Lock()
        self._older: SseConnection | None = None
        self._exchanges: dict[RequestId, asyncio.Task[None]] = {}
        self._unread: dict[RequestId, str] = {}  # what came last in place of an answer to a request, in words
        self._tasks = Tasks()

    async def open(self) -> None:
        """See `ServerConnection`. The first message connects."""
        self._headers = await self._given()

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        """See `ServerConnection`. Of a request, what is awaited is the head of the answer."""
        if self._older is not None:
            await self._older.send(message, tool)
        elif isinstance(message, JsonRpcRequest):
            if message.method == "initialize":
                self._protocol, self._initialize = "", message
            headers = self._headers_of(message, tool)
            delivered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            delivered.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait any more
            self._exchanges[message.id] = task = self._tasks.begin(self._request(message, headers, delivered))
            task.add_done_callback(lambda _: self._exchanges.pop(message.id, None))
            await delivered
        else:
            await self._post(message)
            if isinstance(message, JsonRpcNotification) and message.method == "notifications/initialized":
                _ = self._tasks.begin(self._listen())

    def agreed(self, protocol: str) -> None:
        self._protocol = protocol

    def cancel(self, request: RequestId) -> bool:
        if (task := self._exchanges.pop(request, None)) is not None:
            task.cancel()
        return self._is_modern

    async def close(self) -> None:
        await self._tasks.end()
        if self._older is not None:
            await self._older.close()
        if self._session_id:
            with contextlib.suppress(McpError, TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    async with exchange(self._transport, HttpRequest("DELETE", self._url, self._common())):
                        pass

    @property
    def _is_modern(self) -> bool:
        return self._protocol == MODERN

    def _common(self) -> Headers:
        headers = (("accept", f"application/json, {_STREAM}"), *self._headers)
        if self._protocol:
            headers = (*headers, ("mcp-protocol-version", self._protocol))
        return (*headers, ("mcp-session-id", self._session_id)) if self._session_id else headers

    def _headers_of(self, message: Message, tool: ToolInfo | None = None) -> Headers:
        """What this message's request has besides the common headers."""
        content = ("content-type", "application/json")
        if self._is_modern and isinstance(message, JsonRpcRequest | JsonRpcNotification):
            return (content, *headers_of(message, tool))
        return (content,)

    async def _post(self, message: Message) -> None:
        """Send what has no answer."""
        headers = (*self._common(), *self._headers_of(message))
        async with exchange(
            self._transport, HttpRequest("POST", self._url, headers, messages.encode(message))
        ) as response:
            check_login(response)
            if is_refusal(response):
                LOG.debug("mcp: a message was refused: %s", refusal(response, b""))

    async def _request(self, request: JsonRpcRequest, headers: Headers, delivered: "asyncio.Future[None]") -> None:
        """Send a request and receive what comes back. What fails before the answer begins is for `delivered`."""
        try:
            if await self._exchange(request, headers, delivered):
                return
            unread = f"; what came instead: {one_line(found)}" if (found := self._unread.get(request.id)) else ""
            problem = f"the answer ended without a result{unread}. The request may have had effects"
        except (McpError, ProviderError) as error:
            if not delivered.done():
                delivered.set_exception(error)
                return
            problem = f"{error}. The request may have had effects"
        finally:
            if not delivered.done():  # this is cancelled, and who sends the request perhaps not
                delivered.set_exception(ServerGoneError("kaa closed the connection"))
            self._unread.pop(request.id, None)
        self._receive(ErrorResponse(request.id, codes.INTERNAL_ERROR, problem))

    async def _exchange(
        self, request: JsonRpcRequest, headers: Headers, delivered: "asyncio.Future[None]", *, begins_again: bool = True
    ) -> bool:
        """Whether the request was answered. If the session is over, this begins another, once."""
        session = self._session_id
        content, own = messages.encode(request), (*self._common(), *headers)
        posted = HttpRequest("POST", self._url, own, content, once=request.has_effects)
        async with exchange(self._transport, posted) as response:
            check_login(response)
            if response.status == NOT_FOUND and session and begins_again and request is not self._initialize:
                over = True  # the session, and the request was not seen
            elif is_refusal(response):
                over, refused = False, await self._refused(request, response)
                if refused is not None:
                    _done(delivered)
                    self._receive(refused)
                    return True
            else:
                if request is self._initialize:
                    self._session_id = response.headers.get("mcp-session-id") or ""
                _done(delivered)
                return await self._answered(request, response)
        if over:
            await self._begin_again(session)
            return await self._exchange(request, headers, delivered, begins_again=False)
        await self._turn_to_sse(request)
        _done(delivered)
        return True

    async def _refused(self, request: JsonRpcRequest, response: HttpResponse) -> ErrorResponse | None:
        """The error that a refusal means; None if the server may be of the oldest revision."""
        body = await body_of(response)
        for message in messages_in(body) if kind_of(response) == "application/json" else ():
            if isinstance(message, ErrorResponse):
                return ErrorResponse(request.id, message.code, message.message, message.data, response.status)
        if request is self._initialize and response.status in _OLDER:
            return None
        return ErrorResponse(request.id, codes.INTERNAL_ERROR, refusal(response, body), status=response.status)

    async def _answered(self, request: JsonRpcRequest, response: HttpResponse) -> bool:
        """Receive the messages of a response; whether the answer to the request is among them."""
        if kind_of(response) != _STREAM:
            return self._take(await body_of(response), request.id)
        decoder, answered = new_decoder(), False

        def take(_: str, data: bytes) -> None:
            nonlocal answered
            answered = self._take(data, request.id) or answered

        broken: Exception | None = None
        try:
            await each_event(response, decoder, take)
        except ProviderError as error:
            broken = error
        while not answered and decoder.last_id and not self._is_modern:
            await asyncio.sleep(_pause(decoder))
            async with exchange(self._transport, self._resumption(decoder)) as rest:
                if rest.status != OK or kind_of(rest) != _STREAM:
                    break
                try:
                    await each_event(rest, decoder, take)
                except ProviderError as error:
                    broken = error
        if not answered and broken is not None:
            raise broken
        return answered

    def _take(self, data: bytes, wanted: RequestId | None = None) -> bool:
        """Receive the messages in `data`; whether one answers the request `wanted`.

        An error without an id is about the request in whose answer it comes.
        """

        def strayed(what: str) -> None:
            if wanted is None:
                self._strayed(what)
            else:
                self._unread[wanted] = what

        answered = False
        for found in messages_in(data, strayed):
            is_about_it = isinstance(found, ErrorResponse) and found.id is None and wanted is not None
            message = msgspec.structs.replace(found, id=wanted) if is_about_it else found
            answered = answered or (isinstance(message, Response | ErrorResponse) and message.id == wanted)
            self._receive(message)
        return answered

    def _resumption(self, decoder: SseDecoder) -> HttpRequest:
        headers = (*self._common(), *((("last-event-id", decoder.last_id),) if decoder.last_id else ()))
        return HttpRequest("GET", self._url, headers)

    async def _listen(self) -> None:
        """Receive what a server of an older revision says unasked, for as long as it has a stream for that."""
        decoder, pause, loop = new_decoder(), _RESUME_SECONDS, asyncio.get_running_loop()
        session = self._session_id

        def take(_: str, data: bytes) -> None:
            self._take(data)

        while session == self._session_id:
            began = loop.time()
            try:
                async with exchange(self._transport, self._resumption(decoder)) as response:
                    if response.status != OK or kind_of(response) != _STREAM:
                        return
                    await each_event(response, decoder, take)
            except (McpError, ProviderError) as error:
                LOG.debug("mcp: the stream of a server broke: %s", error)
            pause = _RESUME_SECONDS if loop.time() - began > _MAX_RESUME_SECONDS else pause
            await asyncio.sleep(max(pause, _pause(decoder)))
            pause = min(2 * pause, _MAX_RESUME_SECONDS)

    async def _begin_again(self, session: str) -> None:
        """The server knows the session no more: begin another."""
        async with self._beginning:
            if self._session_id != session or self._initialize is None:
                return
            self._session_id = ""
            ignored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            await self._exchange(self._initialize, self._headers_of(self._initialize), ignored)
            if not self._session_id:
                raise ServerGoneError("it ended its session, and begins no other")
            await self.send(JsonRpcNotification("notifications/initialized", {}))

    async def _turn_to_sse(self, request: JsonRpcRequest) -> None:
        """Try the oldest transport; from now on everything goes that way."""
        older = SseConnection(self._url, self._transport, self._given)
        older.use(self._receive, self._ended, self._strayed)
        try:
            await older.open()
        except BaseException:
            await older.close()
            raise
        self._older = older
        await older.send(request)


def _done(delivered: "asyncio.Future[None]") -> None:
    if not delivered.done():
        delivered.set_result(None)


def _pause(decoder: SseDecoder) -> float:
    """How long the server wants kaa to wait before it connects again, in seconds."""
    return min(_RESUME_SECONDS if decoder.retry_ms is None else decoder.retry_ms / 1000, _MAX_RESUME_SECONDS)


def headers_of(message: JsonRpcRequest | JsonRpcNotification, tool: ToolInfo | None) -> Iterator[tuple[str, str]]:
    """The headers that repeat what `message` says.

    Args:
        message: of revision 2026-07-28.
        tool: what a `tools/call` calls.

    Raises:
        McpError: the tool's schema asks for headers in a way that the specification forbids.
    """
    yield "mcp-method", message.method
    if isinstance(name := message.params.get(_NAMED_BY.get(message.method, "")), str):
        yield "mcp-name", _encoded(name)
    if tool is not None:
        arguments = message.params.get("arguments")
        for path, header in _repeated(tool).items():
            if (value := _at(arguments, path)) is not None:
                text = (
                    value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
                )
                yield f"mcp-param-{header}", _encoded(text)


def _repeated(tool: ToolInfo) -> Mapping[tuple[str, ...], str]:
    """The header of each argument that is repeated, by its path in the arguments."""
    found: dict[tuple[str, ...], str] = {}
    for path, schema, reachable in _marked(tool.input_schema, (), reachable=True):
        header = schema[HEADER_FIELD]
        problem = ""
        if not path or not reachable:
            problem = "stands where no argument is named"
        elif not isinstance(header, str) or not _TOKEN.fullmatch(header):
            problem = "is no name of a header"
        elif schema.get("type") not in _PRIMITIVES:
            problem = "belongs to an argument that is no text, integer or boolean"
        elif header.lower() in map(str.lower, found.values()):
            problem = "is used twice"
        if problem:
            raise McpError(
                f"the tool {tool.name} cannot be called over HTTP: `{HEADER_FIELD}` in its schema {problem}. Its author"
                " has to change that"
            )
        found[path] = str(header)
    return found


def _marked(
    value: Json, path: tuple[str, ...], *, reachable: bool
) -> Iterator[tuple[tuple[str, ...], dict[str, Json], bool]]:
    """The schemas that ask for a header, each with its path, and whether only `properties` lead there."""
    if isinstance(value, list):
        for one in value:
            yield from _marked(one, path, reachable=False)
    if not isinstance(value, dict):
        return
    if HEADER_FIELD in value:
        yield path, value, reachable
    for key, one in value.items():
        if key == "properties" and isinstance(one, dict):
            for name, schema in one.items():
                yield from _marked(schema, (*path, name), reachable=reachable)
        elif key not in _DATA and key != HEADER_FIELD:
            yield from _marked(one, path, reachable=False)


def _at(arguments: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _encoded(text: str) -> str:
    """The value of a header: as it is, or in base64 where a header could not carry it."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="
