"""What can go wrong when a model is asked, as one tree that no vendor's name appears in.

`transient` decides whether the loop tries again; the message always says what to do.
"""


class ProviderError(Exception):
    """A request to a model failed.

    Attributes:
        status: HTTP status code, if the server answered.
        retry_after: seconds the server asked us to wait, if it did.
    """

    transient = False

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def kind(self) -> str:
        """What went wrong, for programs: the name of a class of this module, whatever was made out of it elsewhere."""
        return next(kind.__name__ for kind in type(self).__mro__ if kind.__module__ == __name__)


class AuthError(ProviderError):
    """The key is missing, wrong or may not do this (401, 403)."""


class BadRequestError(ProviderError):
    """The server refused the request as malformed or unsupported (400, 422): sending it again is useless."""


class HookError(BadRequestError):
    """A hook that steps in before requests failed: what it was to change is not known to be fit for the model."""


class ModelNotFoundError(BadRequestError):
    """The server has no model of this name, or nothing at this address (404): another model may be there."""


class ContextOverflowError(BadRequestError):
    """The conversation is larger than the model's context window.

    Attributes:
        window: the window that the server named, in tokens; None if it named none.
    """

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None, window: int | None = None
    ) -> None:
        super().__init__(message, status=status, retry_after=retry_after)
        self.window = window


class RequestTooLargeError(ContextOverflowError):
    """The request has more bytes, or larger images, than the server takes (413), however few tokens they are."""


class RateLimitError(ProviderError):
    """Too many requests or tokens (429). Permanent if the account is out of credit."""

    transient = True


class QuotaError(ProviderError):
    """The account has no credit left: waiting does not help."""


class OverloadedError(ProviderError):
    """The server is overloaded or failed (5xx, 529)."""

    transient = True


class NetworkError(ProviderError):
    """The server could not be reached or the connection broke."""

    transient = True


class MalformedStreamError(ProviderError):
    """The server's answer could not be understood, or ended early, or said nothing."""

    transient = True


class EndlessReplyError(ProviderError):
    """A reply is larger than any model may answer, and goes on: trying again would only bring as much again."""


class StalledStreamError(NetworkError):
    """The server went silent in the middle of an answer."""
