"""Conversations and windows that are too small for them."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from kaa.core.errors import BadRequestError, ContextOverflowError, ProviderError
from kaa.core.messages import AssistantMessage, ImageContent, Message, TextContent, Usage, UserMessage
from kaa.core.provider import Model, ReplyInfo, Request, StreamDone, StreamEvent, TextChunk, ToolSchema
from kaa.llm.local.window import WithinWindow


class _Answers:
    """Says that it read so many tokens."""

    def __init__(self, read: int) -> None:
        self.read = read
        self.was_asked = False

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        self.was_asked = True
        yield TextChunk(0, "yes")
        yield ReplyInfo(usage=Usage(input=self.read))
        yield StreamDone("stop")


def _ask(server: _Answers, request: Request, *, truncates: bool = True) -> list[StreamEvent]:
    async def run() -> list[StreamEvent]:
        return [event async for event in WithinWindow(server, truncates=truncates).stream(request)]

    return asyncio.run(run())


def _request(*texts: str, window: int = 4096, system: str = "") -> Request:
    model = Model(id="qwen3:8b", provider="ollama", api="openai-completions", context_window=window)
    return Request(model, system, [UserMessage(text) for text in texts])


def test_what_fits_passes() -> None:
    events = _ask(_Answers(900), _request("a" * 4000))

    assert events[-1] == StreamDone("stop")


def test_what_can_never_fit_is_refused_before_it_is_sent() -> None:
    server = _Answers(1)
    request = Request(
        _request("x").model, "s" * 8000, [UserMessage("q" * 4000)], tools=[ToolSchema("t", "d" * 8000, {})]
    )

    with pytest.raises(BadRequestError) as caught:
        _ask(server, request)

    assert not isinstance(caught.value, ContextOverflowError)  # condensing would not help
    assert not server.was_asked
    message = str(caught.value)
    for part in ("4,096 tokens", "system prompt takes about 2,000", "the last message 1,0", "OLLAMA_CONTEXT_LENGTH"):
        assert part in message


def test_a_conversation_that_would_be_cut_off_is_not_sent() -> None:
    server = _Answers(1)

    with pytest.raises(ContextOverflowError, match="only 4,096"):
        _ask(server, _request(*["a" * 6000] * 4))

    assert not server.was_asked


def test_a_conversation_that_was_cut_off_is_told() -> None:
    with pytest.raises(ContextOverflowError, match="read 2,048 of about 6,0"):
        _ask(_Answers(2048), _request(*["a" * 6000] * 4, window=32_768))


def _turns(*sizes: int, window: int = 32_768) -> Request:
    """A conversation of questions and replies by turns, of about so many tokens each."""
    model = Model(id="qwen3:8b", provider="ollama", api="openai-completions", context_window=window)
    texts = ["a" * (4 * size) for size in sizes]
    messages: list[Message] = [
        AssistantMessage((TextContent(text),), "a", "p", "m", Usage(), "stop") if at % 2 else UserMessage(text)
        for at, text in enumerate(texts)
    ]
    return Request(model, "", messages)


@pytest.mark.parametrize("read", [1, 300, 800, 1600])
def test_a_server_that_counts_only_what_is_new_to_it_is_believed(read: int) -> None:
    assert _ask(_Answers(read), _turns(6000, 3000, 1500))[-1] == StreamDone("stop")


def test_a_server_that_read_less_than_half_of_what_is_new_cut_it_off() -> None:
    with pytest.raises(ContextOverflowError, match="read 2,050"):
        _ask(_Answers(2050), _turns(2000, 500, 10_000))


def test_a_server_that_counts_all_is_known_by_its_first_long_count() -> None:
    server = _Answers(6500)
    window = WithinWindow(server, truncates=True)

    async def ask(request: Request, read: int) -> StreamEvent:
        server.read = read
        return [event async for event in window.stream(request)][-1]

    assert asyncio.run(ask(_turns(5000, 1000, 500), 6500)) == StreamDone("stop")
    with pytest.raises(ContextOverflowError, match="read 2,050"):
        asyncio.run(ask(_turns(5000, 1000, 500, 500, 500), 2050))


def test_half_a_window_is_what_is_left_of_a_conversation_a_little_too_long() -> None:
    with pytest.raises(ContextOverflowError, match="read 2,050 of about 3,5"):
        _ask(_Answers(2050), _turns(2000, 500, 1000, window=4096))


@pytest.mark.parametrize("read", [0, 5000])
def test_servers_that_say_nothing_or_nearly_all_are_believed(read: int) -> None:
    assert _ask(_Answers(read), _request(*["a" * 6000] * 4, window=32_768))[-1] == StreamDone("stop")


def test_other_servers_refuse_by_themselves() -> None:
    assert _ask(_Answers(2048), _request(*["a" * 6000] * 4), truncates=False)[-1] == StreamDone("stop")


def test_images_are_not_counted_by_their_length() -> None:
    request = _request("x")
    message = UserMessage((TextContent("x"), ImageContent("A" * 100_000, "image/png")))

    assert _ask(_Answers(300), Request(request.model, "", [message]))[-1] == StreamDone("stop")


def test_errors_of_the_server_pass() -> None:
    class Fails:
        async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
            yield TextChunk(0, "n")
            raise ProviderError("no")

    with pytest.raises(ProviderError, match="no"):
        _ask(Fails(), _request("x"))  # type: ignore[arg-type]
