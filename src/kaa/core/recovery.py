"""What the model caller can try when a request fails: make room in the context window, or use another model."""

from typing import Protocol

from kaa.core.errors import BadRequestError, ContextOverflowError, ModelNotFoundError, ProviderError


class ContextLimiter(Protocol):
    """May replace what the model is told of the conversation, whenever no reply and no tool is under way."""

    async def before_request(self) -> None:
        """A request is about to be built: make room if it is time to."""

    @property
    def can_make_room(self) -> bool:
        """Whether it would try, should the conversation turn out to be too long now."""

    async def make_room(self, error: ContextOverflowError) -> bool:
        """The conversation was too long for the model, or too large for its server.

        Args:
            error: the refusal.

        Returns:
            Whether the request is worth another try.
        """


class NoContextLimiter:
    """Never changes the conversation."""

    can_make_room = False

    async def before_request(self) -> None:
        """There is nothing to do."""

    async def make_room(self, error: ContextOverflowError) -> bool:
        """Never possible."""
        return False


class Fallback(Protocol):
    """May put another model in the place of one that does not answer."""

    async def take_over(self, error: ProviderError) -> bool:
        """The model in force was given up because of `error`. Returns whether another one answers from now on."""


class NoFallback:
    """There is no other model."""

    async def take_over(self, error: ProviderError) -> bool:
        """It never does."""
        return False


def worth_another_model(error: ProviderError) -> bool:
    """Whether another model may do better: not with a wrong request, or a conversation that is too long."""
    return isinstance(error, ModelNotFoundError) or not isinstance(error, BadRequestError)
