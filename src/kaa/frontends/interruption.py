"""What a signal does to a headless run: it stops in order, and the exit code says by which signal."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any

from kaa.frontends.delivery import while_delivered

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
            loop.call_soon_threadsafe(task.cancel)

    # Not handlers of the loop, which run only when the loop does.
    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
