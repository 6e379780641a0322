"""Typing in the user's terminal, and reading what the user types in another one."""

import fcntl
import os
import termios

from tests.escapes.attempts.kit import Given, attempt

_TIOCLINUX = 0x541C


@attempt("keyboard", alone=True)
def type_for_the_user(given: Given) -> None:
    """Put characters into the terminal's input (TIOCSTI), for the shell that reads it next."""
    _type(0, given.text)


@attempt("keyboard", alone=True)
def type_with_high_bits(given: Given) -> None:
    """The same with a number whose low half is meant: filters compare 64 bits, the kernel 32 (CVE-2019-10063)."""
    import ctypes

    from tests.escapes.attempts.kit import libc

    for character in given.text:
        libc.ioctl(0, ctypes.c_ulong(termios.TIOCSTI | 1 << 32), character.encode())


@attempt("keyboard", alone=True)
def type_by_controlling_terminal(given: Given) -> None:
    """The same by /dev/tty."""
    _type(os.open("/dev/tty", os.O_RDWR), given.text)


@attempt("keyboard", alone=True, unproven="it needs a console of Linux")
def paste_selection(given: Given) -> None:
    """Paste a selection of the console's into its input (TIOCLINUX, CVE-2023-28100)."""
    paste = 3
    fcntl.ioctl(0, _TIOCLINUX, bytes([paste]))


@attempt("other-terminal")
def write_to_other_terminal(given: Given) -> None:
    """Write to a terminal that is not ours."""
    fd = os.open(given.path, os.O_WRONLY | os.O_NOCTTY)
    os.write(fd, b"harm")


@attempt("other-terminal")
def read_other_terminal(given: Given) -> bytes:
    """Read what is typed in a terminal that is not ours."""
    fd = os.open(given.path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    return os.read(fd, 4096)


def _type(fd: int, text: str) -> None:
    for character in text:
        fcntl.ioctl(fd, termios.TIOCSTI, character.encode())
