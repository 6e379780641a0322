"""Asks the user on the terminal, for `kaa ext`."""

import sys

from kaa.frontends.delivery import deliver
from kaa.shell.extensions.errors import InstallationError
from kaa.tui.sanitize import sanitize


def confirmed(question: str) -> bool:
    """Whether the user says yes.

    Raises:
        InstallationError: nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise InstallationError("nobody can be asked: give --yes to do it without a question")
    deliver(sys.stderr, f"{sanitize(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
