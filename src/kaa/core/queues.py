"""Messages that wait for the agent: steering (as soon as possible) and follow-up (when it would stop)."""

from collections import deque
from collections.abc import Callable
from typing import Literal

from kaa.core.messages import UserMessage

DrainMode = Literal["one-at-a-time", "all"]


class MessageQueue:
    """A queue of user messages that tells when it changed.

    Args:
        mode: whether `drain` hands out the oldest message or all of them.
        on_change: called after every change.
    """

    def __init__(self, mode: DrainMode, on_change: Callable[[], None]) -> None:
        self.mode = mode
        self._on_change = on_change
        self._waiting: deque[UserMessage] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def waiting(self) -> tuple[UserMessage, ...]:
        """What waits, oldest first."""
        return tuple(self._waiting)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that wait, oldest first; those of extensions with the name of the extension."""
        return tuple(
            message.said.text if message.note is None else f"[{message.note.extension}] {message.said.text}"
            for message in self._waiting
        )

    def put(self, message: UserMessage) -> None:
        """Add a message at the end."""
        self._waiting.append(message)
        self._on_change()

    def drain(self) -> list[UserMessage]:
        """Take what is to be given to the model now: one message or all."""
        if not self._waiting:
            return []
        if self.mode == "all":
            return self.clear()
        taken = [self._waiting.popleft()]
        self._on_change()
        return taken

    def take_last(self) -> UserMessage | None:
        """Take back the newest message of the person, to edit it."""
        newest = next((message for message in reversed(self._waiting) if message.origin == "person"), None)
        if newest is not None:
            self._waiting.remove(newest)
            self._on_change()
        return newest

    def clear(self) -> list[UserMessage]:
        """Take back everything."""
        taken = list(self._waiting)
        self._waiting.clear()
        if taken:
            self._on_change()
        return taken
