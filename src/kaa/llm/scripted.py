"""A provider that says what it was told to say: for tests, and for authors of extensions.

    provider = ScriptedProvider([
        reply(tool_calls=[("bash", {"command": "ls"})]),
        OverloadedError("busy"),
        reply(text="done"),
    ])

Each request takes the next item of the script; `provider.requests` keeps what was asked.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from kaa.core.errors import ProviderError
from kaa.core.messages import Json, StopReason, Usage
from kaa.core.provider import (
    ArgumentsChunk,
    BlockEnd,
    CallChunkStart,
    ReplyInfo,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)

_DEFAULT_USAGE = Usage(input=10, output=5, total_tokens=15)


class Pause(msgspec.Struct, frozen=True):
    """Waits for `until` before the stream goes on. `reached` is set when the stream gets here.

    Both default to fresh events, so a test can write `await pause.reached.wait()` and `pause.until.set()`.
    A `Pause()` nobody releases is a server that never answers: good for cancelling.
    """

    until: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    reached: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


# One step of a reply: an event to yield, an error to raise, a wait, or seconds to sleep.
ScriptedStep: TypeAlias = StreamEvent | ProviderError | Pause | float


class ScriptedReply(msgspec.Struct, frozen=True):
    """The steps of one answer. A reply without `StreamDone` is a stream that ends early."""

    steps: tuple[ScriptedStep, ...]


# What one request is answered with. A function sees the request and decides.
ScriptItem: TypeAlias = ScriptedReply | ProviderError | Callable[[Request], ScriptedReply | ProviderError]


def reply(
    text: str | Sequence[str] = (),
    *,
    thinking: str = "",
    tool_calls: Iterable[tuple[str, dict[str, Json] | str] | tuple[str, dict[str, Json] | str, str]] = (),
    usage: Usage | None = _DEFAULT_USAGE,
    stop_reason: StopReason | None = None,
    before: Iterable[ScriptedStep] = (),
    after: Iterable[ScriptedStep] = (),
) -> ScriptedReply:
    """A reply as a well-behaved model makes it: thinking, then text, then tool calls, then `StreamDone`.

    Args:
        tool_calls: `(name, arguments)` or `(name, arguments, id)`. Arguments given as a string are sent as they
            are, valid JSON or not. Ids are `call_<n>` unless given; give them when a test looks at them across replies.
        usage: None to send none.
        stop_reason: `toolUse` if there are tool calls, else `stop`, unless given.
        before: steps before the first block.
        after: steps between the last block and the end; an error here breaks off a reply that has begun.
    """
    deltas = (text,) if isinstance(text, str) else tuple(text)
    steps: list[ScriptedStep] = [*before]
    if thinking:
        steps += [ThinkingChunk("thinking", thinking, "reasoning_content"), BlockEnd("thinking")]
    steps += [TextChunk("text", delta) for delta in deltas if delta]
    if any(deltas):
        steps.append(BlockEnd("text"))
    calls = 0
    for calls, (name, arguments, *given_id) in enumerate(tool_calls, start=1):
        json = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        call_id = given_id[0] if given_id else f"call_{calls}"
        steps += [CallChunkStart(calls, call_id, name), ArgumentsChunk(calls, json), BlockEnd(calls)]
    steps += after
    if usage is not None:
        steps.append(ReplyInfo(usage=usage))
    steps.append(StreamDone(stop_reason or ("toolUse" if calls else "stop")))
    return ScriptedReply(tuple(steps))


class ScriptedProvider:
    """Answers requests from a script, in order.

    Attributes:
        requests: every request received, the latest last. Its `messages` are a copy: what was sent stays seen.
        closed: how many streams were closed before their end (by cancellation or by an early `aclose`).
    """

    def __init__(self, script: Iterable[ScriptItem] = ()) -> None:
        self._script = list(script)
        self._next = 0
        self.requests: list[Request] = []
        self.closed = 0

    def append(self, *items: ScriptItem) -> None:
        """Add to the end of the script."""
        self._script += items

    @property
    def remaining(self) -> int:
        """How many items of the script were not used yet."""
        return len(self._script) - self._next

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Stream the next item of the script.

        Raises:
            AssertionError: the script has no item left for this request.
        """
        self.requests.append(msgspec.structs.replace(request, messages=tuple(request.messages)))
        if self._next == len(self._script):
            raise AssertionError(f"request {len(self.requests)} came, but the script has {len(self._script)} items")
        item = self._script[self._next]
        self._next += 1
        answer = item(request) if callable(item) else item
        if isinstance(answer, ProviderError):
            raise answer
        finished = False
        try:
            for step in answer.steps:
                match step:
                    case ProviderError():
                        finished = True
                        raise step
                    case Pause():
                        step.reached.set()
                        await step.until.wait()
                    case int() | float():
                        await asyncio.sleep(step)
                    case _:
                        yield step
            finished = True
        finally:
            self.closed += not finished
