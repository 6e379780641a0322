"""A pseudo-terminal for a command in the background, so that programs that ask and answer can be written to."""

import asyncio
import os
import termios
from typing import Final

_ROWS_AND_COLUMNS: Final = (50, 160)
_SECONDS: Final = 5.0  # a program that reads no input for so long is not written to


class ProgramTerminal:
    """The end of kaa."""

    def __init__(self) -> None:
        ours, theirs = os.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[1] &= ~termios.OPOST  # lines end as the program ends them
        attributes[3] &= ~termios.ECHO  # the output is the program's alone
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        termios.tcsetwinsize(theirs, _ROWS_AND_COLUMNS)
        os.set_blocking(ours, False)
        self._input: int | None = os.dup(ours)
        self._unused = [ours, theirs]
        self._ready = asyncio.Event()
        self._lock = asyncio.Lock()

    def take(self) -> tuple[int, int]:
        """Return the end to read from and that of the command; both are the caller's to close."""
        ours, theirs = self._unused
        self._unused = []
        return ours, theirs

    async def write(self, data: bytes) -> bool:
        """Write input. Returns False if the program takes none."""
        try:
            async with asyncio.timeout(_SECONDS), self._lock:
                while data and self._input is not None:
                    try:
                        data = data[os.write(self._input, data) :]
                    except BlockingIOError:
                        await self._writable(self._input)
        except (OSError, TimeoutError):
            return False
        return not data

    def close(self) -> None:
        """Write no more."""
        if self._input is not None:
            asyncio.get_running_loop().remove_writer(self._input)
            for descriptor in (self._input, *self._unused):
                os.close(descriptor)
            self._input = None
            self._ready.set()

    async def _writable(self, descriptor: int) -> None:
        self._ready.clear()
        asyncio.get_running_loop().add_writer(descriptor, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            if self._input is not None:  # else the number may be another's by now
                asyncio.get_running_loop().remove_writer(descriptor)
