"""An emulated screen in the place of a terminal's device: for tests with the user interface in their own process."""

import os

from kaa.tui.device import Device
from tests.support.known_sequences import KnownSequences
from tests.support.screen import Screen


class ScreenDevice(Device):
    """A device that is an emulated screen. Its input comes through a pipe, so that the reactor can wait for it.

    Attributes:
        written: whether what was written is what kaa may write.
    """

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.written = KnownSequences()
        self.input_fd, self._typed = os.pipe()
        self.output_fd = -1
        self.gone = self.is_cut_off = False
        self.erase = "\x7f"
        self._raw = False

    @property
    def is_raw(self) -> bool:
        return self._raw

    def make_raw(self) -> None:
        self._raw = True

    def make_cooked(self) -> None:
        self._raw = False

    def type(self, data: bytes) -> None:
        """Somebody types, or the terminal answers."""
        while data:
            data = data[os.write(self._typed, data[:65536]) :]

    def read(self) -> bytes:
        return os.read(self.input_fd, 65536)

    def read_within(self, seconds: float) -> bytes:
        return b""

    def write(self, text: str) -> None:
        self.written.feed(text)
        self.screen.feed(text)

    def size(self) -> tuple[int, int]:
        return self.screen.columns, self.screen.rows

    def close(self) -> None:
        for fd in (self.input_fd, self._typed):
            os.close(fd)
