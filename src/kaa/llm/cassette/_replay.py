"""A transport that answers from a cassette instead of the network."""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from kaa.core import errors
from kaa.core.messages import Json
from kaa.llm.cassette._format import (
    CassetteDivergence,
    CassetteError,
    Exchange,
    RecordedRequest,
    RecordedResponse,
    load,
)
from kaa.llm.cassette._scrubbing import CassettePlaceholders, Scrubber, rewrite_stream, rewrite_text
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse


class ReplayTransport:
    """Answers each request with the next recorded response, if it is the request that was recorded.

    The endpoint, the model and the user's texts must be the same: a difference there ends the run. The system prompt,
    tool schemas, tool outputs and sampling parameters may differ.

    Args:
        placeholders: the values of this run for the names the cassette uses.
        delay: seconds between the chunks of a response, for people who watch.

    Attributes:
        recorded: ISO date of the recording.
        answered_by: the model that was recorded, if the recording says so.

    Raises:
        CassetteError: the cassette cannot be read, or uses a placeholder that has no value.
    """

    def __init__(self, path: Path, placeholders: Mapping[str, str], delay: float = 0.0) -> None:
        header, self._exchanges = load(path)
        missing = [name for name in header.placeholders if name not in placeholders]
        if missing:
            raise CassetteError(f"{path} needs a value for the placeholder {missing[0]!r}, but this run has none")
        self.recorded = header.recorded
        self.answered_by = header.answered_by
        self._path = path
        # Only the names of the recording: others were ordinary text to it.
        self._placeholders = CassettePlaceholders({name: placeholders[name] for name in header.placeholders})
        self._delay = delay
        self._next = 0

    @property
    def unused(self) -> int:
        """How many recorded exchanges no request has asked for yet."""
        return len(self._exchanges) - self._next

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        """Answer with the recorded response.

        Raises:
            CassetteDivergence: this is not the request that was recorded.
            ProviderError: no response came when it was recorded.
        """
        exchange = self._take(request)
        await asyncio.sleep(0)  # a real transport lets others run
        if exchange.response is None:
            raise self._ending(exchange)
        headers = Headers(tuple(exchange.response.headers.items()))
        async with aclosing(self._play(exchange, exchange.response)) as body:
            yield HttpResponse(exchange.response.status, headers, body)

    async def close(self) -> None:
        """Do nothing: a cassette has no connections."""

    def _take(self, request: HttpRequest) -> Exchange:
        number = self._next + 1
        if not self.unused:
            raise CassetteDivergence(
                f"the run makes request {number}, but {self._path} holds only {len(self._exchanges)}: record it again"
            )
        exchange = self._exchanges[self._next]
        actual = Scrubber(self._placeholders, (), request).request()
        if (differs := difference(exchange.request, actual)) is not None:
            raise CassetteDivergence(
                f"the run has left its recording {self._path} at request {number}, {differs}\nRecord it again"
            )
        self._next += 1
        return exchange

    async def _play(self, exchange: Exchange, response: RecordedResponse) -> AsyncGenerator[bytes]:
        for chunk in _bytes_of(response, self._placeholders):
            await asyncio.sleep(self._delay)
            yield chunk
        if exchange.end != "complete":
            raise self._ending(exchange)

    def _ending(self, exchange: Exchange) -> errors.ProviderError:
        """The error that ended the recorded exchange."""
        if exchange.end == "error":
            kind = getattr(errors, exchange.error_type, None)
            if isinstance(kind, type) and issubclass(kind, errors.ProviderError):
                return kind(rewrite_text(exchange.error, self._placeholders.reveal()))
        what = exchange.error or "it was cancelled"
        return CassetteError(f"the recording {self._path} ends in the middle of a reply ({what}): record it again")


def _bytes_of(response: RecordedResponse, placeholders: CassettePlaceholders) -> list[bytes]:
    if not response.base64:
        return [chunk.encode() for chunk in rewrite_stream(response.chunks, placeholders.reveal())]
    chunks = [base64.b64decode(chunk).decode("latin-1") for chunk in response.chunks]
    return [chunk.encode("latin-1", "replace") for chunk in rewrite_stream(chunks, placeholders.reveal())]


_EXCERPT_BEFORE = 30
_EXCERPT_LENGTH = 100
_ABSENT = "(nothing)"
# The list of messages in each wire format.
_MESSAGES = ("messages", "input", "contents")


def difference(recorded: RecordedRequest, actual: RecordedRequest) -> str | None:
    """Describe the first difference in endpoint, model or user's texts; None if the recorded answer fits.

    Both requests have placeholders for secrets. System prompts, tools and tool outputs vary from run to run, so they
    may differ.
    """
    old, new = _question(recorded), _question(actual)
    for place in [*old, *(place for place in new if place not in old)]:
        if old.get(place) != new.get(place):
            before, now = _excerpts(old.get(place), new.get(place))
            return f"{place}:\n  recorded: {before}\n  now:      {now}"
    return None


def _question(request: RecordedRequest) -> dict[str, Json]:
    """What decides the answer, by its place in the request. The host may differ: a model can have several addresses."""
    question: dict[str, Json] = {"method": request.method, "url": urlsplit(request.url).path}
    body = request.body
    if not isinstance(body, dict):
        return question | {"body": body}
    question["model"] = body.get("model")
    for field in _MESSAGES:
        messages = body.get(field)
        for number, message in enumerate(messages if isinstance(messages, list) else ()):
            if isinstance(message, dict) and message.get("role") == "user":
                question |= {f"{field}[{number}].{place}": text for place, text in _texts(message)}
    return question


def _texts(message: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """The texts of a user message; its other parts are tool results and images."""
    for field in ("content", "parts"):
        content = message.get(field)
        if isinstance(content, str):
            yield field, content
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and "text" in part:
                yield f"{field}[{number}].text", part["text"]


def _excerpts(old: Json, new: Json) -> tuple[str, str]:
    """Both values as JSON on one line, cut to the same window around where they begin to differ."""
    texts = [_ABSENT if value is None else msgspec.json.encode(value).decode() for value in (old, new)]
    shortest = min(map(len, texts))
    differs = next((i for i in range(shortest) if texts[0][i] != texts[1][i]), shortest)
    start = max(0, differs - _EXCERPT_BEFORE)
    first, second = (
        ("…" if start else "")
        + text[start : start + _EXCERPT_LENGTH]
        + ("…" if len(text) > start + _EXCERPT_LENGTH else "")
        for text in texts
    )
    return first, second
