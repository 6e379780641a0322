"""What a compaction drops and what it keeps.

The cut follows pi's rules: it may be before anything that is said but never between a tool call and its result, and
bookkeeping entries stay with what follows them. Unlike pi, what is kept has at least the wanted size wherever that
fits, and a last turn that is itself too large is given up instead of kept; but never what the user has just said.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from kaa.core.messages import AssistantMessage, ToolResultMessage, UserMessage
from kaa.session.compaction.steps import PathStep
from kaa.session.entries import Compaction, MessageEntry


class CompactionPlan(msgspec.Struct, frozen=True):
    """A compaction to be made.

    Attributes:
        dropped: what the summary is to stand for.
        kept: what the model goes on being told as it is; begins a turn unless `splits_turn`.
        previous: the compaction in force, whose summary the new one takes up.
        splits_turn: the cut goes through a turn: what the user asked last is dropped, and is still being worked on.
    """

    dropped: tuple[PathStep, ...]
    kept: tuple[PathStep, ...]
    previous: Compaction | None
    splits_turn: bool

    @property
    def first_kept_entry_id(self) -> str | None:
        """Where what is kept begins; None if nothing is kept."""
        return self.kept[0].id if self.kept else None

    @property
    def kinds(self) -> dict[str, int]:
        """How many messages of each kind are dropped: `user`, `assistant`, `toolResult` and `other`."""
        return dict(Counter(_kind(step) for step in self.dropped if step.message is not None))


def plan_compaction(
    steps: Sequence[PathStep], previous: Compaction | None, keep: int, most: int
) -> CompactionPlan | None:
    """Decide what to drop; None if there is nothing worth it.

    Args:
        steps: what the model is told as it is.
        keep: tokens to keep at least, if there are as many.
        most: tokens to keep at most.
    """
    cut = _cut(steps, keep, most)
    if not any(step.tokens for step in steps[:cut]):
        return None
    first = next((step.message for step in steps[cut:] if step.message is not None), None)
    begin = _before_bookkeeping(steps, cut)
    is_split = not isinstance(first, UserMessage)
    return CompactionPlan(tuple(steps[:begin]), tuple(steps[begin:]), previous, is_split)


def _cut(steps: Sequence[PathStep], keep: int, most: int) -> int:
    """Where what is kept begins: as late as `keep` allows, and not before `most` does."""
    best = len(steps)
    kept = 0
    allowed = _allowed_cuts(steps)
    for position in range(len(steps) - 1, -1, -1):
        kept += steps[position].tokens
        if kept > most:
            break
        if allowed[position]:
            best = position
            if kept >= keep:
                return best
    else:
        return 0  # all of it is less than what is to be kept
    return min(best, _last_words(steps))


def _last_words(steps: Sequence[PathStep]) -> int:
    """Where the user's message stands that nothing was said to yet; behind the end if there is none."""
    for position in range(len(steps) - 1, -1, -1):
        if steps[position].message is not None:
            return position if isinstance(steps[position].message, UserMessage) else len(steps)
    return len(steps)


def _allowed_cuts(steps: Sequence[PathStep]) -> list[bool]:
    """Before which entries a cut may be: those that say something, where no tool call waits for its result."""
    called: dict[str, int] = {}
    reach = [-1] * len(steps)  # for each call, where its last result stands
    for position, step in enumerate(steps):
        match step.message:
            case AssistantMessage() as message:
                called |= dict.fromkeys((call.id for call in message.tool_calls), position)
            case ToolResultMessage(tool_call_id=call_id):
                reach[called.get(call_id, position)] = position
            case _:
                pass
    allowed = []
    furthest = -1
    for position, step in enumerate(steps):
        is_result = isinstance(step.message, ToolResultMessage)
        allowed.append(step.message is not None and not is_result and furthest < position)
        furthest = max(furthest, reach[position])
    return allowed


def _before_bookkeeping(steps: Sequence[PathStep], cut: int) -> int:
    """The cut, moved back over entries that the model is not told of: they belong to what follows."""
    if cut == len(steps):
        return cut
    while cut > 0 and steps[cut - 1].message is None:
        cut -= 1
    return cut


def _kind(step: PathStep) -> str:
    match step.entry:
        case MessageEntry(message=UserMessage()):
            return "user"
        case MessageEntry(message=AssistantMessage()):
            return "assistant"
        case MessageEntry(message=ToolResultMessage()):
            return "toolResult"
        case _:
            return "other"
