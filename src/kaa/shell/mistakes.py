"""Mistakes of whoever gave a command: kaa did nothing wrong, and another try of the same changes nothing."""


class MistakeError(Exception):
    """Something that a command names is not there, or not what it takes; `kaa` exits with 2 for it."""
