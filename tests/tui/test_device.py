import os
import termios
import threading
from collections.abc import Iterator

import pytest

from kaa.tui.device import Device


@pytest.fixture
def line() -> Iterator[tuple[int, int]]:
    """A terminal: the end of whoever looks at it, and that of the program."""
    terminal, line = os.openpty()
    yield terminal, line
    for fd in (terminal, line):
        try:
            os.close(fd)
        except OSError:
            continue  # the test closed it


def test_keys_that_were_typed_before_are_kept(line: tuple[int, int]) -> None:
    terminal, program = line
    device = Device(program, program)
    os.write(terminal, b"typed early\r")

    device.make_raw()
    os.write(terminal, b"and late\n")

    read = b""
    while len(read) < 21:
        read += device.read()
    # The kernel had made the first one a line feed; the second one is ctrl+j.
    assert read == b"typed early\rand late\n"


def test_settings_are_restored_exactly(line: tuple[int, int]) -> None:
    _, program = line
    before = termios.tcgetattr(program)
    device = Device(program, program)

    device.make_raw()
    during = termios.tcgetattr(program) != before, device.is_raw
    device.make_cooked()

    assert during == (True, True)
    assert not device.is_raw
    assert termios.tcgetattr(program) == before


@pytest.mark.parametrize("blocking", [True, False])
def test_a_slow_terminal_gets_everything(line: tuple[int, int], blocking: bool) -> None:
    terminal, program = line
    device = Device(program, program)
    device.make_raw()
    os.set_blocking(program, blocking)
    text = "0123456789äöü漢" * 20_000
    received: list[bytes] = []

    def read() -> None:
        left = len(text.encode())
        while left:
            received.append(os.read(terminal, 1000))
            left -= len(received[-1])

    reader = threading.Thread(target=read)
    reader.start()
    device.write(text)
    reader.join()

    assert b"".join(received).decode() == text
    assert not device.is_cut_off


def test_a_terminal_that_is_gone_is_no_error(line: tuple[int, int]) -> None:
    terminal, program = line
    device = Device(program, program)
    device.make_raw()
    os.close(terminal)

    device.write("nobody sees this")

    assert device.gone
    assert device.read() == b""
    device.make_cooked()


def test_reading_from_a_terminal_that_is_gone_ends(line: tuple[int, int]) -> None:
    terminal, program = line
    device = Device(program, program)
    os.close(terminal)

    assert device.read() == b""
    assert device.gone


def test_waiting_for_input_has_an_end(line: tuple[int, int]) -> None:
    _, program = line

    assert Device(program, program).read_within(0.01) == b""


def test_the_backspace_key_is_known(line: tuple[int, int]) -> None:
    _, program = line
    settings = termios.tcgetattr(program)
    settings[6][termios.VERASE] = b"\x08"
    termios.tcsetattr(program, termios.TCSANOW, settings)

    assert Device(program, program).erase == "\x08"


def test_a_size_of_nothing_is_none(line: tuple[int, int]) -> None:
    _, program = line
    device = Device(program, program)
    termios.tcsetwinsize(program, (0, 0))

    assert device.size() is None

    termios.tcsetwinsize(program, (24, 80))

    assert device.size() == (80, 24)
