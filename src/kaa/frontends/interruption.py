"""What a signal does to a headless run: it stops in order, and the exit code says by which signal."""

import asyncio
import signal
from collections.abc import Collection, Coroutine
from typing import Any

from kaa.frontends.delivery import while_delivered
from kaa.host.process import exit_by_signal, exit_soon

# For what is still to be written once the run has ended by a signal. Nobody may be there to read it.
_LAST_WORDS_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_exit_code(work: Coroutine[Any, Any, int], signals: Collection[int] = _SIGNALS) -> int:
    """Do `work` on an event loop of its own. Returns its exit code, or that of what stopped it."""
    return while_delivered(lambda: asyncio.run(_until_signalled(work, signals)))


async def _until_signalled(work: Coroutine[Any, Any, int], signals: Collection[int]) -> int:
    """Do `work`; a signal cancels it, a second one ends the process at once, also while the event loop is blocked.

    Both let a login that is being renewed be written.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    received: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        if received:
            exit_by_signal(number)
            return
        received.append(number)
        if task is not None:
            task.cancel()  # at once, so that whoever blocks the loop can see it
            loop.call_soon_threadsafe(lambda: None)  # wakes the loop

    # Not handlers of the loop, which run only when the loop does.
    before = {number: signal.signal(number, interrupt) for number in signals}
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        # Also where it waits for a reader of its standard error.
        exit_soon(128 + received[0], after=_LAST_WORDS_SECONDS)
        return 128 + received[0]
    finally:
        if not received:  # else the process ends, and another signal still ends it at once
            for number, handler in before.items():
                signal.signal(number, handler)
