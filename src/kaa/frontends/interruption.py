"""What stops a headless run from outside: signals, readers that go away, full disks. The exit code says which."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TextIO

from kaa.frontends.delivery import OutputError, deliver
from kaa.frontends.exit_codes import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_exit_code(work: Coroutine[Any, Any, int]) -> int:
    """Do `work` on an event loop of its own. Returns its exit code, or that of what stopped it."""
    try:
        return asyncio.run(_until_signalled(work))
    except BrokenPipeError:
        _discard(sys.stdout)
        return 128 + signal.SIGPIPE
    except OutputError as error:
        _discard(sys.stdout)
        try:
            deliver(sys.stderr, f"kaa: {error}\n")
        except (OutputError, BrokenPipeError):  # the exit code must do
            _discard(sys.stderr)
        return ExitCode.FAILED


def _discard(stream: TextIO) -> None:
    """Let what is still to be written vanish: Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
