"""Where `print` of code in kaa's process goes, such as that of an extension, while stdout and stderr are kaa's."""

import contextlib
import io
import sys
from collections.abc import Iterator

_MOST_CHARACTERS = 2_000


class PrintLog(io.TextIOBase):
    """A text stream whose lines are written to kaa's log."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Log the lines that are complete."""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[-_MOST_CHARACTERS:]
        if lines:
            from kaa.host.log import LOG  # lazy: nothing is printed before the first frame

            for line in filter(None, map(str.rstrip, lines)):
                LOG.warning("printed: %s", line[:_MOST_CHARACTERS])
        return len(text)


@contextlib.contextmanager
def prints_in_log() -> Iterator[None]:
    """Log what is printed: a screen is drawn where stdout and stderr lead."""
    log = PrintLog()
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        yield


@contextlib.contextmanager
def prints_on_stderr() -> Iterator[None]:
    """Print on stderr: stdout has an answer or a protocol."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
