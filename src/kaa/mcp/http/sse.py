"""HTTP with SSE (specification 2024-11-05, Transports): one stream from the server, and an address for messages."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urljoin

from kaa.core.errors import ProviderError
from kaa.llm.http.transport import HttpRequest, Transport, origin_of
from kaa.mcp import messages
from kaa.mcp.connection import JsonRpcRequest, Message, ServerConnection
from kaa.mcp.errors import McpError, ServerGoneError
from kaa.mcp.http.exchanges import (
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
from kaa.mcp.manifest import ToolInfo

_ENDPOINT_SECONDS = 15.0


class SseConnection(ServerConnection):
    """A connection to a server of the oldest revision.

    Args:
        transport: to the network; it stays open.
        headers: gives those that each request has, when it opens.
    """

    def __init__(self, url: str, transport: Transport, headers: Callable[[], Awaitable[Headers]]) -> None:
        self._url = url
        self._transport = transport
        self._given = headers
        self._headers: Headers = ()
        self._endpoint = ""
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """See `ServerConnection`: wait until the server names the address for messages.

        Raises:
            LoginNeededError: it wants a login.
        """
        self._headers = await self._given()
        named: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(named))
        try:
            async with asyncio.timeout(_ENDPOINT_SECONDS):
                endpoint = urljoin(self._url, await named)
        except TimeoutError:
            raise ServerGoneError("its stream names no address for messages") from None
        if origin_of(endpoint) != origin_of(self._url):
            raise ServerGoneError(f"it wants messages at {endpoint[:200]}, which is another server")
        self._endpoint = endpoint

    async def send(self, message: Message, tool: ToolInfo | None = None) -> None:
        headers = (("content-type", "application/json"), *self._headers)
        once = isinstance(message, JsonRpcRequest) and message.has_effects
        request = HttpRequest("POST", self._endpoint, headers, messages.encode(message), once=once)
        async with exchange(self._transport, request) as response:
            check_login(response)
            if is_refusal(response):
                raise McpError(refusal(response, await body_of(response)), status=response.status)

    async def close(self) -> None:
        self._ended = lambda _: None
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, named: "asyncio.Future[str]") -> None:
        def take(name: str, data: bytes) -> None:
            if name == "endpoint":
                if not named.done():
                    named.set_result(data.decode(errors="replace"))
                return
            for message in messages_in(data, self._strayed):
                self._receive(message)

        reason = "it closed its stream"
        try:
            request = HttpRequest("GET", self._url, (("accept", "text/event-stream"), *self._headers))
            async with exchange(self._transport, request) as response:
                check_login(response)
                if response.status != OK or kind_of(response) != "text/event-stream":
                    raise ServerGoneError(refusal(response, await body_of(response)))
                await each_event(response, new_decoder(), take)
        except (McpError, ProviderError) as error:
            if not named.done():
                named.set_exception(error)
                return
            reason = str(error)
        if named.done():
            self._ended(reason)
        else:
            named.set_exception(ServerGoneError(reason))
