"""The model of a conversation of which only the tools are used: it is there in name only."""

from contextlib import AbstractAsyncContextManager

from kaa.core.errors import AuthError
from kaa.core.provider import Model
from kaa.llm.http.transport import HttpRequest, HttpResponse
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.wire import Endpoint

NO_MODEL = ResolvedModel(
    Model("none", "none", "openai-completions", input=("text", "image")), Endpoint("https://none.invalid")
)


class NoTransport:
    """A `Transport` that sends nothing.

    Args:
        reason: why there is no model, in a sentence.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpResponse]:
        """Refuse a request.

        Raises:
            AuthError: always.
        """
        raise AuthError(self._reason)

    async def close(self) -> None: ...
