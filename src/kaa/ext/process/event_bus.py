"""Topics on which the extension processes of one process of kaa tell each other something."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from itertools import count

import msgspec

from kaa.core.messages import Json

_MOST_SUBSCRIPTIONS = 64  # of one extension


class _Subscription(msgspec.Struct, frozen=True):
    id: int
    extension: str
    topic: str
    notify: Callable[[str, Json], None]


class EventBus:
    """Who wants to hear of which topics. A restarted extension begins without subscriptions."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._subscriptions: list[_Subscription] = []

    def publish(self, topic: str, data: Json) -> None:
        """Tell all that subscribed to the topic."""
        for one in tuple(self._subscriptions):
            if fnmatchcase(topic, one.topic):
                one.notify("eventBus/event", {"topic": topic, "subscriptionId": one.id, "data": data})

    def subscribe(self, extension: str, topic: str, notify: Callable[[str, Json], None]) -> int | None:
        """Hear of a topic, or of all that a pattern with `*` matches.

        Args:
            extension: its key.
            topic: the topic or pattern.
            notify: sends a notification to its process. Subscriptions of an earlier process of the extension end.

        Returns:
            The number of the subscription; None if the extension has too many.
        """
        self._subscriptions = [one for one in self._subscriptions if one.extension != extension or one.notify == notify]
        if sum(one.extension == extension for one in self._subscriptions) >= _MOST_SUBSCRIPTIONS:
            return None
        made = _Subscription(next(self._ids), extension, topic, notify)
        self._subscriptions.append(made)
        return made.id
