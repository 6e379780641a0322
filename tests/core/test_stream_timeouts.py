"""Waiting for the pieces of a reply, but not for ever."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from kaa.core.errors import NetworkError, StalledStreamError
from kaa.core.provider import StreamEvent, TextChunk
from kaa.core.stream_timeouts import StreamTimeouts, with_timeouts
from tests.support.agents import run

WORD = TextChunk("text", "word ")
BRIEF = 0.05


class Stream:
    """Yields after pauses, in seconds; None waits for ever."""

    def __init__(self, *pauses: float | None, error: Exception | None = None) -> None:
        self._pauses = pauses
        self._error = error
        self.is_closed = False

    async def __call__(self) -> AsyncGenerator[StreamEvent, None]:
        try:
            for pause in self._pauses:
                if pause is None:
                    await asyncio.Event().wait()
                elif pause:
                    await asyncio.sleep(pause)
                yield WORD
            if self._error is not None:
                raise self._error
        finally:
            self.is_closed = True


async def count(stream: Stream, timeouts: StreamTimeouts, pause: float = 0.0) -> int:
    """Take everything, with a pause of our own behind each piece."""
    taken = 0
    async with aclosing(with_timeouts(stream(), timeouts)) as events:
        async for _ in events:
            taken += 1
            await asyncio.sleep(pause)
    return taken


@pytest.mark.parametrize(
    "timeouts", [StreamTimeouts(), StreamTimeouts(None, None), StreamTimeouts(20, 20), StreamTimeouts(20, None)]
)
def test_what_comes_in_time_comes_through(timeouts: StreamTimeouts) -> None:
    assert run(count(Stream(0, 0.01, 0), timeouts)) == 3


@pytest.mark.parametrize("stream", [Stream(None), Stream(0, 0, None)])
def test_silence_ends_a_stream_and_closes_it(stream: Stream) -> None:
    with pytest.raises(StalledStreamError, match=r"sent nothing of the reply for 0\.05 s"):
        run(count(stream, StreamTimeouts(silence_seconds=BRIEF)))

    assert stream.is_closed


def test_pieces_again_and_again_do_not_make_a_reply_endless() -> None:
    with pytest.raises(StalledStreamError, match=r"not complete after 0\.05 s"):
        run(count(Stream(*[0.01] * 1000), StreamTimeouts(reply_seconds=BRIEF)))


def test_pieces_that_come_keep_it_going() -> None:
    assert run(count(Stream(*[0.01] * 12), StreamTimeouts(silence_seconds=2.0))) == 12


def test_whoever_takes_their_time_with_a_piece_is_left_alone() -> None:
    assert run(count(Stream(0, 0), StreamTimeouts(silence_seconds=BRIEF), pause=3 * BRIEF)) == 2


def test_what_a_stream_raises_comes_through() -> None:
    with pytest.raises(NetworkError, match="gone"):
        run(count(Stream(0, error=NetworkError("gone")), StreamTimeouts()))


def test_being_cancelled_is_not_taken_for_silence() -> None:
    stream = Stream(None)

    async def scenario() -> None:
        task = asyncio.create_task(count(stream, StreamTimeouts()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())
    assert stream.is_closed


def test_afterwards_nothing_of_it_is_left() -> None:
    async def scenario() -> None:
        with pytest.raises(StalledStreamError):
            await count(Stream(None), StreamTimeouts(silence_seconds=BRIEF))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(2 * BRIEF)

    run(scenario())
