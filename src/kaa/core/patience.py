"""How long a reply may take, and how long its stream may bring nothing of it.

A server can be alive and useless: it sends signs of life, and never a word. The network cannot tell, so it is told
here, where only what belongs to a reply is seen; that holds for every wire format.
"""

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from kaa.core.errors import StalledStreamError
from kaa.core.provider import StreamEvent


class Patience(msgspec.Struct, frozen=True):
    """When to stop waiting for a reply.

    Attributes:
        reply_seconds: for a whole reply; None for as long as it takes.
        silence_seconds: until the first piece of it and between two; None waits for ever. Models may think for minutes
            without a word of it being sent.
    """

    reply_seconds: float | None = None
    silence_seconds: float | None = 600.0


async def patiently(stream: AsyncGenerator[StreamEvent, None], patience: Patience) -> AsyncGenerator[StreamEvent, None]:
    """What `stream` yields, as long as it comes in time. Closing it closes `stream`.

    Raises:
        StalledStreamError: it did not.
        ProviderError: as `stream` raises it.
    """
    now = asyncio.get_running_loop().time
    end = None if patience.reply_seconds is None else now() + patience.reply_seconds
    try:
        while True:
            silence = None if patience.silence_seconds is None else now() + patience.silence_seconds
            deadline = min((moment for moment in (end, silence) if moment is not None), default=None)
            try:
                # Around the one wait and never around a yield: whoever takes the event must not be cancelled.
                async with asyncio.timeout_at(deadline):
                    event = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise _given_up(patience, whole=deadline == end) from error
            yield event
    finally:
        await stream.aclose()


def _given_up(patience: Patience, *, whole: bool) -> StalledStreamError:
    if whole:
        return StalledStreamError(
            f"The reply was not complete after {patience.reply_seconds:g} s, the most that the setting "
            "retry.provider.timeoutMs allows. Allow more, or choose a faster model."
        )
    return StalledStreamError(
        f"The server kept the connection open, but sent nothing of the reply for {patience.silence_seconds:g} s. "
        "Try again, or choose another model; the setting retry.provider.silenceTimeoutMs allows more."
    )
