"""Who answers when a model has been given up. The loop asks; which models there are, it does not know."""

from typing import Protocol

from kaa.core.errors import BadRequestError, ModelNotFoundError, ProviderError


class Fallback(Protocol):
    """May put another model in the place of one that does not answer."""

    async def take_over(self, error: ProviderError) -> bool:
        """The model in force was given up because of `error`. Returns whether another one answers from now on."""
        ...


class NoFallback:
    """There is no other model."""

    async def take_over(self, error: ProviderError) -> bool:
        """It never does."""
        return False


def worth_another_model(error: ProviderError) -> bool:
    """Whether another model may do better: not with a wrong request, or a conversation that is too long."""
    return isinstance(error, ModelNotFoundError) or not isinstance(error, BadRequestError)
