"""kaa's log. Records go to `LOG`; nothing is written until `kaa.shell.logs` opens a file."""

import logging

LOG = logging.getLogger("kaa")
LOG.propagate = False
LOG.addHandler(logging.NullHandler())  # without any handler, `logging` writes warnings to stderr
LOG.setLevel(logging.CRITICAL + 1)


def log_hint() -> str:
    """Where the log is, for messages; without one, how to get it."""
    path = next((path for handler in LOG.handlers if (path := getattr(handler, "path", ""))), "")
    return f"The log is {path}" if path else "KAA_LOG=FILE writes a log"
