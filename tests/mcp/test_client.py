"""The client as its users see it: connect, list, call, and everything that a server can do wrong meanwhile."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kaa.mcp import parsing
from kaa.mcp.client import McpClient
from kaa.mcp.contents import AudioPart, ImagePart, LinkPart, Progress, PromptResult, ResourcePart, TextPart
from kaa.mcp.errors import LegacyNeededError, McpError, ServerGoneError, UnsupportedServerError
from kaa.mcp.manifest import PromptInfo
from kaa.mcp.questions import ElicitAnswer, Elicitation, FormRequest
from kaa.mcp.stdio import StdioConnection
from tests.support.loops import in_loop
from tests.support.mcp_connection import MemoryConnection, Observed, PlainProgram, ScriptedQuestions, texts
from tests.support.mcp_server import NAMESPACE, ScriptedServer, echo_tool
from tests.support.patience import HANG_SECONDS


async def connected(
    server: ScriptedServer, *, eras: tuple[Any, ...] = ("legacy", "modern"), questions: ScriptedQuestions | None = None
) -> tuple[McpClient, MemoryConnection, Observed]:
    connections: list[MemoryConnection] = []

    def connection() -> MemoryConnection:
        connections.append(MemoryConnection(server))
        return connections[-1]

    observed = Observed()
    client = await McpClient.connect(connection, questions or ScriptedQuestions(), observed, eras=eras)
    return client, connections[-1], observed


class _Hindered(MemoryConnection):
    """A connection to a server that a sandbox keeps from something.

    Attributes:
        longest: of the texts in which it had to look for that.
    """

    longest = 0

    def take_hindrance(self, said: str = "", asked: str = "") -> str:
        self.longest = max(self.longest, len(said), len(asked))
        return "Its sandbox kept it from a.example."


class _Mute(ScriptedServer):
    """A server that answers nothing."""

    def handle(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        return []


class _Picky(ScriptedServer):
    """A server that refuses the revision of some messages, and lists revisions that it supports."""

    def __init__(self, refused: Callable[[dict[str, Any]], bool], supported: str, era: str) -> None:
        super().__init__(eras=(era,))
        self._refuses = refused
        self._supported = supported

    def handle(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        if not self._refuses(message):
            return super().handle(message)
        self.received.append(message)
        error = {"code": -32022, "message": "unsupported", "data": {"supported": [self._supported]}}
        return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]


class _Slow(ScriptedQuestions):
    """A person who does not answer."""

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        await asyncio.Event().wait()
        raise AssertionError


class TestConnecting:
    @in_loop
    async def test_a_legacy_server_is_listed_and_called(self) -> None:
        client, connection, _ = await connected(ScriptedServer(instructions="Be brief."))
        assert (client.manifest.era, client.manifest.protocol) == ("legacy", "2025-11-25")
        assert client.manifest.instructions == "Be brief."
        assert [tool.name for tool in client.manifest.tools] == ["echo"]
        assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
        assert connection.server.methods()[:3] == ["initialize", "notifications/initialized", "tools/list"]

    @in_loop
    async def test_a_modern_server_gets_meta_with_each_request(self) -> None:
        client, connection, _ = await connected(ScriptedServer(eras=("modern",)), eras=("modern", "legacy"))
        assert (client.manifest.era, client.manifest.protocol) == ("modern", "2026-07-28")
        assert client.manifest.server.name == "scripted"
        assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
        for message in connection.server.received:
            meta = message["params"]["_meta"]
            assert meta[NAMESPACE + "protocolVersion"] == "2026-07-28"
            assert meta[NAMESPACE + "clientInfo"]["name"] == "kaa"
            assert meta[NAMESPACE + "clientCapabilities"] == {"elicitation": {"form": {}, "url": {}}}
        assert "initialize" not in connection.server.methods()
        await client.close()

    @in_loop
    async def test_a_modern_server_that_refuses_initialize_is_talked_to_in_its_way(self) -> None:
        client, _, _ = await connected(ScriptedServer(eras=("modern",)), eras=("legacy", "modern"))
        assert client.manifest.era == "modern"
        await client.close()

    @in_loop
    async def test_a_legacy_server_that_does_not_know_discover_is_initialized_without_meta(self) -> None:
        client, connection, _ = await connected(ScriptedServer(), eras=("modern", "legacy"))
        assert client.manifest.era == "legacy"
        assert all("_meta" not in (m.get("params") or {}) for m in connection.server.received[1:])

    @in_loop
    async def test_only_the_ends_of_a_long_failure_are_searched(self) -> None:
        long = "ENOENT " * 100_000
        results = {
            "fails": {"content": [{"type": "text", "text": long}], "isError": True},
            "refuses": {"error": {"code": -32000, "message": long}},
        }
        connection = _Hindered(ScriptedServer(tools=[echo_tool("fails"), echo_tool("refuses")], results=results))
        client = await McpClient.connect(lambda: connection, ScriptedQuestions(), Observed(), eras=("legacy",))

        assert (await client.call("fails", {"text": long})).hindrance
        with pytest.raises(McpError):
            await client.call("refuses", {})

        assert 1_000 < connection.longest < 10_000

    @in_loop
    async def test_what_kept_a_server_from_its_work_is_told_with_failures_only(self) -> None:
        tools = [echo_tool(), echo_tool("fails"), echo_tool("refuses"), echo_tool("mentions")]
        results = {
            "fails": {"content": [], "isError": True},
            "mentions": {"content": [{"type": "text", "text": "Search: TypeError: fetch failed"}]},
            "refuses": {"error": {"code": -32000, "message": "no network."}},
        }
        server, observed = ScriptedServer(tools=tools, results=results), Observed()
        client = await McpClient.connect(lambda: _Hindered(server), ScriptedQuestions(), observed, eras=("legacy",))

        assert (await client.call("echo", {"text": "hi"})).hindrance == ""
        assert (await client.call("mentions", {})).hindrance == "Its sandbox kept it from a.example."
        assert (await client.call("fails", {})).hindrance == "Its sandbox kept it from a.example."
        with pytest.raises(McpError, match=r"^no network\. Its sandbox kept it from a\.example\.$"):
            await client.call("refuses", {})
        with pytest.raises(McpError, match=r"no answer to initialize within 0\.01 seconds\. Its sandbox kept"):
            await McpClient.connect(
                lambda: _Hindered(_Mute()), ScriptedQuestions(), observed, eras=("legacy",), patience=0.01
            )
        await client.close()

    @in_loop
    async def test_a_server_of_an_unknown_revision_says_which(self) -> None:
        server = ScriptedServer()
        server.handle = lambda message: [  # type: ignore[method-assign]
            {"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2031-01-01", "capabilities": {}}}
        ]
        with pytest.raises(UnsupportedServerError, match=r"speaks 2031-01-01 of the protocol; kaa speaks 2026-07-28"):
            await connected(server)

    @in_loop
    async def test_a_refusal_that_lists_the_revision_of_the_request_is_tried_once_more(self) -> None:
        refused = {"server/discover", "tools/call"}

        def refuse_first(message: dict[str, Any]) -> bool:
            first = message["method"] in refused
            refused.discard(message["method"])
            return first

        server = _Picky(refuse_first, "2026-07-28", "modern")
        client, _, _ = await connected(server, eras=("modern",))

        assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
        assert server.methods().count("tools/call") == 2
        await client.close()

    @in_loop
    async def test_a_server_that_always_refuses_the_revision_that_it_lists_is_given_up(self) -> None:
        server = _Picky(lambda _: True, "2026-07-28", "modern")

        with pytest.raises(UnsupportedServerError, match="unsupported"):
            await connected(server, eras=("modern",))

        assert len(server.received) == 2

    @in_loop
    async def test_a_server_that_refuses_the_newest_legacy_revision_is_asked_for_one_that_it_lists(self) -> None:
        def refuse(message: dict[str, Any]) -> bool:
            return bool(message["method"] == "initialize" and message["params"]["protocolVersion"] != "2025-06-18")

        client, _, _ = await connected(_Picky(refuse, "2025-06-18", "legacy"), eras=("legacy",))

        assert client.manifest.protocol == "2025-06-18"
        await client.close()

    @in_loop
    async def test_a_server_that_does_not_start_says_why(self) -> None:
        with pytest.raises(ServerGoneError, match="it exited with code 3: cannot find its database"):
            await connected(ScriptedServer(fault="exits"))


class TestListing:
    @in_loop
    async def test_pages_are_put_together(self) -> None:
        tools = [echo_tool(f"tool{number}") for number in range(7)]
        client, connection, _ = await connected(ScriptedServer(tools=tools, page=3))
        assert len(client.manifest.tools) == 7
        assert connection.server.methods().count("tools/list") == 3

    @in_loop
    async def test_pages_without_end_stop_at_the_limit(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="endless"))
        assert connection.server.methods().count("tools/list") == 100
        assert len(client.manifest.tools) == 100

    @in_loop
    async def test_more_tools_than_are_used_are_told(self) -> None:
        tools = [echo_tool(f"tool{number}") for number in range(2_500)]
        client, _, _ = await connected(ScriptedServer(tools=tools))
        assert len(client.manifest.tools) == 2_000
        assert client.manifest.left_out == ("it lists more than 2,000 tools: the first 2,000 are used",)

    @in_loop
    async def test_one_malformed_tool_leaves_the_others(self) -> None:
        tools = [echo_tool(), {"name": "broken"}, "text", echo_tool("b", description=7), {"inputSchema": {}}]
        client, _, _ = await connected(ScriptedServer(tools=tools))  # type: ignore[arg-type]
        assert [tool.name for tool in client.manifest.tools] == ["b", "echo"]
        assert client.manifest.left_out[0] == "tool 2 (broken) is left out: `inputSchema` is not an object"
        assert len(client.manifest.left_out) == 3

    @in_loop
    async def test_a_change_is_listed_again(self) -> None:
        client, connection, observed = await connected(ScriptedServer())
        connection.server.tools.append(echo_tool("later"))
        connection.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await observed.happened.wait()
        assert [tool.name for tool in client.manifest.tools] == ["echo", "later"]
        assert observed.manifests == [client.manifest]
        await client.close()

    @in_loop
    async def test_a_modern_server_is_subscribed_to(self) -> None:
        client, connection, observed = await connected(ScriptedServer(eras=("modern",)), eras=("modern",))
        while "subscriptions/listen" not in connection.server.methods():
            await asyncio.sleep(0)
        wanted = connection.server.received[-1]["params"]["notifications"]
        assert wanted == {"toolsListChanged": True}
        connection.server.tools.append(echo_tool("later"))
        connection.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await observed.happened.wait()
        assert len(client.manifest.tools) == 2
        await client.close()

    @in_loop
    async def test_warnings_are_logged_and_chatter_is_not(self) -> None:
        client, connection, observed = await connected(ScriptedServer())
        for level in ("info", "warning"):
            params = {"level": level, "data": {"disk": "full\x1b[31m"}}
            connection.say({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        assert [(line.level, line.text) for line in observed.lines] == [("warning", '{"disk":"full\\u001b[31m"}')]
        await client.close()


class TestCalling:
    @in_loop
    async def test_contents_of_every_kind(self) -> None:
        contents = [
            {"type": "text", "text": "t"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "a://b", "name": "n", "size": 3},
            {"type": "resource", "resource": {"uri": "a://c", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a://d", "blob": "aGk="}},
        ]
        result = {"content": contents, "structuredContent": {"n": 1}, "isError": True}
        client, _, _ = await connected(ScriptedServer(results={"echo": result}))
        found = await client.call("echo", {})
        assert found.parts == (
            TextPart("t"),
            ImagePart(b"hi", "image/png"),
            AudioPart(b"hi", "audio/wav"),
            LinkPart("a://b", "n", size=3),
            ResourcePart("a://c", "", "inside"),
            ResourcePart("a://d", "", b"hi"),
        )
        assert (found.structured, found.failed) == ({"n": 1}, True)

    @in_loop
    async def test_what_nobody_sees_is_removed_from_every_answer(self) -> None:
        hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey") + "\u202e\u200b\x1b[8m\x00"
        text = f"se{hidden}en\n\t👩\u200d💻 ✔\ufe0f"
        contents = [
            {"type": "text", "text": text},
            {"type": "resource", "resource": {"uri": "a://c", "text": text}},
            {"type": "resource_link", "uri": "a://b", "name": text, "description": text},
        ]
        result = {"content": contents, "structuredContent": {f"k{hidden}": [{"deep": text}]}}
        refusal = {"error": {"code": 1, "message": text}}
        client, _, _ = await connected(ScriptedServer(results={"echo": [result, refusal]}))

        found = await client.call("echo", {})
        with pytest.raises(McpError) as refused:
            await client.call("echo", {})
        prompt = parsing.prompt_result({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})

        seen = "seen\n\t👩\u200d💻 ✔\ufe0f"
        assert found.parts[0] == prompt.messages[0].part == TextPart(seen)
        assert found.structured == {"k": [{"deep": seen}]}
        said = f"{found} {refused.value} {prompt}"
        assert "seen" in str(refused.value)
        assert not any(character in said for character in hidden if not character.isprintable())
        await client.close()

    @pytest.mark.parametrize(
        "result", [{"content": 7}, {"content": [7]}, {"content": [{"type": "image", "data": "?", "mimeType": "x"}]}]
    )
    @in_loop
    async def test_a_result_of_another_shape_is_an_error_with_the_value(self, result: dict[str, Any]) -> None:
        client, _, _ = await connected(ScriptedServer(results={"echo": result}))
        with pytest.raises(McpError, match=r"content"):
            await client.call("echo", {})

    @in_loop
    async def test_an_error_keeps_its_code_and_loses_what_nobody_sees(self) -> None:
        error = {"error": {"code": -32602, "message": "no\x1b[31m such\u200b thing"}}
        client, _, _ = await connected(ScriptedServer(results={"echo": error}))
        with pytest.raises(McpError, match="no such thing") as raised:
            await client.call("echo", {})
        assert raised.value.code == -32602

    @in_loop
    async def test_a_call_without_an_answer_ends_after_its_patience_and_the_server_learns_it(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        with pytest.raises(McpError, match=r"no answer to tools/call within 0\.05 seconds"):
            await client.call("echo", {}, patience=0.05)
        assert connection.server.methods()[-1] == "notifications/cancelled"

    @in_loop
    async def test_an_answer_after_its_time_is_ignored(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        with pytest.raises(McpError):
            await client.call("echo", {}, patience=0.01)
        late = next(m["id"] for m in connection.server.received if m.get("method") == "tools/call")
        connection.say({"jsonrpc": "2.0", "id": late, "result": {"content": []}})
        connection.server.fault = ""
        assert texts(await client.call("echo", {"text": "next"})) == ["next"]

    @in_loop
    async def test_a_second_answer_is_ignored(self) -> None:
        client, _, _ = await connected(ScriptedServer(fault="twice"))
        assert texts(await client.call("echo", {"text": "a"})) == ["a"]
        assert texts(await client.call("echo", {"text": "b"})) == ["b"]

    @in_loop
    async def test_an_answer_that_is_not_for_it_does_not_end_a_call(self) -> None:
        client, _, _ = await connected(ScriptedServer(fault="wrong id"))
        with pytest.raises(McpError, match=r"no answer .* the last unexpected message: a response to request"):
            await client.call("echo", {}, patience=0.05)

    @in_loop
    async def test_an_error_without_an_id_ends_the_only_call(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        asked = asyncio.ensure_future(client.call("echo", {}, patience=HANG_SECONDS))
        await asyncio.sleep(0)
        connection.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
        with pytest.raises(McpError, match="Parse error"):
            await asked

    @in_loop
    async def test_what_an_error_without_an_id_says_is_told_when_the_call_ends(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        asked = asyncio.ensure_future(client.call("echo", {}, patience=0.2))
        await asyncio.sleep(0)
        connection.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "the database is locked"}})
        with pytest.raises(McpError, match=r"no answer .* 'the database is locked' without the id of a request"):
            await asked

    @in_loop
    async def test_an_answer_that_cannot_be_read_ends_its_call_at_once(self) -> None:
        client, _, _ = await connected(ScriptedServer(fault="wrong type"))
        with pytest.raises(McpError, match=r"answer cannot be read.*is not an object"):
            await client.call("echo", {})

    @in_loop
    async def test_progress_extends_the_patience_and_is_told(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        told: list[Progress] = []
        call = asyncio.create_task(client.call("echo", {}, progress=told.append, patience=1.0))
        while connection.server.methods()[-1] != "tools/call":
            await asyncio.sleep(0)
        request = connection.server.received[-1]
        token = request["params"]["_meta"]["progressToken"]
        for number in range(4):
            await asyncio.sleep(0.3)
            params = {"progressToken": token, "progress": number, "total": 4, "message": "step\x07"}
            connection.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        connection.say({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}})
        await call
        assert told[-1] == Progress(3, 4, "step")

    @in_loop
    async def test_cancelling_tells_the_server(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        call = asyncio.create_task(client.call("echo", {}))
        while connection.server.methods()[-1] != "tools/call":
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        last = connection.server.received[-1]
        assert last["method"] == "notifications/cancelled"
        assert last["params"]["requestId"] == connection.server.received[-2]["id"]

    @in_loop
    async def test_the_end_of_the_connection_ends_calls_with_its_reason(self) -> None:
        client, connection, observed = await connected(ScriptedServer(fault="silent"))
        call = asyncio.create_task(client.call("echo", {}))
        while connection.server.methods()[-1] != "tools/call":
            await asyncio.sleep(0)
        connection.end("it exited with code 1")
        with pytest.raises(ServerGoneError, match="it exited with code 1"):
            await call
        with pytest.raises(ServerGoneError, match="it exited with code 1"):
            await client.call("echo", {})
        assert observed.reasons == ["it exited with code 1"]

    @in_loop
    async def test_prompts_resources_and_completions(self) -> None:
        server = ScriptedServer(
            prompts=[{"name": "review", "arguments": [{"name": "file"}]}], resources=[{"uri": "a://b"}]
        )
        client, _, _ = await connected(server)
        prompt = await client.prompt("review", {"file": "x"})
        assert texts_of(prompt) == ['review {"file": "x"}']
        assert await client.read("a://b") == (ResourcePart("a://b", "text/plain", "content of a://b"),)
        assert await client.complete(PromptInfo("review"), "file", "ma", {}) == ("ma1", "ma2")


FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


class TestQuestions:
    @in_loop
    async def test_an_input_round_repeats_the_request_with_answer_and_state(self) -> None:
        rounds = [
            {
                "resultType": "input_required",
                "inputRequests": {"who": {"method": "elicitation/create", "params": FORM}},
                "requestState": "opaque ☃",
            },
            {"content": [{"type": "text", "text": "hello"}]},
        ]
        server = ScriptedServer(eras=("modern",), results={"echo": rounds})
        questions = ScriptedQuestions([ElicitAnswer("accept", {"name": "Ada"})])
        client, _, _ = await connected(server, eras=("modern",))
        assert texts(await client.call("echo", {"text": "x"}, questions=questions)) == ["hello"]
        first, second = [m for m in server.received if m["method"] == "tools/call"]
        assert first["id"] != second["id"]
        assert second["params"]["requestState"] == "opaque ☃"
        assert second["params"]["inputResponses"] == {"who": {"action": "accept", "content": {"name": "Ada"}}}
        assert isinstance(questions.asked[0], FormRequest)
        await client.close()

    @in_loop
    async def test_rounds_without_end_are_an_error(self) -> None:
        server = ScriptedServer(
            eras=("modern",), results={"echo": {"resultType": "input_required", "requestState": "s"}}
        )
        client, _, _ = await connected(server, eras=("modern",))
        with pytest.raises(McpError, match="asked for input 10 times without an end"):
            await client.call("echo", {})
        await client.close()

    @in_loop
    async def test_a_legacy_question_belongs_to_the_call_that_runs(self) -> None:
        client, connection, _ = await connected(ScriptedServer(fault="silent"))
        questions = ScriptedQuestions([ElicitAnswer("decline")])
        call = asyncio.create_task(client.call("echo", {}, questions=questions))
        while connection.server.methods()[-1] != "tools/call":
            await asyncio.sleep(0)
        connection.say({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": FORM})
        while connection.server.received[-1].get("id") != "q1":
            await asyncio.sleep(0)
        assert connection.server.received[-1]["result"] == {"action": "decline"}
        assert len(questions.asked) == 1
        call.cancel()

    @in_loop
    async def test_no_more_than_64_questions_are_answered_at_once(self) -> None:
        client, connection, _ = await connected(ScriptedServer(), questions=_Slow())
        for number in range(65):
            ask = {"jsonrpc": "2.0", "id": f"q{number}", "method": "elicitation/create", "params": FORM}
            connection.say(ask)
        while "error" not in connection.server.received[-1]:
            await asyncio.sleep(0)

        refused = connection.server.received[-1]
        assert (refused["id"], refused["error"]["code"]) == ("q64", -32000)
        await client.close()

    @in_loop
    async def test_pings_and_roots_are_answered_and_the_rest_is_refused(self) -> None:
        _, connection, _ = await connected(ScriptedServer())
        for id_, method in enumerate(("ping", "roots/list", "sampling/createMessage", "other"), 100):
            params = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
            connection.say({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        while len(connection.server.received) < 7:
            await asyncio.sleep(0)
        answers = {m["id"]: m for m in connection.server.received if "method" not in m}
        assert answers[100]["result"] == {}
        assert answers[101]["result"] == {"roots": [{"uri": "file:///project", "name": "project"}]}
        assert answers[102]["error"]["code"] == answers[103]["error"]["code"] == -32601

    @in_loop
    async def test_a_tool_without_back_channel_needs_the_legacy_way(self) -> None:
        error = {"error": {"code": -32600, "message": "no back-channel for server-initiated requests"}}
        server = ScriptedServer(eras=("modern",), results={"echo": error})
        client, _, _ = await connected(server, eras=("modern",))
        with pytest.raises(LegacyNeededError):
            await client.call("echo", {})
        await client.close()


class TestPrograms:
    async def start(self, folder: Path, **fields: Any) -> tuple[McpClient, Observed]:
        observed = Observed()
        connection = StdioConnection(lambda: PlainProgram.start(folder / "script.json", **fields))
        questions = ScriptedQuestions()
        return await McpClient.connect(lambda: connection, questions, observed, eras=("legacy",)), observed

    @in_loop
    async def test_a_program_is_called_and_ends_with_the_connection(self, tmp_path: Path) -> None:
        client, observed = await self.start(tmp_path)
        assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
        await client.close()
        assert observed.reasons == []

    @in_loop
    async def test_a_program_that_never_answered_is_ended_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kaa.mcp.stdio._LAST_SECONDS", 3600)
        command = [sys.executable, "-c", "import time; time.sleep(3600)"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            started = asyncio.Event()

            async def start() -> PlainProgram:
                started.set()
                return PlainProgram(process)

            connecting = asyncio.create_task(
                McpClient.connect(lambda: StdioConnection(start), ScriptedQuestions(), Observed(), eras=("legacy",))
            )
            await started.wait()
            connecting.cancel()
            try:
                await asyncio.wait({connecting}, timeout=HANG_SECONDS)
                assert connecting.done()
            finally:
                process.kill()

    @in_loop
    async def test_lines_that_are_no_messages_are_skipped(self, tmp_path: Path) -> None:
        client, _ = await self.start(tmp_path, fault="stray")
        assert texts(await client.call("echo", {"text": "hello"})) == ["hello"]
        await client.close()

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            ("dies", "it exited with code 7"),
            ("torn", "it exited with code 0"),
            ("huge", "it sent a message of more than 16 MiB"),
        ],
    )
    @in_loop
    async def test_the_end_during_a_call_is_told_with_its_reason(self, tmp_path: Path, fault: str, reason: str) -> None:
        client, observed = await self.start(tmp_path, fault=fault)
        with pytest.raises(ServerGoneError, match=reason):
            await client.call("echo", {"text": "hello"})
        assert observed.reasons == [reason]
        await client.close()


def texts_of(prompt: PromptResult) -> list[str]:
    return [one.part.text for one in prompt.messages if isinstance(one.part, TextPart)]
