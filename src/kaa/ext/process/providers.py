"""Models that a process answers for: `register/provider`, `provider/stream` and its deltas."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from itertools import count

import msgspec

from kaa.core.errors import MalformedStreamError, NetworkError, ProviderError
from kaa.core.messages import Json, Usage
from kaa.core.provider import (
    ArgumentsChunk,
    CallChunkStart,
    ReplyInfo,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    ThinkingChunk,
)
from kaa.ext.process import wire
from kaa.ext.process.conversion import conversation_message
from kaa.ext.process.process_run import NotRunningError
from kaa.ext.process.supervisor import Supervisor
from kaa.ext.process.wire import RpcError
from kaa.ext.providers import ProviderAccess, ProviderStream


class _Delta(msgspec.Struct, frozen=True, rename="camel"):
    """`provider/delta`."""

    request_id: int
    type: str = ""
    index: int = 0
    delta: str = ""


class _Block(msgspec.Struct, frozen=True):
    """A block of a reply: text, reasoning, or a call, which has an id."""

    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    arguments: dict[str, Json] = {}


class _Usage(msgspec.Struct, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class _Reply(msgspec.Struct, frozen=True, rename="camel"):
    content: list[Json] = []
    usage: _Usage = _Usage()
    stop_reason: str = ""
    error: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """The answer to `provider/stream`."""

    message: Json = None
    error: str = ""


class ProcessModels:
    """The replies that a process gives.

    Args:
        supervisor: has the process.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._ids = count(1)
        self._deltas: dict[int, asyncio.Queue[_Delta | None]] = {}

    def delta(self, params: Mapping[str, Json]) -> None:
        """A part of a reply has come; of one that nobody waits for, it is dropped.

        Raises:
            RpcError: it has another shape.
        """
        delta = wire.parse(params, _Delta)
        if (queue := self._deltas.get(delta.request_id)) is not None:
            queue.put_nowait(delta)

    def stream(self, api: str) -> ProviderStream:
        """What gets the replies of the provider `api`."""

        async def stream(request: Request, _: ProviderAccess) -> AsyncGenerator[StreamEvent, None]:
            number = next(self._ids)
            queue = self._deltas[number] = asyncio.Queue()
            params = {"requestId": number, **_params(api, request)}
            asking = asyncio.create_task(self._supervisor.call("provider/stream", params, None))
            asking.add_done_callback(lambda _: queue.put_nowait(None))
            streamed: set[str] = set()
            try:
                while (delta := await queue.get()) is not None:
                    if event := _chunk(delta):
                        streamed.add(type(event).__name__)
                        yield event
                for one in _rest(await _answered(asking), streamed):
                    yield one
            finally:  # also if the user stops the run
                del self._deltas[number]
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

        return stream


async def _answered(asking: "asyncio.Task[Json]") -> _Reply:
    """The whole reply.

    Raises:
        ProviderError: there is none.
    """
    try:
        answer = wire.parse(await asking, _Answer)
        if answer.error:
            raise ProviderError(answer.error)
        reply = wire.parse(answer.message or {}, _Reply)
    except NotRunningError as error:
        raise NetworkError(str(error)) from error
    except RpcError as error:
        raise ProviderError(str(error)) from error
    if reply.stop_reason in ("error", "aborted"):
        raise ProviderError(reply.error or f"the reply ended with {reply.stop_reason}")
    return reply


def _chunk(delta: _Delta) -> TextChunk | ThinkingChunk | None:
    """Text and reasoning. Calls come with the whole reply, because their deltas have no id."""
    match delta.type:
        case "text" | "text_delta":
            return TextChunk(delta.index, delta.delta)
        case "thinking" | "thinking_delta":
            return ThinkingChunk(f"thinking-{delta.index}", delta.delta)
        case _:
            return None


def _rest(reply: _Reply, streamed: set[str]) -> Iterator[StreamEvent]:
    """What the deltas did not have.

    Raises:
        MalformedStreamError: a block has another shape.
    """
    has_calls = False
    for index, content in enumerate(reply.content):
        try:
            block = wire.parse(content, _Block)
        except RpcError as error:
            raise MalformedStreamError(f"the reply has a block that is none: {error}") from error
        if block.name:
            has_calls = True
            yield CallChunkStart(f"call-{index}", block.id or f"call-{index}", block.name)
            yield ArgumentsChunk(f"call-{index}", msgspec.json.encode(block.arguments).decode())
        elif block.thinking and ThinkingChunk.__name__ not in streamed:
            yield ThinkingChunk(f"thinking-{index}", block.thinking)
        elif block.text and TextChunk.__name__ not in streamed:
            yield TextChunk(index, block.text)
    used = reply.usage
    yield ReplyInfo(
        usage=Usage(
            input=used.input_tokens,
            output=used.output_tokens,
            cache_read=used.cache_read_tokens,
            cache_write=used.cache_write_tokens,
        )
    )
    yield StreamDone("length" if reply.stop_reason == "length" else "toolUse" if has_calls else "stop")


def _params(api: str, request: Request) -> dict[str, Json]:
    """A request as Piglet encodes it. Keys and headers stay with kaa: a process reads keys that it is permitted."""
    model = request.model
    return {
        "model": {
            "id": model.id,
            "name": model.name or model.id,
            "api": api,
            "provider": model.provider,
            "reasoning": model.reasoning,
            "contextWindow": model.context_window,
            "maxTokens": model.max_tokens,
        },
        "system": request.system,
        "messages": [conversation_message(message) for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ],
        "options": {"maxTokens": request.reply_limit, "thinking": request.thinking},
    }
