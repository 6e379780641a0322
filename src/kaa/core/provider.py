"""What the loop asks of a model: one request in, one stream of small events out."""

from collections.abc import AsyncGenerator, Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from kaa.core.messages import AssistantMessage, Json, Message, StopReason, Usage

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


class Rates(msgspec.Struct, rename="camel", frozen=True):
    """Prices in US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class RatesAbove(Rates, kw_only=True, rename="camel", frozen=True):
    """What a whole request costs whose prompt has more than `input_tokens_above` tokens."""

    input_tokens_above: int


class ModelRates(Rates, rename="camel", frozen=True, omit_defaults=True):
    """What a model costs.

    Attributes:
        tiers: other prices for long prompts.
    """

    tiers: tuple[RatesAbove, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether a request costs nothing, however long it is."""
        every: tuple[Rates, ...] = (self, *self.tiers)
        return not any(rates.input or rates.output or rates.cache_read or rates.cache_write for rates in every)

    def for_prompt(self, tokens: int) -> Rates:
        """The prices of a request whose prompt has so many tokens, those from the cache included."""
        passed = [tier for tier in self.tiers if tokens > tier.input_tokens_above]
        return max(passed, key=lambda tier: tier.input_tokens_above) if passed else self


class Model(msgspec.Struct, rename="camel", frozen=True):
    """A model as the loop needs to know it.

    Attributes:
        api: name of the wire format, such as `openai-completions`.
        context_window: tokens of input and output together.
        max_tokens: the most tokens one reply may have.
        input: the kinds of input it takes: `text`, `image`.
        cost: None when the prices are not known.
        defers_tools: its server loads definitions of tools when a search names them, so that requests carry deferred
            ones without paying for them.
        edits_by_patch: it was trained to change files by patches.
    """

    id: str
    provider: str
    api: str
    name: str = ""
    reasoning: bool = False
    input: tuple[Literal["text", "image"], ...] = ("text",)
    context_window: int = 128_000
    max_tokens: int = 16_384
    cost: ModelRates | None = None
    defers_tools: bool = False
    edits_by_patch: bool = False

    @property
    def qualified_id(self) -> str:
        """`provider/id`, as people name it and as sessions and settings keep it."""
        return f"{self.provider}/{self.id}"


TOOL_SEARCH: Final = "tool_search"
"""The tool that finds deferred tools. `details["found"]` of its results names them."""


class ToolSchema(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool as the model sees it.

    Attributes:
        parameters: a JSON Schema object.
        deferred: the model gets the definition when a search finds it; only models that defer tools are sent such ones.
    """

    name: str
    description: str
    parameters: dict[str, Json]
    deferred: bool = False


class Request(msgspec.Struct, frozen=True):
    """Everything a provider needs for one reply.

    Attributes:
        session_id: stable over a session; lets providers route to a warm prompt cache.
        max_tokens: the most tokens the reply may have, if that is less than the model's own limit.
        once: nothing of it will be sent again, so no cache needs to be paid for keeping it.
    """

    model: Model
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    thinking: ThinkingLevel = "off"
    session_id: str = ""
    max_tokens: int | None = None
    once: bool = False

    @property
    def reply_limit(self) -> int:
        """The most tokens the reply may have."""
        return min(self.max_tokens or self.model.max_tokens, self.model.max_tokens)


class TextChunk(msgspec.Struct, frozen=True):
    """More text of the block `key`. Blocks are ordered by the first event that names them."""

    key: int | str
    text: str
    signature: str | None = None


class ThinkingChunk(msgspec.Struct, frozen=True):
    """More reasoning of the block `key`. A signature, where one comes, replaces the one before."""

    key: int | str
    text: str
    signature: str | None = None
    redacted: bool = False


class CallChunkStart(msgspec.Struct, frozen=True):
    """The block `key` is a tool call."""

    key: int | str
    id: str
    name: str
    thought_signature: str | None = None


class ArgumentsChunk(msgspec.Struct, frozen=True):
    """More of the JSON text of the arguments of the tool call `key`."""

    key: int | str
    json: str


class BlockEnd(msgspec.Struct, frozen=True):
    """The block `key` is complete. Optional: `StreamDone` completes all blocks."""

    key: int | str


class ReplyInfo(msgspec.Struct, frozen=True):
    """What the server says of its reply; later values replace earlier ones, None leaves them."""

    response_id: str | None = None
    response_model: str | None = None
    usage: Usage | None = None


class StreamDone(msgspec.Struct, frozen=True):
    """The reply is complete. A stream that ends without it ended early."""

    stop_reason: StopReason


StreamEvent: TypeAlias = TextChunk | ThinkingChunk | CallChunkStart | ArgumentsChunk | BlockEnd | ReplyInfo | StreamDone


class Provider(Protocol):
    """A way to reach models. Implementations live in `kaa.llm`; tests use `ScriptedProvider`."""

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send one request and yield the reply as it comes.

        Closing the returned generator closes the connection.

        Raises:
            ProviderError: at any point of the iteration.
        """


class SideRequest(msgspec.Struct, frozen=True):
    """A request beside the conversation, such as for a summary, and how it ended.

    Attributes:
        request: the request.
        began_ns: its start, in nanoseconds of Unix time.
        reply: None if it failed or was stopped.
        error: why there is no reply, in words.
        error_type: the same for programs: `ProviderError.kind`, or `aborted`.
    """

    request: Request
    began_ns: int
    reply: AssistantMessage | None = None
    error: str | None = None
    error_type: str | None = None
