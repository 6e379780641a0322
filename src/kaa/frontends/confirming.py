"""Asks the user on the terminal, for commands such as `kaa ext` and `kaa mcp`."""

import sys

from kaa.frontends.delivery import deliver
from kaa.tui.sanitize import sanitize


class NobodyAnswersError(Exception):
    """A command needs a yes, and nobody can be asked."""


def confirmed(question: str) -> bool:
    """Whether the user says yes.

    Raises:
        NobodyAnswersError: nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise NobodyAnswersError("nobody can be asked: give --yes to do it without a question")
    deliver(sys.stderr, f"{sanitize(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
