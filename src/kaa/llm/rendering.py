"""Renders each message of a conversation once, however often the conversation is sent."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from kaa.core.messages import Message
from kaa.core.provider import Model

Rendered = TypeVar("Rendered")


class RenderedOnce(Generic[Rendered]):
    """Remembers what `render` made of the messages of the request before.

    Messages are immutable and stay the same objects while a conversation grows, so identity tells them apart.

    Args:
        render: depends on nothing but the message and the model. Nobody may change what it returns.
    """

    def __init__(self, render: Callable[[Message, Model], Rendered]) -> None:
        self._render = render
        self._model: Model | None = None
        self._known: dict[int, tuple[Message, Rendered]] = {}

    def __call__(self, messages: Iterable[Message], model: Model) -> list[tuple[Message, Rendered]]:
        """Every message with its rendering for `model`; the renderings of other messages are forgotten."""
        known = self._known if model == self._model else {}
        pairs = [known.get(id(message)) or (message, self._render(message, model)) for message in messages]
        self._known, self._model = {id(pair[0]): pair for pair in pairs}, model
        return pairs
