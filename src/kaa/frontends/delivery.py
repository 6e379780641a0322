"""Writes to the standard streams, so that a full disk behind them is told apart from everything else that fails."""

from typing import IO, AnyStr


class OutputError(Exception):
    """What kaa has to say cannot be written, and not because its reader went away; the message says why."""


def deliver(stream: IO[AnyStr], text: AnyStr) -> None:
    """Write and flush.

    Raises:
        BrokenPipeError: nobody reads any more.
        OutputError: it cannot be written.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror}") from error
