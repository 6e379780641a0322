"""Requests and answers of HTTP, with what goes wrong as sentences about an MCP server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from kaa.core.errors import ProviderError
from kaa.host.log import LOG
from kaa.llm.http.sse import SseDecoder
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport
from kaa.mcp import messages
from kaa.mcp.connection import Message
from kaa.mcp.errors import LoginNeededError, McpError, ServerGoneError
from kaa.mcp.messages import MAX_MESSAGE_BYTES, MalformedMessageError
from kaa.mcp.oauth.challenge import challenge_header, parse_challenge
from kaa.mcp.parsing import cleaned, one_line

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values."""

OK = 200
NOT_FOUND = 404

_REDIRECTS, _ERRORS = 300, 400
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_SHOWN_CHARACTERS = 200


@asynccontextmanager
async def exchange(transport: Transport, request: HttpRequest) -> AsyncIterator[HttpResponse]:
    """Send a request, for as long as its answer is read.

    Raises:
        ServerGoneError: nobody answers, or the connection broke.
    """
    try:
        async with transport.send(request) as response:
            yield response
    except ProviderError as error:
        raise ServerGoneError(str(error).rstrip(".")) from error


async def body_of(response: HttpResponse) -> bytes:
    """The body.

    Raises:
        McpError: it is longer than a message may be.
    """
    found = await response.beginning(MAX_MESSAGE_BYTES)
    if len(found) > MAX_MESSAGE_BYTES:
        raise McpError(f"it sent a message of more than {MAX_MESSAGE_BYTES // 1024**2} MiB")
    return found


def kind_of(response: HttpResponse) -> str:
    """The media type of the body."""
    return (response.headers.get("content-type") or "").partition(";")[0].strip().lower()


def check_login(response: HttpResponse) -> None:
    """Go on unless the server wants a login.

    Raises:
        LoginNeededError: it does.
    """
    challenge = challenge_header(response.headers)
    if response.status == _UNAUTHORIZED:
        raise LoginNeededError("it wants a login", challenge=challenge)
    if response.status == _FORBIDDEN and parse_challenge(challenge).wants_more:
        raise LoginNeededError("it wants a login that permits more", challenge=challenge)


def is_refusal(response: HttpResponse) -> bool:
    """Whether the answer is none of those that say that all is well."""
    return response.status >= _REDIRECTS


def refusal(response: HttpResponse, body: bytes) -> str:
    """What an answer says that is no message, in a sentence."""
    if _REDIRECTS <= response.status < _ERRORS:
        target = cleaned(response.headers.get("location") or "another address")[:_SHOWN_CHARACTERS]
        return f"it redirects to {target}, which kaa does not follow: configure that address if you trust it"
    text = one_line(body.decode(errors="replace"))[:_SHOWN_CHARACTERS]
    said = f": {text}" if text and kind_of(response) != "text/html" else ""
    return f"it answered with HTTP status {response.status}{said}"


async def each_event(response: HttpResponse, decoder: SseDecoder, take: Callable[[str, bytes], None]) -> None:
    """Hand over the name and the data of each event of a stream, as they come.

    Raises:
        ProviderError: the stream broke, or an event is too long.
    """
    async for chunk in response.chunks():
        for event in decoder.feed(chunk):
            if event.data:
                take(event.event, event.data)


def messages_in(data: bytes, strayed: Callable[[str], None] = lambda _: None) -> tuple[Message, ...]:
    """The messages in an event or a body; none if it is something else, of which `strayed` is told."""
    try:
        return messages.decode(data)
    except MalformedMessageError as error:
        LOG.debug("mcp: what is no message: %s", error)
        strayed(str(error))
        return ()


def new_decoder() -> SseDecoder:
    """For a stream of messages."""
    return SseDecoder(max_event_bytes=MAX_MESSAGE_BYTES)
