"""Why an extension cannot be installed, listed or removed."""

from kaa.shell.mistakes import MistakeError


class InstallationError(Exception):
    """Nothing was changed; the message says what is wrong and what to do."""


class UnknownNameError(InstallationError, MistakeError):
    """What was given names no extension, plugin, marketplace or source."""
