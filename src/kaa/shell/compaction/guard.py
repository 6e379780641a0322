"""Keeps automatic compaction from going round in circles: each one costs a request as large as the window."""

from kaa.core.events import AgentStart, Event, MessageEnd
from kaa.core.messages import AssistantMessage, UserMessage

# So many compactions, with no more than one reply between each and the next, are a circle and no progress.
_MOST_IN_A_ROW = 3


class CompactionGuard:
    """Says whether to condense without being asked; subscribe `observe`."""

    def __init__(self) -> None:
        self._is_shut = False
        self._is_held = False
        self._met_overflow = False
        self._replies = 0
        self._in_a_row = 0

    @property
    def is_shut(self) -> bool:
        """Whether condensing has turned out to be of no use for now."""
        return self._is_shut

    @property
    def is_held(self) -> bool:
        """Whether the user wants the conversation as long as it is."""
        return self._is_held

    @property
    def allows_overflow(self) -> bool:
        """Whether to condense what has turned out to be too long: once, and again after each reply since."""
        return not self._met_overflow

    def observe(self, event: Event) -> None:
        """Take what happens in the conversation."""
        match event:
            case AgentStart():
                self._is_shut = False
            case MessageEnd(message=UserMessage()):
                self._met_overflow = False
            case MessageEnd(message=AssistantMessage(stop_reason="error")):
                pass
            case MessageEnd(message=AssistantMessage()):
                self._replies += 1
                self._met_overflow = self._met_overflow and self._is_shut
            case _:
                pass

    def overflowed(self) -> None:
        """The conversation was too long, and room is going to be made."""
        self._met_overflow = True

    def hold(self) -> None:
        """The user wants the long conversation: until the next compaction, only an overflow is a reason for one."""
        self._is_held = True

    def failed(self) -> str:
        """There was no summary to be had. Returns what to say of that."""
        self._is_shut = True
        return "The conversation continues unchanged; kaa does not compact it again until your next message."

    def succeeded(self, tokens: int, threshold: int) -> str | None:
        """The conversation takes `tokens` now. Returns what to say of it, if it is not as it should be."""
        self._is_held = False
        self._in_a_row = self._in_a_row + 1 if self._replies <= 1 else 1
        self._replies = 0
        if tokens > threshold:
            found = f"what must be kept still takes {tokens:,} tokens, more than the {threshold:,} there is room for"
        elif self._in_a_row >= _MOST_IN_A_ROW:
            found = f"the conversation was compacted {self._in_a_row} times in a row and is as long each time"
        else:
            return None
        self._is_shut = True
        self._in_a_row = 0
        return (
            f"kaa compacts nothing more by itself until your next message: {found}. A model with a larger window "
            "helps, or smaller values of compaction.keepRecentTokens and compaction.reserveTokens."
        )
