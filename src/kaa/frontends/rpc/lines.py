"""JSON lines over the standard streams: split at LF and nothing else, bounded in memory in both directions."""

import asyncio
import os
import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

from kaa.frontends.delivery import OutputError

# A prompt with images is the longest line there is; pi has no limit.
MAX_LINE_BYTES = 256 * 1024 * 1024
_READ_BYTES = 64 * 1024
# Lines that were read and not yet looked at. Then the client has to wait.
_WAITING_LINES = 64
# Output that the client has not taken. Beyond this the agent waits for the client.
_MAX_PENDING_BYTES = 4 * 1024 * 1024
_POLL_MILLISECONDS = 200
# A client that reads nothing for so long is gone; at the end kaa waits for less, and after a signal altogether so long.
_PATIENCE_SECONDS = 60.0
_FAREWELL_SECONDS = 5.0


class LineTooLongError(ValueError):
    """A line is longer than any command may be."""


async def read_lines(fd: int, most: int = MAX_LINE_BYTES) -> AsyncIterator[bytes | LineTooLongError]:
    """The lines of a descriptor of any kind, without their ends, until its end; one of over `most` bytes as an error.

    A thread reads, because event loops do not read regular files. It hands over plain calls: a coroutine that the loop
    no longer runs when it ends makes Python print a warning.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | LineTooLongError | None] = asyncio.Queue()
    room = threading.Semaphore(_WAITING_LINES)

    def put(item: bytes | LineTooLongError | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def read() -> None:
        try:
            for line in _split(lambda: os.read(fd, _READ_BYTES), most):
                put(line)
            put(None)
        except RuntimeError:  # the loop has ended, and with it all interest
            return

    threading.Thread(target=read, name="rpc-input", daemon=True).start()
    while (line := await queue.get()) is not None:
        room.release()
        yield line


def _split(read: Callable[[], bytes], most: int) -> Iterator[bytes | LineTooLongError]:
    """Cut what is read into lines."""
    parts: list[bytes] = []
    length = 0
    while True:
        data = _or_nothing(read)
        if not data:
            if parts and length <= most:
                yield b"".join(parts)
            return
        *ended, rest = data.split(b"\n")
        for end in ended:
            parts.append(end)
            length += len(end)
            too_long = length > most
            line = b"" if too_long else b"".join(parts).removesuffix(b"\r")
            parts, length = [], 0
            yield LineTooLongError(f"a line of over {most} bytes was ignored") if too_long else line
        length += len(rest)
        if rest and length <= most:
            parts.append(rest)
        elif length > most:
            parts = []  # only its end matters


def _or_nothing(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError:  # a terminal or a peer that went away
        return b""


class LineWriter:
    """Writes lines without waiting for the client, up to a limit; then it waits.

    Args:
        fd: where to; becomes non-blocking until `close`.
        on_gone: called once if the client does not read any more.
        is_ending: whether kaa was told to end, also while the event loop is blocked. Then only `close` waits.

    Attributes:
        error: why nothing can be written any more, where the reason is not the client.
    """

    def __init__(self, fd: int, on_gone: Callable[[], None], is_ending: Callable[[], bool]) -> None:
        self._fd = fd
        self._on_gone = on_gone
        self._is_ending = is_ending
        self.error: OutputError | None = None
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._is_watched = False
        self._is_gone = False
        self._was_blocking = os.get_blocking(fd)
        os.set_blocking(fd, False)

    def write(self, line: bytes) -> None:
        """Write a line; `line` is without its end."""
        if self._is_gone:
            return
        self._pending += line
        self._pending += b"\n"
        self._flush()
        self._wait_until(lambda: len(self._pending) <= _MAX_PENDING_BYTES or self._is_ending(), _PATIENCE_SECONDS)

    def close(self) -> None:
        """Write what is left, waiting for the client."""
        self._wait_until(lambda: not self._pending, _FAREWELL_SECONDS)
        self._unwatch()
        os.set_blocking(self._fd, self._was_blocking)

    def _wait_until(self, enough: Callable[[], bool], seconds: float) -> None:
        """Wait until the client has read enough, as long as it reads something now and then."""
        deadline, left = time.monotonic() + seconds, len(self._pending)
        while not enough() and not self._is_gone:
            self._wait()
            self._flush()
            if len(self._pending) < left and not self._is_ending():
                deadline, left = time.monotonic() + seconds, len(self._pending)
            elif time.monotonic() > deadline:
                self._give_up()

    def _give_up(self) -> None:
        self._is_gone = True
        self._pending.clear()
        self._on_gone()

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        poll.poll(_POLL_MILLISECONDS)

    def _flush(self) -> None:
        try:
            while self._pending:
                with memoryview(self._pending) as view:
                    written = os.write(self._fd, view[:_READ_BYTES])
                del self._pending[:written]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self._give_up()
        except OSError as error:
            self.error = OutputError(f"the output cannot be written: {error.strerror}")
            self._give_up()
        if self._pending:
            self._watch()
        else:
            self._unwatch()

    def _watch(self) -> None:
        if not self._is_watched:
            try:
                self._loop.add_writer(self._fd, self._flush)
            except (OSError, PermissionError):  # a regular file, which is never full
                self._wait()
                return
            self._is_watched = True

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_writer(self._fd)
