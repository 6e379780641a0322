"""What stops a headless run from outside: signals, and readers that go away. The exit code says which it was."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_exit_code(work: Coroutine[Any, Any, int]) -> int:
    """Do `work` on an event loop of its own. Returns its exit code, or that of what stopped it."""
    try:
        return asyncio.run(_until_signalled(work))
    except BrokenPipeError:
        # Nobody reads any more. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


async def _until_signalled(work: Coroutine[Any, Any, int]) -> int:
    """Do `work`; a signal cancels it, a second one ends the process at once."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    received: list[int] = []

    def interrupt(number: int) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        if task is not None:
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt, number)
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
