"""What can be wrong with the keys and logins of the user."""

from kaa.core.errors import AuthError


class CredentialError(Exception):
    """A key could not be read or kept. The message says which, why and what to do, never the key."""


class LoginError(AuthError):
    """There is no login; the message says why and what to do, and holds no token."""


class MixedUpLoginError(LoginError):
    """The browser came back from another authorization server than it was sent to (RFC 9207)."""


class LoginRefusedError(LoginError):
    """The authorization server refused.

    Attributes:
        code: why, in the words of RFC 6749 5.2 and RFC 8628 3.5, such as `invalid_grant`.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnkeptLoginError(LoginError):
    """The login is good, but what renewing it gives could not be kept: the disk is full, or read-only."""
