"""What can go wrong with a language server."""


class LanguageServerError(Exception):
    """A server did not do what it was asked; the message says why."""


class LanguageServerGoneError(LanguageServerError):
    """A server ended, or kaa ended it because of what it did; the message is the end of a sentence."""
