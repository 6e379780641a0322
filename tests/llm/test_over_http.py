"""The transport and the adapters against a real server on the loopback interface."""

import asyncio
import contextlib
import gzip
import os
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import msgspec
import pytest

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    MalformedStreamError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    StalledStreamError,
)
from kaa.core.messages import Json, UserMessage
from kaa.core.provider import Model, Request, StreamDone, StreamEvent, TextChunk
from kaa.llm.anthropic.provider import AnthropicMessages
from kaa.llm.completions.provider import OpenAICompletions
from kaa.llm.gemini.provider import GoogleGemini
from kaa.llm.http.live import LiveTransport
from kaa.llm.http.transport import HttpRequest
from kaa.llm.responses.provider import OpenAIResponses
from kaa.llm.wire import Endpoint
from tests.support.patience import HANG_SECONDS

_KEY = "k3y-that-must-stay-secret"


class _Call:
    """A request as the server saw it, and the means to answer."""

    def __init__(self, head: bytes, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *self.lines = head.decode().split("\r\n")
        self.method, self.path, _ = first.split(" ")
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in self.lines if line)}
        self.body = body
        self._reader = reader
        self.writer = writer

    async def head(self, *headers: str, status: str = "200 OK") -> None:
        lines = (f"HTTP/1.1 {status}", "content-type: text/event-stream", "transfer-encoding: chunked", *headers)
        await self._send("\r\n".join((*lines, "", "")).encode())

    async def chunks(self, *chunks: bytes) -> None:
        for chunk in chunks:
            await self._send(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    async def end(self) -> None:
        await self._send(b"0\r\n\r\n")

    async def answer(self, body: bytes, *headers: str, status: str = "200 OK") -> None:
        lines = (f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers)
        await self._send("\r\n".join((*lines, "", "")).encode() + body)

    async def until_the_client_leaves(self) -> None:
        assert await self._reader.read(1) == b""

    async def _send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


class _Server:
    """Answers each request with the next behaviour; the last one repeats."""

    def __init__(self, *behaviours: Callable[[_Call], Awaitable[None]]) -> None:
        self._behaviours = list(behaviours)
        self.calls: list[_Call] = []
        self.connections = 0
        self.open_connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator["_Server"]:
        open_connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            open_connections.add(task)
            self.connections += 1
            self.open_connections += 1
            try:
                await self._serve(reader, writer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                self.open_connections -= 1
                writer.close()
                open_connections.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            if open_connections:
                await asyncio.wait(open_connections, timeout=HANG_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            call = _Call(head[:-4], b"", reader, writer)
            call.body = await reader.readexactly(int(call.headers["content-length"]))
            behaviour = self._behaviours[min(len(self.calls), len(self._behaviours) - 1)]
            self.calls.append(call)
            await behaviour(call)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


_OPENAI_STREAM = b"".join(
    b"data: %s\n\n" % msgspec.json.encode({"choices": [{"delta": {"content": word}, "finish_reason": None}]})
    for word in ("Hello", ", ", "wörld", "!")
) + (b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

_ANTHROPIC_EVENTS: list[Json] = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello, "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "wörld!"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]
_ANTHROPIC_STREAM = b"".join(
    b"event: %s\r\ndata: %s\r\n\r\n" % (event["type"].encode(), msgspec.json.encode(event))
    for event in _ANTHROPIC_EVENTS
)

_RESPONSES_EVENTS: list[Json] = [
    {"type": "response.created", "response": {"status": "in_progress"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hello, "},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "wörld!"},
    {"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}},
]
_RESPONSES_STREAM = b"".join(
    b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event)) for event in _RESPONSES_EVENTS
)

_GEMINI_STREAM = b"".join(
    b"data: %s\r\n\r\n"
    % msgspec.json.encode({"candidates": [{"content": {"role": "model", "parts": [{"text": word}]}}]})
    for word in ("Hello", ", ", "wörld", "!")
) + (b'data: {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}\r\n\r\n')

_Adapter = type[OpenAICompletions] | type[AnthropicMessages] | type[OpenAIResponses] | type[GoogleGemini]
_WITH_END_MARK = [
    (OpenAICompletions, _OPENAI_STREAM),
    (AnthropicMessages, _ANTHROPIC_STREAM),
    (OpenAIResponses, _RESPONSES_STREAM),
]
_ALL = pytest.mark.parametrize(("adapter", "stream"), [*_WITH_END_MARK, (GoogleGemini, _GEMINI_STREAM)])
_REQUEST = Request(Model("model-1", "acme", "wire"), "Be brief.", [UserMessage("hi")])


def _stream(adapter: _Adapter, server: _Server, transport: LiveTransport) -> aclosing[AsyncGenerator[StreamEvent]]:
    events = adapter(Endpoint(server.url, _KEY), transport).stream(_REQUEST)
    assert isinstance(events, AsyncGenerator)
    return aclosing(events)


async def _collect(adapter: _Adapter, server: _Server, transport: LiveTransport) -> list[StreamEvent]:
    async with _stream(adapter, server, transport) as events:
        return [event async for event in events]


def _run(
    server: _Server, scenario: Callable[[LiveTransport], Awaitable[None]], *, idle_timeout: float = HANG_SECONDS
) -> None:
    async def main() -> None:
        transport = LiveTransport(idle_timeout=idle_timeout)
        async with server.running():
            try:
                await asyncio.wait_for(scenario(transport), HANG_SECONDS)
            finally:
                await transport.close()

    asyncio.run(main())


def _replies(adapter: _Adapter, server: _Server) -> list[StreamEvent]:
    """One reply over a fresh transport."""
    events: list[StreamEvent] = []

    async def scenario(transport: LiveTransport) -> None:
        events.extend(await _collect(adapter, server, transport))

    _run(server, scenario)
    return events


def _fails(
    adapter: _Adapter, server: _Server, kind: type[ProviderError], *, idle_timeout: float = HANG_SECONDS
) -> ProviderError:
    """The error of one reply, which must be of exactly this type and show no key."""
    caught: list[ProviderError] = []

    async def scenario(transport: LiveTransport) -> None:
        with pytest.raises(ProviderError) as info:
            await _collect(adapter, server, transport)
        caught.append(info.value)

    _run(server, scenario, idle_timeout=idle_timeout)
    assert type(caught[0]) is kind
    assert _KEY not in str(caught[0])
    return caught[0]


def _text(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def _streams(stream: bytes, size: int = 1000) -> Callable[[_Call], Awaitable[None]]:
    async def behaviour(call: _Call) -> None:
        await call.head()
        await call.chunks(*(stream[start : start + size] for start in range(0, len(stream), size)))
        await call.end()

    return behaviour


def _answers(body: bytes, *headers: str, status: str = "200 OK") -> Callable[[_Call], Awaitable[None]]:
    async def behaviour(call: _Call) -> None:
        await call.answer(body, *headers, status=status)

    return behaviour


@_ALL
@pytest.mark.parametrize("size", [1, 13, 1000])
def test_a_reply_in_chunks_of_any_size(adapter: _Adapter, stream: bytes, size: int) -> None:
    events = _replies(adapter, _Server(_streams(stream, size)))

    assert _text(events) == "Hello, wörld!"
    assert events[-1] == StreamDone("stop")


def test_what_the_server_is_sent_by_the_openai_adapter() -> None:
    server = _Server(_streams(_OPENAI_STREAM))

    _replies(OpenAICompletions, server)

    call = server.calls[0]
    assert (call.method, call.path) == ("POST", "/chat/completions")
    assert call.headers["authorization"] == f"Bearer {_KEY}"
    assert call.headers["content-type"] == "application/json"
    body: Json = msgspec.json.decode(call.body)
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert set(call.headers) == {
        "accept",
        "accept-encoding",
        "authorization",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }


def test_what_the_server_is_sent_by_the_responses_adapter() -> None:
    server = _Server(_streams(_RESPONSES_STREAM))

    _replies(OpenAIResponses, server)

    call = server.calls[0]
    assert (call.method, call.path) == ("POST", "/responses")
    assert call.headers["authorization"] == f"Bearer {_KEY}"
    body: Json = msgspec.json.decode(call.body)
    assert body["input"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ]
    assert body["store"] is False


def test_what_the_server_is_sent_by_the_anthropic_adapter() -> None:
    server = _Server(_streams(_ANTHROPIC_STREAM))

    _replies(AnthropicMessages, server)

    call = server.calls[0]
    assert (call.method, call.path) == ("POST", "/v1/messages")
    assert call.headers["x-api-key"] == _KEY
    assert call.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in call.headers
    assert "anthropic-beta" not in call.headers


def test_what_the_server_is_sent_by_the_gemini_adapter() -> None:
    server = _Server(_streams(_GEMINI_STREAM))

    _replies(GoogleGemini, server)

    call = server.calls[0]
    assert (call.method, call.path) == ("POST", "/v1beta/models/model-1:streamGenerateContent?alt=sse")
    assert call.headers["x-goog-api-key"] == _KEY
    assert "authorization" not in call.headers
    body: Json = msgspec.json.decode(call.body)
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


@_ALL
def test_a_compressed_reply(adapter: _Adapter, stream: bytes) -> None:
    packed = _answers(gzip.compress(stream), "content-encoding: gzip", "content-type: text/event-stream")

    assert _text(_replies(adapter, _Server(packed))) == "Hello, wörld!"


@_ALL
def test_one_connection_serves_one_turn_after_another(adapter: _Adapter, stream: bytes) -> None:
    server = _Server(_streams(stream))

    async def scenario(transport: LiveTransport) -> None:
        for _ in range(5):
            async with _stream(adapter, server, transport) as events:
                async for event in events:
                    if isinstance(event, StreamDone):
                        break

    _run(server, scenario)

    assert len(server.calls) == 5
    assert server.connections == 1


@pytest.mark.parametrize("farewell", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
def test_a_connection_the_server_closed_while_idle_is_replaced(farewell: bytes) -> None:
    closed = asyncio.Event()

    async def behaviour(call: _Call) -> None:
        await _streams(_OPENAI_STREAM)(call)
        if not closed.is_set():
            await asyncio.sleep(0.01)
            call.writer.write(farewell)
            call.writer.close()
            closed.set()

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        for _ in range(2):
            assert (await _collect(OpenAICompletions, server, transport))[-1] == StreamDone("stop")
            await closed.wait()

    _run(server, scenario)

    assert server.connections == 2


def test_a_server_that_hangs_up_on_every_request_is_not_asked_forever() -> None:
    async def behaviour(call: _Call) -> None:
        call.writer.transport.abort()

    server = _Server(behaviour)

    failure = _fails(OpenAICompletions, server, NetworkError)

    assert "closed the connection without an answer" in str(failure)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("beginning", "kind"), [(b"", StalledStreamError), (b"HTTP/1.1 200 OK\r\ncontent-le", NetworkError)]
)
def test_a_kept_connection_that_fails_while_answering_is_no_reason_to_ask_again(
    beginning: bytes, kind: type[NetworkError]
) -> None:
    async def behaviour(call: _Call) -> None:
        if len(server.calls) == 1:
            await _streams(_OPENAI_STREAM)(call)
        elif beginning:
            call.writer.write(beginning)
            call.writer.close()
        else:
            await call.until_the_client_leaves()

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        await _collect(OpenAICompletions, server, transport)
        with pytest.raises(NetworkError) as caught:
            await _collect(OpenAICompletions, server, transport)
        assert type(caught.value) is kind

    _run(server, scenario, idle_timeout=1)

    assert len(server.calls) == 2
    assert server.connections == 1


def test_a_crowd_of_requests_leaves_few_idle_connections() -> None:
    all_asked = asyncio.Barrier(12)

    async def behaviour(call: _Call) -> None:
        if len(server.calls) <= 12:
            await all_asked.wait()
        await _streams(_OPENAI_STREAM)(call)

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        await asyncio.gather(*(_collect(OpenAICompletions, server, transport) for _ in range(12)))
        assert server.connections == 12
        while server.open_connections > 8:
            await asyncio.sleep(0.001)
        await _collect(OpenAICompletions, server, transport)

    _run(server, scenario)

    assert server.connections == 12


def test_parallel_requests_use_connections_of_their_own() -> None:
    both = asyncio.Barrier(2)

    async def behaviour(call: _Call) -> None:
        await both.wait()
        await _streams(_OPENAI_STREAM)(call)

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        for _ in range(2):
            replies = await asyncio.gather(*(_collect(OpenAICompletions, server, transport) for _ in range(2)))
            assert [_text(reply) for reply in replies] == ["Hello, wörld!"] * 2

    _run(server, scenario)

    assert server.connections == 2


def test_a_large_request_to_a_slow_server_is_not_taken_for_silence() -> None:
    size, piece = 32 * 1024 * 1024, 512 * 1024

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(size // piece):
            await reader.readexactly(piece)
            await asyncio.sleep(0.02)  # in all longer than the client waits for a silent server
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        transport = LiveTransport(idle_timeout=0.6)
        server = await asyncio.start_server(slow, "127.0.0.1", 0, limit=piece)
        try:
            async with transport.send(HttpRequest("POST", _url_of(server), (), bytes(size))) as response:
                assert response.status == 204
        finally:
            await transport.close()
            server.close()

    asyncio.run(scenario())


def _url_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(("adapter", "stream"), _WITH_END_MARK)
def test_the_reply_is_done_although_the_server_keeps_the_connection_open(adapter: _Adapter, stream: bytes) -> None:
    async def behaviour(call: _Call) -> None:
        await call.head()
        await call.chunks(stream)
        await call.until_the_client_leaves()

    assert _replies(adapter, _Server(behaviour))[-1] == StreamDone("stop")


@_ALL
def test_deltas_are_shown_as_they_come(adapter: _Adapter, stream: bytes) -> None:
    shown = asyncio.Event()

    async def behaviour(call: _Call) -> None:
        await call.head()
        half = stream.index(b"Hello") + 100
        await call.chunks(stream[:half])
        await shown.wait()
        await call.chunks(stream[half:])
        await call.end()

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        async with _stream(adapter, server, transport) as events:
            first = await anext(events)
            assert isinstance(first, TextChunk)
            shown.set()
            assert [event async for event in events][-1] == StreamDone("stop")

    _run(server, scenario)


@_ALL
def test_a_reset_in_the_middle_keeps_what_came(adapter: _Adapter, stream: bytes) -> None:
    async def behaviour(call: _Call) -> None:
        await call.head()
        await call.chunks(stream[: stream.index(b"Hello") + 100])
        call.writer.transport.abort()

    server = _Server(behaviour)
    got: list[StreamEvent] = []

    async def scenario(transport: LiveTransport) -> None:
        async with _stream(adapter, server, transport) as events:
            got.append(await anext(events))
            with pytest.raises(NetworkError, match=r"the connection to 127\.0\.0\.1:\d+ broke"):
                await anext(events)

    _run(server, scenario)

    assert _text(got).startswith("Hello")


@_ALL
def test_an_answer_cut_short_is_no_reply(adapter: _Adapter, stream: bytes) -> None:
    failure = _fails(adapter, _Server(_answers(stream[: stream.index(b"w\xc3\xb6rld")])), MalformedStreamError)

    assert failure.transient


@_ALL
@pytest.mark.parametrize("after_head", [False, True])
def test_a_silent_server_is_given_up(adapter: _Adapter, stream: bytes, after_head: bool) -> None:
    async def behaviour(call: _Call) -> None:
        if after_head:
            await call.head()
            await call.chunks(stream[:60])
        await call.until_the_client_leaves()

    failure = _fails(adapter, _Server(behaviour), StalledStreamError, idle_timeout=0.2)

    assert "sent nothing for 0.2 s" in str(failure)


@_ALL
def test_cancelling_closes_the_connection_at_once(adapter: _Adapter, stream: bytes) -> None:
    left = asyncio.Event()

    async def behaviour(call: _Call) -> None:
        await call.head()
        await call.chunks(stream[: stream.index(b"Hello") + 100])
        await call.until_the_client_leaves()
        left.set()

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        streaming = asyncio.Event()

        async def consume() -> None:
            async with _stream(adapter, server, transport) as events:
                async for _ in events:
                    streaming.set()

        task = asyncio.create_task(consume())
        await streaming.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left.wait()

    _run(server, scenario)


@_ALL
def test_cancelling_does_not_wait_for_a_server_that_thinks(adapter: _Adapter, stream: bytes) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def behaviour(call: _Call) -> None:
        asked.set()
        await call.until_the_client_leaves()
        left.set()

    server = _Server(behaviour)

    async def scenario(transport: LiveTransport) -> None:
        task = asyncio.create_task(_collect(adapter, server, transport))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left.wait()

    _run(server, scenario)


@_ALL
@pytest.mark.parametrize(
    ("status", "kind"),
    [("401 Unauthorized", AuthError), ("429 Too Many", RateLimitError), ("529 Overloaded", OverloadedError)],
)
def test_a_refusal_is_typed(adapter: _Adapter, stream: bytes, status: str, kind: type[ProviderError]) -> None:
    body = msgspec.json.encode({"error": {"message": f"not with {_KEY}"}})

    failure = _fails(adapter, _Server(_answers(body, "retry-after: 3", status=status)), kind)

    assert failure.retry_after == 3
    assert "not with [redacted]" in str(failure)


@_ALL
def test_a_redirect_is_not_followed_with_the_key(adapter: _Adapter, stream: bytes) -> None:
    server = _Server(_answers(b"", "location: http://elsewhere.test/", status="307 Temporary Redirect"))

    failure = _fails(adapter, server, BadRequestError)

    assert "a redirect to elsewhere.test" in str(failure)
    assert len(server.calls) == 1


@_ALL
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<!doctype html><title>Welcome</title>", MalformedStreamError),
        (b'{"error": {"message": "busy", "code": 503}}', OverloadedError),
        (b'\n {"hello": "world"}', MalformedStreamError),
        (b"", MalformedStreamError),
        (b"hello", MalformedStreamError),
    ],
)
def test_a_body_that_is_no_stream(adapter: _Adapter, stream: bytes, body: bytes, kind: type[ProviderError]) -> None:
    _fails(adapter, _Server(_answers(body)), kind)


def test_a_completion_in_one_piece_is_a_reply() -> None:
    message = {"role": "assistant", "content": "hi"}
    body = msgspec.json.encode({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    events = _replies(OpenAICompletions, _Server(_answers(body, "content-type: application/json")))

    assert _text(events) == "hi"
    assert events[-1] == StreamDone("stop")


def test_a_reply_of_gemini_as_the_array_of_its_chunks_is_a_reply() -> None:
    chunks = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("h", "i")]
    body = msgspec.json.encode([*chunks, {"candidates": [{"finishReason": "STOP"}]}])

    events = _replies(GoogleGemini, _Server(_answers(body, "content-type: application/json")))

    assert _text(events) == "hi"
    assert events[-1] == StreamDone("stop")


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = _Server(_streams(_OPENAI_STREAM))

    async def scenario(transport: LiveTransport) -> None:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        events = OpenAICompletions(Endpoint("http://model.test/v1"), transport).stream(_REQUEST)
        assert [event async for event in events][-1] == StreamDone("stop")

    _run(proxy, scenario)

    assert proxy.calls[0].path == "http://model.test/v1/chat/completions"


@pytest.mark.parametrize("from_environment", [True, False])
def test_a_proxy_of_the_settings_is_used_where_the_environment_has_none(
    monkeypatch: pytest.MonkeyPatch, from_environment: bool
) -> None:
    proxy = _Server(_streams(_OPENAI_STREAM))
    for name in ("http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    async def scenario(transport: LiveTransport) -> None:
        if from_environment:
            monkeypatch.setenv("http_proxy", proxy.url)
        other = "http://127.0.0.1:1" if from_environment else proxy.url
        named = LiveTransport(proxy=other)
        events = OpenAICompletions(Endpoint("http://model.test/v1"), named).stream(_REQUEST)
        assert [event async for event in events][-1] == StreamDone("stop")
        await named.close()

    _run(proxy, scenario)

    assert proxy.calls[0].path == "http://model.test/v1/chat/completions"


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks4://name:pw@127.0.0.1:1", "cannot use the proxy for .*: kaa supports SOCKS version 5 only"),
        ("http://name:pw@[", "its address is not a valid http://, https://, socks5://"),
        ("http://name:pw@127.0.0.1:port", "its address is not a valid http://, https://, socks5://"),
        (
            "http://name:pw@127.0.0.1:1",
            r"cannot connect to model\.test through the proxy 127\.0\.0\.1:1 \(Connection refused",
        ),
    ],
)
def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, proxy: str, message: str) -> None:
    async def scenario() -> None:
        monkeypatch.setenv("https_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(NetworkError, match=message) as caught:
            async with LiveTransport().send(HttpRequest("POST", "https://model.test/")):
                pass
        assert "pw" not in str(caught.value)

    asyncio.run(scenario())


def test_a_proxy_that_wants_a_login_for_a_plain_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(call: _Call) -> None:
        await call.answer(b"", "proxy-authenticate: NTLM", status="407 Proxy Authentication Required")

    proxy = _Server(refuse)

    async def scenario(transport: LiveTransport) -> None:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(
            NetworkError, match="it requires a login with 'NTLM', and kaa supports only Basic"
        ) as caught:
            async with transport.send(HttpRequest("POST", "http://model.test/")):
                pass
        assert not caught.value.transient

    _run(proxy, scenario)


def test_a_proxy_that_refuses_the_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        monkeypatch.setenv("https_proxy", _url_of(server).replace("//", "//user:pa%20ss@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(
            NetworkError, match=r"cannot use the proxy for model\.test: it requires a name and password"
        ):
            async with LiveTransport().send(HttpRequest("POST", "https://model.test/", (("x-api-key", _KEY),))):
                pass
        server.close()

    asyncio.run(scenario())

    assert heads[0].startswith(b"CONNECT model.test:443 HTTP/1.1\r\nhost: model.test:443\r\n")
    assert b"proxy-authorization: Basic dXNlcjpwYSBzcw==" in heads[0]
    assert _KEY.encode() not in heads[0]


def test_a_server_that_speaks_no_tls() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        with pytest.raises(NetworkError, match="TLS failed"):
            async with LiveTransport().send(HttpRequest("POST", _url_of(server).replace("http:", "https:"))):
                pass
        server.close()

    asyncio.run(scenario())


def test_a_server_that_never_greets_is_given_up() -> None:
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.transport.abort()
        left.set()

    async def scenario() -> None:
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        transport = LiveTransport(connect_timeout=0.1)
        with pytest.raises(NetworkError, match=r"no answer within 0\.1 s"):
            async with transport.send(HttpRequest("POST", _url_of(server).replace("http:", "https:"))):
                pass
        await left.wait()
        server.close()

    asyncio.run(scenario())


def test_a_port_nobody_listens_on() -> None:
    async def scenario() -> None:
        transport = LiveTransport()
        with pytest.raises(NetworkError, match=r"cannot connect to 127\.0\.0\.1:1 .*Connection refused.*check"):
            async with transport.send(HttpRequest("POST", "http://user:pw@127.0.0.1:1/x")):
                pass
        await transport.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("localhost:8000", ""),
        ("ftp://host.test/", ""),
        ("http://", ""),
        ("http://[", ""),
        (f"http://{'x' * 64}.test/", ""),
        ("http://host.test/", "with\nbreak"),
    ],
)
def test_a_request_that_cannot_be_sent(url: str, header: str) -> None:
    async def scenario() -> None:
        transport = LiveTransport()
        with pytest.raises(BadRequestError, match="Check the base URL") as caught:
            async with transport.send(HttpRequest("POST", url, (("x-api-key", header),))):
                pass
        await transport.close()
        assert caught.value.__cause__ is None
        assert "break" not in str(caught.value).replace("line break", "")

    asyncio.run(scenario())


def test_requests_and_endpoints_show_no_secret() -> None:
    request = HttpRequest("POST", "https://user:pw@host.test/x?key=abc", (("authorization", _KEY),), b"body")

    assert repr(request) == "HttpRequest('POST', 'host.test')"
    assert _KEY not in repr(Endpoint("https://host.test", _KEY, (("x-key", _KEY),)))


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    """A response that lies unread on an idle connection is dropped with the connection."""
    pushed = asyncio.Event()

    async def answer_twice(call: _Call) -> None:
        await call.answer(b"first")
        await call.answer(b"forged")
        pushed.set()

    async def answer(call: _Call) -> None:
        await call.answer(b"second")

    server = _Server(answer_twice, answer)
    bodies = []

    async def scenario(transport: LiveTransport) -> None:
        for _ in range(2):
            async with transport.send(HttpRequest("POST", server.url)) as response:
                bodies.append(b"".join([piece async for piece in response.chunks()]))
            await pushed.wait()

    _run(server, scenario)

    assert bodies == [b"first", b"second"]
    assert server.connections == 2


def test_a_late_answer_that_nobody_asked_for_is_dropped_before_it_is_read() -> None:
    """It is in the kernel's buffer when the connection is used again, and asyncio has not seen it."""

    async def answer(call: _Call) -> None:
        await call.answer(b"asked for")

    server = _Server(answer)
    bodies = []

    async def scenario(transport: LiveTransport) -> None:
        for _ in range(2):
            async with transport.send(HttpRequest("POST", server.url)) as response:
                bodies.append(b"".join([piece async for piece in response.chunks()]))
            # Written past asyncio, so that the client has no chance to read it before its next request.
            connection = server.calls[-1].writer.get_extra_info("socket").fileno()
            os.write(connection, b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged")

    _run(server, scenario)

    assert bodies == [b"asked for", b"asked for"]
    assert server.connections == 2


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection"])
def test_a_header_of_the_users_that_says_where_the_request_ends_is_refused(name: str) -> None:
    async def scenario() -> None:
        transport = LiveTransport()
        with pytest.raises(BadRequestError, match=f"the header '{name.lower()}' from your configuration"):
            async with transport.send(HttpRequest("POST", "http://model.test/", ((name, "1"),))):
                pass
        await transport.close()

    asyncio.run(scenario())


def test_a_host_of_the_users_replaces_kaas() -> None:
    async def answer(call: _Call) -> None:
        await call.answer(b"")

    server = _Server(answer)
    lines: list[str] = []

    async def scenario(transport: LiveTransport) -> None:
        async with transport.send(HttpRequest("POST", server.url, (("Host", "model.test"),))) as response:
            assert response.status == 200
        lines.extend(server.calls[0].lines)

    _run(server, scenario)

    assert [line for line in lines if line.lower().startswith("host")] == ["host: model.test"]


def test_the_system_keeps_silent_connections_alive() -> None:
    kept: list[int] = []
    seconds: list[int] = []

    async def answer(call: _Call) -> None:
        ours = call.writer.get_extra_info("peername")
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError):
                if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    continue
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as found:
                if found.family == socket.AF_INET and found.getsockname() == ours:
                    kept.append(found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
                    options = ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL")
                    known = [getattr(socket, option) for option in options if hasattr(socket, option)]
                    seconds.extend(found.getsockopt(socket.IPPROTO_TCP, option) for option in known)
        await call.answer(b"")

    server = _Server(answer)

    async def scenario(transport: LiveTransport) -> None:
        async with transport.send(HttpRequest("POST", server.url)):
            pass

    _run(server, scenario)

    assert kept == [1]
    # Systems wait two hours and then 75 seconds; routers forget a silent connection after some minutes.
    assert seconds
    assert all(0 < wait <= 60 for wait in seconds)


def test_a_transport_can_be_closed_twice_and_unused() -> None:
    async def scenario() -> None:
        transport = LiveTransport()
        await transport.close()
        await transport.close()

    asyncio.run(scenario())
