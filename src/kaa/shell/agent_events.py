"""Tells of the agents that tools run. Their subscribers are others than those of the conversation's own agent."""

from collections.abc import Callable

from kaa.core.agent import Subscriber
from kaa.core.events import Event


class AgentEvents:
    """Passes on the events of the agents that tools run, each with the agent's id."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Pass every event to `subscriber`. Returns a function that ends this."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def emit(self, event: Event) -> None:
        """Tell all subscribers."""
        for subscriber in tuple(self._subscribers):
            subscriber(event)
