"""Servers over HTTP, as users of the client see them: both eras, the oldest transport, and what can go wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kaa.llm.http.live import LiveTransport
from kaa.mcp.client import McpClient
from kaa.mcp.errors import LoginNeededError, McpError, ServerGoneError
from kaa.mcp.http.sse import SseConnection
from kaa.mcp.http.streamable import StreamableHttpConnection
from tests.support.loops import in_loop
from tests.support.mcp_connection import Observed, ScriptedQuestions, texts
from tests.support.mcp_http import Instead, McpHttpServer, Style
from tests.support.mcp_server import ScriptedServer, echo_tool

MODERN_FIRST = ("modern", "legacy")


async def _own_headers() -> tuple[tuple[str, str], ...]:
    return (("x-team", "blue"),)


@asynccontextmanager
async def connected(
    url: str, eras: tuple[Any, ...] = MODERN_FIRST, observer: Observed | None = None
) -> AsyncIterator[McpClient]:
    transport = LiveTransport()
    try:
        client = await McpClient.connect(
            lambda: StreamableHttpConnection(url, transport, _own_headers),
            ScriptedQuestions(),
            observer or Observed(),
            eras=eras,
        )
        try:
            yield client
        finally:
            await client.close()
    finally:
        await transport.close()


class TestBothEras:
    @in_loop
    async def test_a_modern_request_stands_alone(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server:
            async with connected(server.url) as client:
                assert (client.manifest.era, client.manifest.protocol) == ("modern", "2026-07-28")
                assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
            called = server.messages("tools/call")[0].headers
        assert called["mcp-method"] == "tools/call"
        assert called["mcp-name"] == "echo"
        assert called["mcp-protocol-version"] == "2026-07-28"
        assert called["x-team"] == "blue"
        assert "mcp-session-id" not in called
        assert all(one.method == "POST" for one in server.asked)

    @pytest.mark.parametrize("style", ["json", "stream"])
    @in_loop
    async def test_a_legacy_server_is_found_behind_the_modern_question(self, style: Style) -> None:
        with McpHttpServer(ScriptedServer(eras=("legacy",)), style, sessions=True) as server:
            server.instead["server/discover"] = [Instead(400, b"no session")]
            async with connected(server.url) as client:
                assert (client.manifest.era, client.manifest.protocol) == ("legacy", "2025-11-25")
                assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
            called = server.messages("tools/call")[0].headers
        assert (called["mcp-session-id"], called["mcp-protocol-version"]) == ("session-0", "2025-11-25")
        assert "mcp-method" not in called
        assert "mcp-protocol-version" not in server.messages("initialize")[0].headers
        assert server.asked[-1].method == "DELETE"

    @in_loop
    async def test_http_begins_with_discover(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("legacy", "modern"))) as server:
            async with connected(server.url):
                pass
        assert server.server.methods()[0] == "server/discover"

    @in_loop
    async def test_the_oldest_transport_is_found_behind_the_others(self) -> None:
        with McpHttpServer(ScriptedServer(), "older") as server:
            async with connected(server.url) as client:
                assert client.manifest.era == "legacy"
                assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
                failed = await client.call("echo", {"text": "again"})
                assert texts(failed) == ["again"]

    @in_loop
    async def test_the_oldest_transport_can_be_named(self) -> None:
        with McpHttpServer(ScriptedServer(), "older") as server:
            transport = LiveTransport()
            client = await McpClient.connect(
                lambda: SseConnection(server.url, transport, _own_headers),
                ScriptedQuestions(),
                Observed(),
                eras=("legacy",),
            )
            assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
            await client.close()
            await transport.close()
        assert server.asked[0].method == "GET"
        assert {one.headers["x-team"] for one in server.asked} == {"blue"}


class TestHeaders:
    @pytest.mark.parametrize(
        ("value", "header"),
        [
            ("eu-west", "eu-west"),
            (" padded", "=?base64?IHBhZGRlZA==?="),
            ("Zürich", "=?base64?WsO8cmljaA==?="),
            ("a\r\nb: c", "=?base64?YQ0KYjogYw==?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            (True, "true"),
            (7, "7"),
        ],
    )
    @in_loop
    async def test_arguments_are_repeated_where_the_schema_asks_for_it(self, value: object, header: str) -> None:
        kind = {str: "string", bool: "boolean", int: "integer"}[type(value)]
        place = {"type": "object", "properties": {"region": {"type": kind, "x-mcp-header": "Region"}}}
        tool = echo_tool(inputSchema={"type": "object", "properties": {"place": place, "text": {"type": "string"}}})
        with McpHttpServer(ScriptedServer(eras=("modern",), tools=[tool])) as server:
            async with connected(server.url) as client:
                await client.call("echo", {"place": {"region": value}})
                await client.call("echo", {"text": "nowhere"})
            first, second = server.messages("tools/call")
        assert first.headers["mcp-param-region"] == header
        assert "mcp-param-region" not in second.headers

    @pytest.mark.parametrize(
        "schema",
        [
            {"properties": {"a": {"type": "string", "x-mcp-header": "bad name"}}},
            {"properties": {"a": {"type": "object", "x-mcp-header": "A"}}},
            {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
            {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
            {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
            {"properties": {n: {"type": "string", "x-mcp-header": h} for n, h in (("a", "One"), ("b", "one"))}},
        ],
    )
    @in_loop
    async def test_a_tool_with_forbidden_headers_is_not_called(self, schema: dict[str, Any]) -> None:
        tool = echo_tool(inputSchema={"type": "object"} | schema)
        with McpHttpServer(ScriptedServer(eras=("modern",), tools=[tool])) as server:
            async with connected(server.url) as client:
                with pytest.raises(McpError, match="cannot be called over HTTP: `x-mcp-header` in its schema"):
                    await client.call("echo", {"a": "x"})
            assert server.messages("tools/call") == []

    @in_loop
    async def test_a_header_mismatch_lists_again_and_retries_once(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server:
            error = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32020, "message": "mismatch"}}'
            server.instead["tools/call"] = [Instead(400, error, {"content-type": "application/json"})]
            async with connected(server.url) as client:
                assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
            assert len(server.messages("tools/list")) == 2


class TestStreams:
    @in_loop
    async def test_a_stream_that_ends_before_the_answer_is_resumed(self) -> None:
        with McpHttpServer(ScriptedServer(), "resumed") as server:
            async with connected(server.url, ("legacy",)) as client:
                assert texts(await client.call("echo", {"text": "later"})) == ["later"]
            resumed = [one for one in server.asked if "last-event-id" in one.headers]
        assert [one.headers["last-event-id"] for one in resumed] == ["before-the-answer"]
        assert len(server.messages("tools/call")) == 1

    @in_loop
    async def test_what_a_legacy_server_says_unasked_arrives(self) -> None:
        observed = Observed()
        scripted = ScriptedServer()
        with McpHttpServer(scripted, "stream") as server:
            async with connected(server.url, ("legacy",), observed) as client:
                scripted.tools = [echo_tool(), echo_tool("added")]
                server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                await _until(lambda: len(client.manifest.tools) == 2)

    @in_loop
    async def test_a_question_of_a_legacy_server_is_answered_by_another_request(self) -> None:
        with McpHttpServer(ScriptedServer(), "stream") as server:
            async with connected(server.url, ("legacy",)):
                server.say({"jsonrpc": "2.0", "id": "q1", "method": "ping"})
                await _until(lambda: any(one.message.get("id") == "q1" for one in server.asked))
            answer = next(one.message for one in server.asked if one.message.get("id") == "q1")
        assert answer == {"jsonrpc": "2.0", "id": "q1", "result": {}}

    @in_loop
    async def test_a_stream_without_an_answer_is_an_error(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",), fault="silent"), "stream") as server:
            async with connected(server.url) as client:
                with pytest.raises(McpError, match=r"ended without a result\. The request may have had effects"):
                    await client.call("echo", {"text": "hello"})

    @pytest.mark.parametrize("style", ["json", "stream"])
    @in_loop
    async def test_an_error_without_an_id_ends_the_call_in_whose_answer_it_comes(self, style: Style) -> None:
        error = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "the database is locked"}}'
        kind = "application/json" if style == "json" else "text/event-stream"
        body = error if style == "json" else b"data: " + error + b"\n\n"
        with McpHttpServer(ScriptedServer(eras=("modern",)), style) as server:
            server.instead["tools/call"] = [Instead(200, body, {"content-type": kind})]
            async with connected(server.url) as client:
                with pytest.raises(McpError, match=r"^the database is locked"):
                    await client.call("echo", {"text": "hello"})

    @in_loop
    async def test_what_comes_instead_of_an_answer_is_shown(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server:
            server.instead["tools/call"] = [Instead(200, b'{"detail": 1}', {"content-type": "application/json"})]
            async with connected(server.url) as client:
                with pytest.raises(McpError, match=r"without a result; what came instead: .*detail"):
                    await client.call("echo", {"text": "hello"})

    @in_loop
    async def test_what_the_oldest_transport_brings_instead_of_an_answer_is_told_when_the_call_ends(self) -> None:
        with McpHttpServer(ScriptedServer(fault="silent"), "older") as server:
            async with connected(server.url, ("legacy",)) as client:
                calling = asyncio.create_task(client.call("echo", {"text": "hello"}, patience=1.0))
                await _until(lambda: server.messages("tools/call") != [])
                server.say({"detail": "out of memory"})
                with pytest.raises(McpError, match=r"no answer .* the last unexpected message: .*detail"):
                    await calling

    @in_loop
    async def test_cancelling_a_modern_call_closes_its_request(self) -> None:
        scripted = ScriptedServer(eras=("modern",))
        with McpHttpServer(scripted) as server:
            async with connected(server.url) as client:
                calling = asyncio.create_task(client.call("echo", {"text": "hello"}))
                await _until(lambda: server.messages("tools/call") != [])
                calling.cancel()
                await asyncio.wait({calling})
            assert "notifications/cancelled" not in scripted.methods()


class TestSessions:
    @in_loop
    async def test_a_session_that_is_over_begins_again(self) -> None:
        with McpHttpServer(ScriptedServer(), sessions=True) as server:
            async with connected(server.url, ("legacy",)) as client:
                await client.call("echo", {"text": "one"})
                server.forget_session()
                assert texts(await client.call("echo", {"text": "two"})) == ["two"]
                assert texts(await client.call("echo", {"text": "three"})) == ["three"]
            assert len(server.messages("initialize")) == 2
            assert server.server.methods().count("tools/call") == 3

    @in_loop
    async def test_a_server_that_forgets_each_session_is_asked_twice_at_most(self) -> None:
        with McpHttpServer(ScriptedServer(), sessions=True) as server:
            async with connected(server.url, ("legacy",)) as client:
                server.instead["tools/call"] = [Instead(404)] * 9
                with pytest.raises(McpError, match="HTTP status 404"):
                    await client.call("echo", {"text": "one"})
            assert len(server.messages("tools/call")) == 2


class TestFaults:
    @pytest.mark.parametrize(
        ("instead", "said"),
        [
            (Instead(500, b"out of\x1b[31m luck"), r"HTTP status 500: out of\S* luck"),
            (Instead(502, b"<html>proxy</html>", {"content-type": "text/html"}), "HTTP status 502$"),
            (
                Instead(307, b"", {"location": "https://elsewhere.example/mcp"}),
                "redirects to https://elsewhere.example",
            ),
            (Instead(200, b"not JSON", {"content-type": "application/json"}), "without a result"),
            (Instead(200, b"hello", {"content-type": "text/plain"}), "without a result"),
            (Instead(202), "without a result"),
        ],
    )
    @in_loop
    async def test_what_is_no_answer_is_said(self, instead: Instead, said: str) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server:
            async with connected(server.url) as client:
                server.instead["tools/call"] = [instead]
                with pytest.raises(McpError, match=said) as caught:
                    await client.call("echo", {"text": "hello"})
                assert "\x1b" not in str(caught.value)
                assert texts(await client.call("echo", {"text": "again"})) == ["again"]

    @pytest.mark.parametrize("style", ["json", "older"])
    @in_loop
    async def test_a_call_is_sent_once(self, style: Style) -> None:
        with McpHttpServer(ScriptedServer(eras=("legacy",)), style) as server:
            async with connected(server.url, eras=("legacy",)) as client:
                server.instead["tools/call"] = [Instead(0)]
                with pytest.raises(McpError):
                    await client.call("echo", {"text": "hello"})
            assert len(server.messages("tools/call")) == 1

    @in_loop
    async def test_a_redirect_is_not_followed(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server, McpHttpServer(ScriptedServer()) as other:
            async with connected(server.url) as client:
                server.instead["tools/call"] = [Instead(308, b"", {"location": other.url})]
                with pytest.raises(McpError, match="does not follow"):
                    await client.call("echo", {"text": "hello"})
            assert other.asked == []

    @in_loop
    async def test_a_refusal_for_want_of_a_login_is_told_apart(self) -> None:
        with McpHttpServer(ScriptedServer(eras=("modern",))) as server:
            challenge = 'Bearer resource_metadata="https://x.example/meta"'
            server.instead["server/discover"] = [Instead(401, b"", {"www-authenticate": challenge})]
            with pytest.raises(LoginNeededError) as caught:
                async with connected(server.url):
                    pass
        assert caught.value.challenge == challenge

    @in_loop
    async def test_nobody_at_the_address_is_said(self) -> None:
        with McpHttpServer(ScriptedServer()) as server:
            url = server.url
        with pytest.raises(ServerGoneError, match=r"cannot connect to 127\.0\.0\.1"):
            async with connected(url):
                pass

    @in_loop
    async def test_the_oldest_transport_sends_nothing_to_another_server(self) -> None:
        with McpHttpServer(ScriptedServer(), "older") as server:
            server.endpoint = "http://elsewhere.example/messages"
            with pytest.raises(ServerGoneError, match="which is another server"):
                async with connected(server.url, ("legacy",)):
                    pass


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)
