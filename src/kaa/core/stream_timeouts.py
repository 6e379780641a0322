"""How long a reply may take, and how long its stream may bring nothing of it.

A server can be alive and useless: it sends signs of life, and never a word. The network cannot tell, so it is told
here, where only what belongs to a reply is seen; that holds for every wire format.
"""

import asyncio
from collections.abc import AsyncGenerator
from math import inf

import msgspec

from kaa.core.errors import StalledStreamError
from kaa.core.provider import StreamEvent


class StreamTimeouts(msgspec.Struct, frozen=True):
    """When to stop waiting for a reply.

    Attributes:
        reply_seconds: for a whole reply; None for as long as it takes.
        silence_seconds: until the first piece of it and between two; None waits for ever. Models may think for minutes
            without a word of it being sent.
    """

    reply_seconds: float | None = None
    silence_seconds: float | None = 600.0


async def with_timeouts(
    stream: AsyncGenerator[StreamEvent, None], timeouts: StreamTimeouts
) -> AsyncGenerator[StreamEvent, None]:
    """What `stream` yields, as long as it comes in time. Closing it closes `stream`.

    Raises:
        StalledStreamError: it did not.
        ProviderError: as `stream` raises it.
    """
    watch = _Watch(timeouts)
    try:
        while True:
            watch.begin_wait()
            try:
                event = await anext(stream)
            except StopAsyncIteration:
                return
            except BaseException as error:
                if watch.was_it():
                    raise watch.complaint() from error
                raise
            finally:
                watch.end_wait()
            yield event
    finally:
        watch.stop()
        await stream.aclose()


class _Watch:
    """Cancels a wait that takes too long, and nothing else: whoever takes an event must not be hit.

    One timer, looked at when it goes off: `asyncio.timeout` around each wait took 8 µs a piece, and a reply may have
    tens of thousands of them.
    """

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._begun = self._since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._cancelled: asyncio.Task[object] | None = None
        self._other_cancellations = 0

    def begin_wait(self) -> None:
        self._waiting = asyncio.current_task()
        self._since = self._loop.time()
        if self._timer is None:
            self._arm()

    def end_wait(self) -> None:
        self._waiting = None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def was_it(self) -> bool:
        """Whether a cancellation is ours alone; it is then done with."""
        return self._cancelled is not None and self._cancelled.uncancel() <= self._other_cancellations

    def complaint(self) -> StalledStreamError:
        """What to say of the wait that took too long."""
        if self._deadline() == self._end():
            return StalledStreamError(
                f"The reply was not complete after {self._timeouts.reply_seconds:g} s, the most that the setting "
                "retry.provider.timeoutMs allows. Allow more, or choose a faster model."
            )
        return StalledStreamError(
            "The server kept the connection open, but sent nothing of the reply for "
            f"{self._timeouts.silence_seconds:g} s. Try again, or choose another model; the setting "
            "retry.provider.silenceTimeoutMs allows more."
        )

    def _end(self) -> float:
        whole = self._timeouts.reply_seconds
        return inf if whole is None else self._begun + whole

    def _deadline(self) -> float:
        silence = self._timeouts.silence_seconds
        return self._end() if silence is None else min(self._end(), self._since + silence)

    def _arm(self) -> None:
        deadline = self._deadline()
        self._timer = self._loop.call_at(deadline, self._look) if deadline < inf else None

    def _look(self) -> None:
        self._timer = None
        if self._waiting is None:
            return  # the next wait sets another timer
        if self._loop.time() < self._deadline():
            self._arm()
            return
        self._cancelled = self._waiting
        self._other_cancellations = self._cancelled.cancelling()
        self._cancelled.cancel()
