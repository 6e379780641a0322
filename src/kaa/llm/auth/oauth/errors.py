"""Why a login did not come about, or holds no longer."""

from kaa.core.errors import AuthError


class LoginError(AuthError):
    """There is no login; the message says why and what to do, and holds no token."""


class LoginRefusedError(LoginError):
    """The authorization server refused.

    Attributes:
        code: why, in the words of RFC 6749 5.2 and RFC 8628 3.5, such as `invalid_grant`.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code
