"""The interface that keeps a conversation within the context window of its model."""

from typing import Protocol


class ContextLimiter(Protocol):
    """May replace what the model is told of the conversation, whenever no reply and no tool is under way."""

    async def before_request(self) -> None:
        """A request is about to be built: make room if it is time to."""
        ...

    @property
    def can_make_room(self) -> bool:
        """Whether it would try, should the conversation turn out to be too long now."""
        ...

    async def make_room(self, window: int | None) -> bool:
        """The conversation was too long for the model.

        Args:
            window: of the model, in tokens, as its server said with the refusal; None if it did not.

        Returns:
            Whether the request is worth another try.
        """
        ...


class NoContextLimiter:
    """Never changes the conversation."""

    can_make_room = False

    async def before_request(self) -> None:
        """There is nothing to do."""

    async def make_room(self, window: int | None) -> bool:
        """Never possible."""
        return False
