"""What can go wrong with an MCP server. Every message is a sentence for people and for the model."""

from kaa.core.messages import Json


class McpError(Exception):
    """A server answered with an error, did not answer, or answered something that cannot be understood.

    Attributes:
        code: the JSON-RPC error code of the answer; None if the server sent none.
        data: what the error carried besides.
        status: the HTTP status that it came with, if it came so.
    """

    def __init__(self, message: str, *, code: int | None = None, data: Json = None, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.status = status


class NoAnswerError(McpError):
    """The server did not answer in time."""


class ServerGoneError(McpError):
    """The connection ended, or could not be made: the program exited, or nobody listens at the address."""


class UnsupportedServerError(McpError):
    """The server speaks no revision of the protocol that kaa speaks, or demands something that kaa does not do."""


class LoginNeededError(McpError):
    """The server wants a person to log in first.

    Attributes:
        challenge: the value of the header `WWW-Authenticate` that came with the refusal; may be empty.
    """

    def __init__(self, message: str, *, challenge: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


class LegacyNeededError(McpError):
    """A tool asks its user something in the way of older revisions: the server must be talked to in that way."""
