"""`kaa mcp serve`, used by a scripted client of both protocol generations, as a real process."""

import json

import msgspec
import pytest

from kaa.core.messages import Json
from kaa.mcp.messages import MAX_MESSAGE_BYTES
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.mcp_client import MODERN, serving, text
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import Line

pytestmark = pytest.mark.usefixtures("full_access")


@pytest.fixture(params=[True, False], ids=["modern", "legacy"])
def modern(request: pytest.FixtureRequest) -> bool:
    chosen: bool = request.param
    return chosen


def test_a_modern_client_discovers_the_server(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa) as client:
        found = client.result("server/discover")

    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == {"tools": {}}
    assert found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "kaa"


def test_a_legacy_client_gets_the_revision_it_asks_for_or_the_newest(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa, modern=False) as client:
        older = client.result("initialize", protocolVersion="2024-11-05", capabilities={})
        unknown = client.result("initialize", protocolVersion="1999-01-01", capabilities={})

    assert client.greeting["protocolVersion"] == "2025-11-25"
    assert older["protocolVersion"] == "2024-11-05"
    assert unknown["protocolVersion"] == "2025-11-25"


def test_an_unknown_modern_revision_is_refused_with_those_there_are(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa) as client:
        refused = client.ask("server/discover", _meta={"io.modelcontextprotocol/protocolVersion": "2031-01-01"})

    assert refused["error"]["code"] == -32022
    assert MODERN in refused["error"]["data"]["supported"]


def test_tools_are_listed_and_called(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    (kaa.project / "notes.txt").write_text("a line\n")

    with serving(kaa, modern=modern) as client:
        tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
        result = client.call("read", path="notes.txt")

    assert tools["read"]["annotations"]["readOnlyHint"] is True
    assert tools["bash"]["annotations"]["readOnlyHint"] is False
    assert tools["read"]["inputSchema"]["type"] == "object"
    assert result["isError"] is False
    assert "a line" in text(result)


def test_tools_need_no_model(kaa: Kaa) -> None:
    (kaa.project / "notes.txt").write_text("a line\n")

    with serving(kaa) as client:
        names = {tool["name"] for tool in client.result("tools/list")["tools"]}
        result = client.call("read", path="notes.txt")

    assert {"read", "bash"} <= names
    assert "request_permission" not in names  # nobody could be asked
    assert "agent" not in names
    assert "a line" in text(result)


def test_what_is_not_trusted_is_said_once_without_a_model(kaa: Kaa) -> None:
    (kaa.project / ".claude").mkdir()
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check"}]}]}}
    (kaa.project / ".claude" / "settings.json").write_text(json.dumps(hooks))

    told = kaa.run("mcp", "serve").err

    assert told.count(".claude/settings.json") == 1


@pytest.mark.parametrize("kind", ["prompt", "agent"])
def test_a_guard_that_asks_a_model_lets_nothing_pass_without_one(kaa: Kaa, kind: str) -> None:
    guard = {"matcher": "Write", "hooks": [{"type": kind, "prompt": "Is this harmless? $ARGUMENTS"}]}
    kaa.home.mkdir(parents=True, exist_ok=True)
    (kaa.home / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [guard]}}))

    with serving(kaa, "--approvals", "auto") as client:
        written = client.call("write", path="new.txt", content="x")
        listed = client.call("bash", command="echo listed")

    assert written["isError"]
    assert "run kaa login" in text(written)
    assert not (kaa.project / "new.txt").exists()
    assert "listed" in text(listed)


def test_the_agent_and_a_named_model_need_one(kaa: Kaa) -> None:
    named = kaa.run("mcp", "serve", "--model", "anthropic/claude-sonnet-4-5")

    assert named.code == 1
    assert "there is no API key" in named.err


def test_only_chosen_tools_are_served(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa, "--tools", "read,grep") as client:
        names = [tool["name"] for tool in client.result("tools/list")["tools"]]
        refused = client.ask("tools/call", name="write", arguments={"path": "x", "content": "y"})

    assert names == ["read", "grep"]
    assert "unknown tool 'write'" in refused["error"]["message"]


