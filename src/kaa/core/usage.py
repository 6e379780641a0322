"""What a conversation has used: tokens, money, and how much of the model's context window is taken."""

from collections.abc import Iterable, Sequence

import msgspec

from kaa.core.messages import (
    AssistantMessage,
    Cost,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultContent,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
)
from kaa.core.provider import ToolSchema

# English text and code have about so many with the tokenizers of all vendors; pi reckons with the same.
CHARACTERS_PER_TOKEN = 4
# An image of the size that kaa sends (at most 2000 pixels); pi reckons with the same.
_IMAGE_TOKENS = 1200
# Of one reply.
_MOST_TOKENS = 1_000_000_000_000
_MOST_DOLLARS = 1_000_000_000.0


class Spent(msgspec.Struct, frozen=True):
    """What some replies used.

    Attributes:
        usage: tokens, and the money of the replies whose price is known.
        unpriced: replies that used tokens of an unknown price.
        unmeasured: replies of which the server did not say what they used, as when they were stopped.
        replies: how many, these too.
    """

    usage: Usage = Usage()
    unpriced: int = 0
    unmeasured: int = 0
    replies: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            _sum(self.usage, other.usage),
            self.unpriced + other.unpriced,
            self.unmeasured + other.unmeasured,
            self.replies + other.replies,
        )

    @property
    def cost(self) -> float | None:
        """US dollars; None if prices are involved that nobody knows."""
        return None if self.unpriced else self.usage.cost.total

    @property
    def cache_hit_rate(self) -> float | None:
        """Which part of the input, from 0 to 1, came out of the provider's cache; None without any input."""
        whole = prompt_tokens(self.usage)
        return self.usage.cache_read / whole if whole else None


class ContextUse(msgspec.Struct, frozen=True):
    """How much of the window the next request takes.

    Attributes:
        tokens: that is known of the conversation so far, with what came after it estimated by its length.
        window: of the model in force, in tokens.
        measured: the greater part is the server's own figure; otherwise all is an estimate.
    """

    tokens: int
    window: int
    measured: bool

    @property
    def share(self) -> float:
        """The part of the window that is taken; may exceed 1."""
        return self.tokens / self.window if self.window else 0.0


class ContextParts(msgspec.Struct, frozen=True):
    """What the next request consists of, in tokens as they are estimated from lengths."""

    system_prompt: int = 0
    tools: int = 0
    user: int = 0
    replies: int = 0
    thinking: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    images: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return sum(msgspec.structs.astuple(self))


class UsageReport(msgspec.Struct, frozen=True):
    """Where a conversation stands.

    Attributes:
        reply: the last reply.
        turn: the replies since the user's last message.
        total: all replies of the session, those that were rewound and condensed too.
    """

    reply: Spent
    turn: Spent
    total: Spent
    context: ContextUse


class ContextMeter:
    """Knows how much of the window a growing conversation takes; asking again costs what is new.

    Args:
        overhead: tokens of system prompt and tools.
    """

    def __init__(self, overhead: int) -> None:
        self._overhead = overhead
        self._messages: Sequence[Message] = ()
        self._seen = 0
        self._tokens = overhead
        self._measured = False

    def measure(self, messages: Sequence[Message], window: int) -> ContextUse:
        """What `messages`, which has only grown if it is the same object as before, takes of `window` tokens."""
        if messages is not self._messages or len(messages) < self._seen:
            self._messages, self._seen = messages, _last_measured(messages)
            self._tokens, self._measured = self._overhead, False
        for message in messages[self._seen :]:
            self._take(message)
        self._seen = len(messages)
        return ContextUse(self._tokens, window, self._measured)

    def _take(self, message: Message) -> None:
        if isinstance(message, AssistantMessage) and _is_measured(message, self._messages[0]):
            self._tokens, self._measured = prompt_tokens(message.usage) + message.usage.output, True
        else:
            self._tokens += estimate(message)


def estimate(message: Message) -> int:
    """About how many tokens a message takes in a request."""
    return _parts_of(message).total


def measured_prompt(messages: Sequence[Message]) -> tuple[int, Sequence[Message]]:
    """The tokens up to the last reply whose size the server reported, that reply included, and the messages after it.

    0 and all messages if the server reported none.
    """
    position = _last_measured(messages)
    last = messages[position] if messages else None
    if not isinstance(last, AssistantMessage) or not _is_measured(last, messages[0]):
        return 0, messages
    return prompt_tokens(last.usage) + last.usage.output, messages[position + 1 :]


