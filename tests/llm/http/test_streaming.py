"""What is read of an answer that is an error."""

import asyncio
from collections.abc import AsyncIterator

from kaa.core.errors import NetworkError
from kaa.llm.http.streaming import error_body
from kaa.llm.http.transport import Headers, HttpResponse


async def _hanging() -> AsyncIterator[bytes]:
    yield b"please upgrade"
    await asyncio.Event().wait()


async def _breaking() -> AsyncIterator[bytes]:
    yield b"please upgrade"
    raise NetworkError("gone")


def test_an_error_whose_body_never_ends_is_told_with_what_came() -> None:
    read = asyncio.run(error_body(HttpResponse(426, Headers(()), _hanging()), seconds=0.01))

    assert read == b"please upgrade"


def test_a_connection_that_breaks_does_not_hide_the_error() -> None:
    assert asyncio.run(error_body(HttpResponse(500, Headers(()), _breaking()))) == b"please upgrade"
