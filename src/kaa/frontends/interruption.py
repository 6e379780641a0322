"""What a signal does to a headless run: it stops in order, and the exit code says by which signal."""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine
from typing import Any

from kaa.frontends.delivery import while_delivered

# For what is still to be written once the run has ended by a signal. Nobody may be there to read it.
_LAST_WORDS_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_exit_code(work: Coroutine[Any, Any, int]) -> int:
    """Do `work` on an event loop of its own. Returns its exit code, or that of what stopped it."""
    return while_delivered(lambda: asyncio.run(_until_signalled(work)))


async def _until_signalled(work: Coroutine[Any, Any, int]) -> int:
    """Do `work`; a signal cancels it, a second one ends the process at once, also while the event loop is blocked."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    received: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        if task is not None:
            task.cancel()  # at once, so that whoever blocks the loop can see it
            loop.call_soon_threadsafe(lambda: None)  # wakes the loop

    # Not handlers of the loop, which run only when the loop does.
    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        _end_in_time(128 + received[0])
        return 128 + received[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_in_time(code: int) -> None:
    """Make sure that this process ends soon, also where it waits for a reader of its standard error."""
    timer = threading.Timer(_LAST_WORDS_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()