def context_parts(system_prompt: str, tools: Iterable[ToolSchema], messages: Iterable[Message]) -> ContextParts:
    """What a request consists of."""
    sizes = (size_of_schema(tool) for tool in tools if not tool.deferred)
    parts = ContextParts(system_prompt=tokens_in(system_prompt), tools=sum(sizes))
    sums = msgspec.structs.asdict(parts)
    for message in messages:
        for name, tokens in msgspec.structs.asdict(_parts_of(message)).items():
            sums[name] += tokens
    return ContextParts(**sums)


def tokens_in(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def plausible(usage: Usage) -> Usage:
    """The same without what no reply can have used: less than nothing, or more than anybody could count.

    Whoever says so, a server or a session of somebody else's, would pay into a budget, or break what adds up.
    """
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens)
    cost = msgspec.structs.astuple(usage.cost)
    long = usage.cache_write_1h or 0
    if all(0 <= count <= _MOST_TOKENS for count in (*tokens, long)) and all(
        0 <= part <= _MOST_DOLLARS for part in cost
    ):
        return usage
    given = [min(max(count, 0), _MOST_TOKENS) for count in (*tokens, long)]
    return Usage(
        given[0],
        given[1],
        given[2],
        given[3],
        given[4],
        Cost(*(min(max(part, 0.0), _MOST_DOLLARS) for part in cost)),
        given[5] or msgspec.UNSET,
    )


def prompt_tokens(usage: Usage) -> int:
    """All input of a request, whether it came from the provider's cache or not."""
    return usage.input + usage.cache_read + usage.cache_write


def _parts_of(message: Message) -> ContextParts:
    match message:
        case UserMessage(content=content):
            if isinstance(content, str):
                return ContextParts(user=tokens_in(content))
            return ContextParts(user=_text_tokens(content), images=_image_tokens(content))
        case ToolResultMessage(content=blocks):
            return ContextParts(tool_results=_text_tokens(blocks), images=_image_tokens(blocks))
        case AssistantMessage(stop_reason="error"):
            return ContextParts()  # is not sent
        case AssistantMessage(stop_reason="aborted"):
            return ContextParts(replies=tokens_in(message.text))  # the rest is not sent
        case AssistantMessage(content=said):
            return ContextParts(
                replies=sum(tokens_in(block.text) for block in said if isinstance(block, TextContent)),
                thinking=sum(tokens_in(block.thinking) for block in said if isinstance(block, ThinkingContent)),
                tool_calls=sum(size_of_call(block) for block in said if isinstance(block, ToolCall)),
            )


def _text_tokens(content: Iterable[UserContent | ToolResultContent]) -> int:
    return sum(tokens_in(block.text) for block in content if isinstance(block, TextContent))


def _image_tokens(content: Iterable[UserContent | ToolResultContent]) -> int:
    return sum(_IMAGE_TOKENS for block in content if isinstance(block, ImageContent))


def size_of_call(call: ToolCall) -> int:
    """About how many tokens a call of a tool has."""
    return tokens_in(call.name) + tokens_in(msgspec.json.encode(call.arguments).decode())


def size_of_schema(tool: ToolSchema) -> int:
    """About how many tokens the definition of a tool has."""
    return tokens_in(tool.name + tool.description) + tokens_in(msgspec.json.encode(tool.parameters).decode())


def _last_measured(messages: Sequence[Message]) -> int:
    """Where the last reply is whose size the server told; 0 if there is none."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, AssistantMessage) and _is_measured(message, messages[0]):
            return position
    return 0


def _is_measured(message: AssistantMessage, first: Message) -> bool:
    """Whether the server has told how large the conversation was up to here.

    Where a summary, newer than what it was put before, begins the conversation, it was another one at that time.
    """
    if message.stop_reason in ("error", "aborted") or message.timestamp < first.timestamp:
        return False
    return prompt_tokens(message.usage) + message.usage.output > 0


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.total_tokens + other.total_tokens,
        Cost(
            one.cost.input + other.cost.input,
            one.cost.output + other.cost.output,
            one.cost.cache_read + other.cost.cache_read,
            one.cost.cache_write + other.cost.cache_write,
            one.cost.total + other.cost.total,
        ),
        (one.cache_write_1h or 0) + (other.cache_write_1h or 0) or msgspec.UNSET,
    )