def test_what_would_be_asked_is_denied(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    with serving(kaa, "--approvals", "step", modern=modern, forms=True) as client:
        result = client.call("write", path="new.txt", content="text")

    assert result["isError"] is True
    assert not (kaa.project / "new.txt").exists()


def test_what_the_mode_allows_is_done(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa, "--approvals", "auto") as client:
        result = client.call("write", path="new.txt", content="text")

    assert result["isError"] is False
    assert (kaa.project / "new.txt").read_text() == "text"


def test_wrong_arguments_are_an_error_of_the_tool(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa) as client:
        result = client.call("read", nonsense=1)

    assert result["isError"] is True
    assert "path" in text(result)


def test_the_agent_does_a_task_and_goes_on(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("bash", command="echo out"), say("It is done."), say("As I said.")])

    with serving(kaa, "--agent", modern=modern) as client:
        (tool,) = client.result("tools/list")["tools"]
        first = client.call("kaa", prompt="do it")
        second = client.call("kaa", prompt="and?", session=first["structuredContent"]["session"])

    assert tool["name"] == "kaa"
    assert first["structuredContent"]["answer"] == "It is done."
    assert first["structuredContent"]["session"] in text(first)
    assert second["structuredContent"]["answer"] == "As I said."
    said = conversation(server.wait_for_requests(3)[-1])
    assert ("user", "do it") in said
    assert ("user", "and?") in said


def test_the_agent_says_what_it_does(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("bash", command="echo out"), say("Done.")])

    with serving(kaa, "--agent", modern=modern) as client:
        client.result("tools/call", name="kaa", arguments={"prompt": "do it"}, _meta={"progressToken": "t"})
        told = [line["params"] for line in client.lines.seen if line.get("method") == "notifications/progress"]

    assert told[0] == {"progressToken": "t", "progress": 1, "message": "> bash echo out"}


def test_the_output_of_a_tool_is_progress(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    with serving(kaa, modern=modern) as client:
        arguments = {"command": "echo one; sleep 0.3; echo two"}
        client.result("tools/call", name="bash", arguments=arguments, _meta={"progressToken": 7})
        told = [line["params"] for line in client.lines.seen if line.get("method") == "notifications/progress"]

    assert told[0] == {"progressToken": 7, "progress": 1, "message": "one"}


def test_the_agent_asks_by_forms(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("write", path="new.txt", content="text"), say("Written.")])
    shown: list[Line] = []

    def allow(asked: Line) -> Line:
        shown.append(asked)
        return {"action": "accept", "content": {"answer": "Allow once"}}

    with serving(kaa, "--agent", "--approvals", "ask", modern=modern, forms=True) as client:
        result = client.call("kaa", allow, prompt="write it")

    assert result["structuredContent"]["answer"] == "Written."
    assert (kaa.project / "new.txt").read_text() == "text"
    (form,) = shown
    assert form["message"].startswith("Allow write?")
    labels = form["requestedSchema"]["properties"]["answer"]["enum"]
    assert "Deny" in labels
    assert not any("always" in label for label in labels)


def test_what_is_no_yes_is_a_no(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    answers: list[Line] = [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {"answer": "Allow everything"}},
        {"action": "accept", "content": []},
        {},
    ]
    asked: list[Line] = []

    def reply(question: Line) -> Line:
        asked.append(question)
        return answers[len(asked) - 1]

    with serving(kaa, "--agent", "--approvals", "step", modern=modern, forms=True) as client:
        for _ in answers:
            server.begin([call("write", path="new.txt", content="text"), say("I may not.")])
            client.call("kaa", reply, prompt="write it")

    assert len(asked) == len(answers)
    assert not (kaa.project / "new.txt").exists()


def test_a_client_without_forms_is_not_asked(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("write", path="new.txt", content="text"), say("I may not.")])

    with serving(kaa, "--agent", "--approvals", "step", modern=modern) as client:
        result = client.call("kaa", prompt="write it")

    assert result["structuredContent"]["reason"] == "denied"
    assert result["isError"] is True
    assert not (kaa.project / "new.txt").exists()


def test_a_cancelled_task_ends(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("bash", command="sleep 1000"), say("Never said."), say("Still here.")])

    with serving(kaa, "--agent", modern=modern) as client:
        number = client.begin("tools/call", name="kaa", arguments={"prompt": "wait"}, _meta={"progressToken": 1})
        client.lines.wait(lambda line: line.get("method") == "notifications/progress")
        client.lines.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        server.begin([say("Still here.")])
        after = client.call("kaa", prompt="are you there?")

    assert after["structuredContent"]["answer"] == "Still here."
    assert all(line.get("id") != number for line in client.lines.seen)


