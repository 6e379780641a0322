"""Writes to the standard streams, and what becomes of a run whose reader goes away or whose disk is full."""

import os
import signal
import sys
from collections.abc import Callable
from typing import IO, AnyStr, TextIO

from kaa.frontends.exit_codes import ExitCode


class OutputError(Exception):
    """What kaa has to say cannot be written, and not because its reader went away; the message says why."""


def deliver(stream: IO[AnyStr], text: AnyStr) -> None:
    """Write and flush; what the encoding of the stream does not have, as escapes (`PYTHONIOENCODING=ascii`).

    Raises:
        BrokenPipeError: nobody reads any more.
        OutputError: it cannot be written.
    """
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            if not isinstance(text, str):  # bytes are written as they are
                raise
            encoding = getattr(stream, "encoding", None) or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror}") from error


def terminal_columns(stream: TextIO) -> int | None:
    """How many characters fit into a line of the terminal that `stream` writes to; None if it writes elsewhere."""
    if not stream.isatty():
        return None
    import shutil  # lazy: it loads three compressors

    return shutil.get_terminal_size().columns


def while_delivered(work: Callable[[], int]) -> int:
    """Do `work`. Returns its exit code, or that of output which could not be written."""
    try:
        return work()
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
