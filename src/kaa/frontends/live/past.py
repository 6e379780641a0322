"""What a client that comes late has to know: where the session's file ends for it, and what happened since."""

import os

from kaa.core.events import AgentEnd, AgentStart, Event, MessageStart, ToolExecutionUpdate
from kaa.core.messages import AssistantMessage
from kaa.frontends.live.wire import Past
from kaa.shell.conversation import Conversation

# Output of tools beyond this is left out; the result has it.
_MOST_UPDATES = 500


class Recent:
    """The events since the last reply began, while the agent works: the file does not have them all.

    Args:
        conversation: is followed until `close`.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._events: list[Event] = []
        self._updates = 0
        self._size: int | None = None  # of the file when the reply began
        self.close = conversation.subscribe(self._note)

    def past(self, number: int) -> Past:
        """What to tell a client that follows from now on. `number`: of its request."""
        path = self._conversation.session_path
        assert path is not None  # others are not served
        size = self._size if self._size is not None else _size(path)
        return Past(number, path, size, tuple(self._events), self._conversation.is_running)

    def _note(self, event: Event) -> None:
        match event:
            case MessageStart(message=AssistantMessage()):
                path = self._conversation.session_path
                self._size = _size(path) if path is not None else None
                self._begin()
            case AgentStart() | AgentEnd():
                self._size = None
                self._begin()
                return
            case ToolExecutionUpdate():
                self._updates += 1
                if self._updates > _MOST_UPDATES:
                    return
            case _:
                pass
        if self._size is not None:
            self._events.append(event)

    def _begin(self) -> None:
        self._events, self._updates = [], 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # nothing was said yet
        return 0
