"""A transport that writes down what goes through it."""

import asyncio
import base64
import codecs
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from kaa import __version__
from kaa.core.errors import ProviderError
from kaa.llm.cassette._format import CassetteHeader, Exchange, RecordedModel, RecordedResponse, append, create
from kaa.llm.cassette._scrubbing import CassettePlaceholders, Scrubber, harmless_url
from kaa.llm.http.transport import HttpRequest, HttpResponse, Transport

# What adapters and the retry logic look at, and what a person needs to ask the vendor.
_RECORDED_RESPONSE_HEADERS = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"}
)


class RecordingTransport:
    """Passes everything on to `inner` and writes each exchange to a cassette when it is over.

    An exchange that failed or was cancelled is written too, as far as it came. Secrets are removed: those
    given, those in the headers of the requests, and whatever looks like one.

    Args:
        path: the cassette, which must not exist yet or be empty.
        placeholders: volatile values of this run by name, see `CassettePlaceholders`.
        answered_by: the model of this run, so that a replay needs not be told.

    Raises:
        CassetteError: the file exists or cannot be written; at once or, as the disk fills, at the end of an exchange.
    """

    def __init__(
        self,
        inner: Transport,
        path: Path,
        placeholders: Mapping[str, str],
        known_secrets: Iterable[str] = (),
        answered_by: RecordedModel | None = None,
    ) -> None:
        self._inner = inner
        self._path = path
        self._placeholders = CassettePlaceholders(placeholders)
        self._known_secrets = tuple(known_secrets)
        today = datetime.now(UTC).date().isoformat()
        if answered_by is not None:
            answered_by = msgspec.structs.replace(answered_by, base_url=harmless_url(answered_by.base_url))
        create(
            path,
            CassetteHeader(kaa=__version__, recorded=today, placeholders=tuple(placeholders), answered_by=answered_by),
        )

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        tape = _Tape()
        try:
            async with self._inner.send(request) as response:
                tape.response = response
                yield HttpResponse(response.status, response.headers, tape)
        except ProviderError as error:
            if tape.response is None:
                tape.error = error
            raise
        except (asyncio.CancelledError, GeneratorExit):
            tape.cancelled = True
            raise
        finally:
            # Not in a thread: the exchange must be on disk even if this task is being cancelled.
            append(self._path, tape.exchange(Scrubber(self._placeholders, self._known_secrets, request)))

    async def close(self) -> None:
        await self._inner.close()


class _Tape:
    """The body of one response, passed on and remembered.

    Attributes:
        response: as the server gave it; None as long as there is none.
        error: why there is no response, or no more of it.
        cancelled: our side did not want the rest.
    """

    def __init__(self) -> None:
        self.response: HttpResponse | None = None
        self.error: ProviderError | None = None
        self.cancelled = False
        self._chunks: list[bytes] = []
        self._source: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> "_Tape":
        return self

    async def __anext__(self) -> bytes:
        if self._source is None:
            assert self.response is not None
            self._source = self.response.chunks()
        try:
            chunk = await anext(self._source)
        except ProviderError as error:
            self.error = error
            raise
        self._chunks.append(chunk)
        return chunk

    def exchange(self, scrubber: Scrubber) -> Exchange:
        """What happened, without secrets and with placeholders."""
        response = None
        if self.response is not None:
            headers = {name.lower(): value for name, value in self.response.headers.items}
            kept = sorted(_RECORDED_RESPONSE_HEADERS & headers.keys())
            response = _recorded(
                self.response.status, {name: scrubber.text(headers[name]) for name in kept}, self._chunks, scrubber
            )
        if self.error is not None:
            kind, message = type(self.error).__name__, scrubber.text(str(self.error))
            return Exchange(scrubber.request(), response, end="error", error=message, error_type=kind)
        return Exchange(scrubber.request(), response, end="cancelled" if self.cancelled else "complete")


def _recorded(status: int, headers: dict[str, str], chunks: Sequence[bytes], scrubber: Scrubber) -> RecordedResponse:
    try:
        text = _decode_pieces(chunks)
    except UnicodeDecodeError:
        # Latin-1 gives every byte a character, so that secrets are found in any body.
        scrubbed = scrubber.stream([chunk.decode("latin-1") for chunk in chunks])
        encoded = (base64.b64encode(chunk.encode("latin-1", "replace")).decode() for chunk in scrubbed)
        return RecordedResponse(status, headers, tuple(encoded), base64=True)
    return RecordedResponse(status, headers, tuple(scrubber.stream(text)))


def _decode_pieces(chunks: Sequence[bytes]) -> list[str]:
    """The chunks as text; a character that was cut in two goes to the second chunk.

    Raises:
        UnicodeDecodeError: it is not UTF-8. The start of a character at the very end, where a connection
            broke, counts as such too.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces = [decoder.decode(chunk) for chunk in chunks]
    return [piece for piece in [*pieces, decoder.decode(b"", final=True)] if piece]
