"""The loop of the thread that owns the terminal: input, timers, signals, and work that other threads hand over.

Not asyncio, which takes longer to load than kaa may take to show its first frame.
"""

import os
import select
import signal
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Collection
from types import FrameType
from typing import TypeAlias

Callback: TypeAlias = Callable[[], object]

# In the pipe that wakes the loop: a callback was posted. Signals write their numbers, which are never 0.
_POSTED = b"\0"


class Timer:
    """A call that is due. `when` is in seconds of `time.monotonic`."""

    def __init__(self, when: float, callback: Callback) -> None:
        self.when = when
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        """Do not make the call; nothing if it was made."""
        self.is_cancelled = True


class Reactor:
    """Calls back, one after another, in the thread that runs it; an exception in a callback comes out of `run`.

    Input goes first, then posted work, then timers: a timer that waits for a pause in the input sees input that came
    in time even if the loop was late.
    """

    def __init__(self) -> None:
        # `select`, because `poll` does not know terminals on macOS; these descriptors are small, made at the start.
        self._readers: dict[int, Callback] = {}
        self._timers: list[Timer] = []
        self._posted: deque[Callback] = deque()
        self._signals: dict[int, Callback] = {}
        self._previous_handlers: dict[int, object] = {}
        self._unseen: set[int] = set()  # signals that the loop has not got to
        self._previous_wakeup = -1
        self._is_stopped = False
        self._is_woken = False
        self._wake_out, self._wake_in = os.pipe()
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)

    def watch(self, fd: int, callback: Callback) -> None:
        """Call whenever there is something to read, or the end of it."""
        self._readers[fd] = callback

    def unwatch(self, fd: int) -> None:
        """Do not call any more; nothing if it was not watched."""
        self._readers.pop(fd, None)

    def call_later(self, seconds: float, callback: Callback) -> Timer:
        """Call once, not before this time is over."""
        timer = Timer(time.monotonic() + seconds, callback)
        insort(self._timers, timer, key=lambda timer: timer.when)
        return timer

    def post(self, callback: Callback) -> None:
        """Call soon, in order. From any thread, also from a signal's handler."""
        self._posted.append(callback)
        # The loop clears this before it looks at what was posted: either it sees ours, or we wake it.
        if not self._is_woken:
            self._wake()

    def on_signal(self, signum: int, callback: Callback) -> None:
        """Call after this signal, in the loop; several in a row may be one call. From the main thread only.

        If it comes again before the loop got to it, whoever handled the signal before does.
        """
        if not self._signals:
            self._previous_wakeup = signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        previous = signal.signal(signum, self._note)
        self._previous_handlers.setdefault(signum, previous)
        self._signals[signum] = callback

    def ignoring(self, signums: Collection[int], work: Callback) -> None:
        """Work, and hear nothing of these signals if they come meanwhile."""
        callbacks = {signum: self._signals.pop(signum) for signum in signums if signum in self._signals}
        try:
            work()
        finally:
            if others := bytes(byte for byte in self._read_wakeups() if byte not in signums):
                os.write(self._wake_in, others)
            self._unseen -= {*signums}
            self._signals |= callbacks

    def run(self) -> None:
        """Until `stop`. Can be run again."""
        while not self._is_stopped:
            self._turn()
        self._is_stopped = False

    def stop(self) -> None:
        """End `run` after the callback that is running, or the next one at once. From any thread."""
        self._is_stopped = True
        self._wake()

    def close(self) -> None:
        """Give back signals and descriptors. Nothing if that was done."""
        if self._wake_in < 0:
            return
        for signum, handler in self._previous_handlers.items():
            signal.signal(signum, handler)  # type: ignore[arg-type]  # what `signal.signal` returned
        if self._signals:
            signal.set_wakeup_fd(self._previous_wakeup)
        self._previous_handlers.clear()
        self._signals.clear()
        wake_in, self._wake_in = self._wake_in, -1
        os.close(wake_in)
        os.close(self._wake_out)

    def _turn(self) -> None:
        ready, _, _ = select.select([self._wake_out, *self._readers], (), (), self._seconds_to_wait())
        for fd in ready:
            if fd == self._wake_out:
                self._woken()
            elif (callback := self._readers.get(fd)) and not self._is_stopped:
                callback()
        for _ in range(len(self._posted)):
            if not self._is_stopped:
                self._posted.popleft()()
        now = time.monotonic()
        while not self._is_stopped and self._timers and (self._timers[0].when <= now or self._timers[0].is_cancelled):
            timer = self._timers.pop(0)
            if not timer.is_cancelled:
                timer.callback()

    def _seconds_to_wait(self) -> float | None:
        while self._timers and self._timers[0].is_cancelled:
            self._timers.pop(0)
        if self._posted:
            return 0
        return max(0, self._timers[0].when - time.monotonic()) if self._timers else None

    def _wake(self) -> None:
        self._is_woken = True
        if self._wake_in < 0:
            return  # closed: nobody is left to be woken
        try:
            os.write(self._wake_in, _POSTED)
        except BlockingIOError:
            return  # full of wake-ups

    def _woken(self) -> None:
        woken_by = self._read_wakeups()
        # Not before: what wakes us between the two would be read here, and what comes after it wake nobody.
        self._is_woken = False
        for signum in set(woken_by) - {0}:
            self._unseen.discard(signum)
            if callback := self._signals.get(signum):
                callback()

    def _read_wakeups(self) -> bytes:
        try:
            return os.read(self._wake_out, 4096)
        except BlockingIOError:
            return b""

    def _note(self, signum: int, frame: FrameType | None) -> None:
        """Only signals that have a handler in Python have their numbers written into the pipe."""
        before = self._previous_handlers.get(signum)
        if signum in self._unseen and callable(before):
            before(signum, frame)
        self._unseen.add(signum)
