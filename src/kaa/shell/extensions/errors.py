"""Why an extension cannot be installed, listed or removed."""


class InstallationError(Exception):
    """Nothing was changed; the message says what is wrong and what to do."""