def test_other_sessions_cannot_be_entered(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Secret.")])
    kaa.run("-p", "remember this")
    (session,) = kaa.home.glob("sessions/**/*.jsonl")

    with serving(kaa, "--agent") as client:
        result = client.call("kaa", prompt="what is it?", session=str(session))

    assert result["isError"] is True
    assert "unknown session" in text(result)


def test_commands_for_people_are_not_run(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa, "--agent") as client:
        result = client.call("kaa", prompt="/model other")

    assert "/model is a command for people" in text(result)


def test_lines_that_are_no_messages_are_refused(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa) as client:
        client.lines.send_bytes(b"no JSON\n[]\n")
        refused = [client.lines.wait(lambda line: "error" in line) for _ in range(2)]
        unknown = client.ask("prompts/list")
        still = client.result("tools/list")

    assert [one["error"]["code"] for one in refused] == [-32700, -32700]
    assert unknown["error"]["code"] == -32601
    assert still["tools"]


def test_a_line_over_the_limit_is_refused_and_the_server_goes_on(kaa: Kaa, server: ModelServer) -> None:
    with serving(kaa) as client:
        client.lines.send_bytes(b'{"jsonrpc": "2.0", "id": 7, "method": "' + b"x" * MAX_MESSAGE_BYTES + b'"}\n')
        refused = client.lines.wait(lambda line: "error" in line)
        still = client.result("tools/list")

    assert refused["error"]["code"] == -32700
    assert str(MAX_MESSAGE_BYTES) in refused["error"]["message"]
    assert still["tools"]


def test_what_answers_and_cancels_nothing_is_ignored(kaa: Kaa, server: ModelServer) -> None:
    lines = (
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
        b'{"jsonrpc": "2.0", "id": "kaa-1", "result": {"action": "accept"}}',
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [[]]}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
        b'{"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}}',
    )

    with serving(kaa) as client:
        for number, line in enumerate(lines, 1):
            client.lines.send_bytes(line + b"\n")
            client.result("tools/list")
            assert len(client.lines.seen) == number, line


def test_bad_frames_are_refused_and_the_server_goes_on(kaa: Kaa, server: ModelServer) -> None:
    lines = (
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 9, "method": 5}',
    )

    with serving(kaa) as client:
        for line in lines:
            client.lines.send_bytes(line + b"\n")
            refused = client.lines.wait(lambda line: "error" in line)
            assert refused["error"]["code"] == -32700, line
            assert client.result("tools/list")["tools"]


def test_an_id_that_is_under_way_is_refused(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("bash", command="sleep 1000"), say("Never said.")])

    with serving(kaa, "--agent", modern=modern) as client:
        number = client.begin("tools/call", name="kaa", arguments={"prompt": "wait"}, _meta={"progressToken": 1})
        client.lines.wait(lambda line: line.get("method") == "notifications/progress")
        client.lines.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "kaa"}})
        refused = client.answer_to(number)

    assert refused["error"]["code"] == -32600


def test_an_unknown_request_state_is_refused(kaa: Kaa, server: ModelServer) -> None:
    states: tuple[Json, ...] = ("made-up", 5, [], {})

    with serving(kaa, "--agent") as client:
        for state in states:
            refused = client.ask("tools/call", name="kaa", arguments={"prompt": "x"}, requestState=state)
            assert refused["error"]["code"] == -32602, state

    assert server.requests == []


def test_the_end_of_the_input_during_a_call_ends_everything(kaa: Kaa, server: ModelServer, *, modern: bool) -> None:
    server.begin([call("bash", command="sleep 1000"), say("Never said.")])

    with serving(kaa, "--agent", modern=modern) as client:
        number = client.begin("tools/call", name="kaa", arguments={"prompt": "wait"}, _meta={"progressToken": 1})
        client.lines.wait(lambda line: line.get("method") == "notifications/progress")
        code, err = client.lines.end()

    assert (code, err) == (0, "")
    assert all(line.get("id") != number for line in client.lines.seen)


def test_everything_asked_before_the_end_but_calls_is_answered(kaa: Kaa, server: ModelServer) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]

    done = kaa.run("mcp", "serve", stdin="\n".join(msgspec.json.encode(line).decode() for line in lines))

    assert (done.code, done.err) == (0, "")
    assert [event["id"] for event in done.events] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["a message"], "takes no messages"),
        (["--agent", "-c"], "begins a session for each task"),
        (["--tools", "nonsense"], "nonsense"),
        (["--no-such-option"], "unrecognized arguments"),
    ],
)
def test_what_cannot_be_served_is_said(kaa: Kaa, server: ModelServer, arguments: list[str], problem: str) -> None:
    done = kaa.run("mcp", "serve", *arguments)

    assert done.code != 0
    assert done.out == ""
    assert problem in done.err
