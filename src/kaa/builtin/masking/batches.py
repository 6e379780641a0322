"""Which results are old, and when it pays to leave them out.

Leaving out results saves their tokens in each further request, but what follows the first of them is charged once more
as if it were new. The old results cost rent, as input from the cache, and leaving them out has a price. Where both are
equal, a batch has the cheapest size for a conversation that grows steadily (economic order quantity), and costs others
at most twice as much as with knowledge of their length (rent or buy). Around this point the cost hardly changes, so a
batch waits for half the price only: that costs about as much money, and takes less of the window.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from kaa.builtin.briefing import HEADING
from kaa.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
)
from kaa.core.provider import Rates
from kaa.core.usage import estimate

# How the line begins that stands for a result.
MARK: Final = "[Old result of "
# About what the line takes, and what a result must save at least: the path of a file may be long.
_LINE_TOKENS: Final = 60
_LEAST_SAVED: Final = 100
# Of a call that failed, so much stays: a long output ends with what went wrong.
ERROR_TOKENS: Final = 250
# How many times more than a token from the cache one costs that is charged again. 9 with OpenAI, 11.5 with Anthropic.
_USUAL_LOSS: Final = 10.0
# The part of its price that a batch waits for. Measured with 0.25 to 2 (docs/effectiveness.md).
_PATIENCE: Final = 0.5
# No provider keeps a prompt longer unless it is asked to.
_COLD_MILLISECONDS: Final = 60 * 60 * 1000
# How the text begins that kaa adds to a result because it instructs the model.
_INSTRUCTIONS: Final = ("<instructions path=", "<project-file path=", HEADING)
# Results of these are shown again by the same call.
REPEATABLE: Final = frozenset({"read", "grep", "find", "ls"})

MessageT = TypeVar("MessageT", bound=Message)


class OldResult(msgspec.Struct, frozen=True):
    """A result that may be left out.

    Attributes:
        saved: about how many tokens less there are without it.
        carried: in how many requests it was sent although it was old.
    """

    place: int
    call: ToolCall
    saved: int
    carried: int


class Sizes:
    """Remembers how long the messages of a conversation are: they do not change, and each request asks."""

    def __init__(self) -> None:
        self._tokens = _Memory(estimate)
        self._saved = _Memory(_saved)

    def tokens(self, message: Message) -> int:
        """About how many a message has."""
        return self._tokens.of(message)

    def saved(self, message: ToolResultMessage) -> int:
        """About how many tokens less there are without a result; 0 if it stays."""
        return self._saved.of(message)

    def forget_others(self, messages: Sequence[Message]) -> None:
        """Let go of messages that are no longer in the conversation, once they are the greater part."""
        for memory in (self._tokens, self._saved):
            if len(memory) > 2 * len(messages):
                memory.clear()


def old_results(
    messages: Sequence[Message], lasting: Collection[str], turns: int, sizes: Sizes | None = None
) -> list[OldResult]:
    """The results that are old, the oldest first.

    Args:
        turns: the results of so many replies, the newest ones, are not old.
        sizes: of the messages, if they were looked at before.
    """
    sizes = sizes or Sizes()
    replies = sum(_is_reply(message) for message in messages)
    if replies <= turns:
        return []
    found: list[OldResult] = []
    seen = 0
    reply: AssistantMessage | None = None
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            seen, reply = seen + _is_reply(message), message
            if replies - seen < turns:
                break
        elif isinstance(message, ToolResultMessage) and (saved := sizes.saved(message)) and reply is not None:
            call = next((one for one in reply.tool_calls if one.id == message.tool_call_id), None)
            if call is not None and message.tool_name not in lasting:
                found.append(OldResult(place, call, saved, replies - seen - turns))
    return found


def is_due(
    messages: Sequence[Message], old: Sequence[OldResult], rates: Rates | None, sizes: Sizes | None = None
) -> bool:
    """Whether the old results have cost so much that it pays to leave them out.

    Args:
        old: those of its results that would be left out.
        rates: what the next request costs; None if nobody knows.
        sizes: of the messages, if they were looked at before.
    """
    sizes = sizes or Sizes()
    loss = _PATIENCE * _loss(rates)
    paid = sum(one.saved * one.carried for one in old)
    again = -sum(one.saved for one in old)
    last = max(place for place, message in enumerate(messages) if isinstance(message, AssistantMessage))
    for message in messages[_first_changed(messages, old, rates) : last + 1]:
        again += sizes.tokens(message)
        if again * loss > paid:
            return False
    return True


def _loss(rates: Rates | None) -> float:
    """How many times more than a token from the cache one costs that is charged again."""
    if rates is None or not rates.cache_read:
        return _USUAL_LOSS  # a price that nobody wrote down, or time instead of money
    return max(0.0, max(rates.input, rates.cache_write) - rates.cache_read) / rates.cache_read


def _first_changed(messages: Sequence[Message], old: Sequence[OldResult], rates: Rates | None) -> int:
    """From which message on the conversation is charged again.

    Servers that charge for writing keep a prompt only up to where requests ended. Since the first batch none ended
    before what the next one leaves out, so all from the first batch on is charged again.
    """
    if rates is None or not rates.cache_write:
        return old[0].place
    return next(place for place, one in enumerate(messages) if place == old[0].place or _is_left_out(one))


def is_cold(messages: Sequence[Message], model: tuple[str, str], now: int) -> bool:
    """Whether no cache has the conversation any more, so that nothing is lost.

    Args:
        model: provider and id of the one that gets the next request.
        now: Unix time in milliseconds.
    """
    last = next((one for one in reversed(messages) if isinstance(one, AssistantMessage) and _is_reply(one)), None)
    if last is None:
        return False
    return (last.provider, last.model) != model or now - last.timestamp > _COLD_MILLISECONDS


def parts(message: ToolResultMessage) -> tuple[Sequence[ToolResultContent], Sequence[ToolResultContent]]:
    """What the tool said, which may be left out, and the instructions behind it, which stay."""
    content = message.content
    end = next((at for at, block in enumerate(content) if at and _instructs(block)), len(content))
    return content[:end], content[end:]


class _Memory(Generic[MessageT]):
    """What a function says of messages. Each is held, so that no other one gets its identity."""

    def __init__(self, function: Callable[[MessageT], int]) -> None:
        self._function = function
        self._known: dict[int, tuple[MessageT, int]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        self._known.clear()

    def of(self, message: MessageT) -> int:
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = message, self._function(message)
        return known[1]


def _saved(message: ToolResultMessage) -> int:
    own, _ = parts(message)
    if not own or _is_left_out(message):
        return 0
    if message.tool_name not in REPEATABLE and not all(isinstance(block, TextContent) for block in own):
        return 0  # an image cannot be kept in a file of text
    size = estimate(msgspec.structs.replace(message, content=tuple(own)))
    saved = size - _LINE_TOKENS - (ERROR_TOKENS if message.is_error else 0)
    return saved if saved > _LEAST_SAVED else 0


def _is_left_out(message: Message) -> bool:
    if not isinstance(message, ToolResultMessage) or not message.content:
        return False
    first = message.content[0]
    return isinstance(first, TextContent) and first.text.startswith(MARK)


def _instructs(block: ToolResultContent) -> bool:
    return isinstance(block, TextContent) and block.text.startswith(_INSTRUCTIONS)


def _is_reply(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason != "error"
