"""The tool `mcp` reaches every server; calls through it are judged under the name of the tool that they reach."""

import msgspec
import pytest

from kaa.builtin.mcp.host import ServerState
from kaa.core.events import Event, ToolExecutionUpdate
from kaa.core.messages import user_message
from kaa.ext.questions import Deny
from kaa.mcp.contents import CallResult, TextPart
from kaa.mcp.manifest import ResourceInfo
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from tests.support.mcp_host import MemoryMcpHost, MemoryMcpServer, manifest, server, tool_info
from tests.support.mcp_stage import declared, play_with, results_of
from tests.support.model_script import ScriptItem, call, say
from tests.support.person import Person
from tests.support.stage import Stage


def _text(stage: Stage, host: MemoryMcpHost, **arguments: object) -> str:
    """What the gateway answers."""
    [result] = results_of(stage, host, [call("mcp", **arguments), say("I see.")])
    return result.text


def _gateway_only(*names: str) -> MemoryMcpHost:
    return MemoryMcpHost(
        [server(name, tool_info("find", "Find things.", q="string"), exposure="gateway") for name in names]
    )


def test_a_tool_is_called_by_the_name_that_its_server_gives_it(stage: Stage) -> None:
    host = _gateway_only("github")

    text = _text(stage, host, action="call", server="github", tool="find", arguments={"q": "bug"})

    assert 'find {"q":"bug"}' in text
    assert host.started == ["github"]
    assert not [name for name in declared(stage.server.requests[0].json) if name.startswith("mcp__")]


@pytest.mark.parametrize("mode", ["plan", "read-only"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "connect"},
        {"action": "list"},
        {"action": "search", "tool": "find"},
        {"action": "describe"},
        {"action": "call", "tool": "find"},
        {"action": "read", "tool": "memo://1"},
    ],
)
def test_a_mode_that_only_reads_starts_no_server_that_may_write(
    stage: Stage, mode: str, arguments: dict[str, object]
) -> None:
    host = MemoryMcpHost([server("notes", tool_info("find"), state="configured", may_write=True)])

    [result] = results_of(
        stage,
        host,
        [call("mcp", server="notes", **arguments), say("I see.")],
        ConversationOptions(model="m", approvals=mode),  # type: ignore[arg-type] # one of the modes
    )

    assert (host.started, host.warmed) == ([], [])
    assert f"it may write, and the mode of approvals is {mode}" in result.text


@pytest.mark.parametrize(("mode", "may_write", "state"), [("plan", False, "configured"), ("plan", True, "started")])
def test_a_mode_that_only_reads_uses_servers_that_read_and_those_that_run(
    stage: Stage, mode: str, may_write: bool, state: ServerState
) -> None:
    host = MemoryMcpHost([server("notes", tool_info("find"), state=state, may_write=may_write)])

    [result] = results_of(
        stage,
        host,
        [call("mcp", server="notes", action="list"), say("I see.")],
        ConversationOptions(model="m", approvals=mode),  # type: ignore[arg-type] # one of the modes
    )

    assert "- find" in result.text


def test_progress_is_that_of_the_call_of_the_gateway(stage: Stage) -> None:
    arguments = {"action": "call", "server": "github", "tool": "find"}

    async def scene(hosted: HostedConversation) -> list[tuple[str, str]]:
        events: list[Event] = []
        hosted.conversation.subscribe(events.append)
        stage.server.begin([call("mcp", **arguments), say("I see.")])
        await hosted.work.submit(user_message("Do it."))
        return [(event.tool_name, event.delta) for event in events if isinstance(event, ToolExecutionUpdate)]

    assert play_with(stage, _gateway_only("github"), scene) == [("mcp", "1/1 done\n")]


def test_a_tool_is_called_by_the_name_for_the_model_without_its_server(stage: Stage) -> None:
    assert "find {}" in _text(stage, _gateway_only("a", "b"), action="call", tool="mcp__b__find")


def test_a_tool_is_called_by_the_name_that_claude_code_gives_it(stage: Stage) -> None:
    """Hooks of plugins tell the model these names."""
    text = _text(
        stage, _gateway_only("tools-db"), action="call", tool="mcp__plugin_tools_db__find", arguments={"q": "bug"}
    )

    assert 'find {"q":"bug"}' in text


def test_a_name_of_several_servers_is_refused_with_the_names_to_use(stage: Stage) -> None:
    text = _text(stage, _gateway_only("a", "b"), action="call", tool="find")

    assert "mcp__a__find, mcp__b__find" in text


def test_a_server_that_was_never_listed_is_started_for_a_call(stage: Stage) -> None:
    host = MemoryMcpHost([server("new", tool_info("find"), state="configured")])

    assert "find {}" in _text(stage, host, action="call", server="new", tool="find")
    assert host.started == ["new"]


def test_a_server_in_the_place_of_a_tool_is_recognized(stage: Stage) -> None:
    text = _text(stage, _gateway_only("a"), action="call", tool="a")

    assert "'a' is a server. Give it as server, and one of its tools as tool." in text


def test_a_failed_call_is_answered_with_the_parameters(stage: Stage) -> None:
    failing = MemoryMcpServer(
        server("a", tool_info("find", q="string"), exposure="gateway").view,
        answer=lambda _tool, _arguments: CallResult((TextPart("q is missing"),), failed=True),
    )

    text = _text(stage, MemoryMcpHost([failing]), action="call", server="a", tool="find", arguments={"query": "x"})

    assert "q is missing" in text
    assert '"properties":{"q":{"type":"string"}}' in text


def test_an_unknown_tool_is_answered_with_similar_names(stage: Stage) -> None:
    text = _text(stage, _gateway_only("a"), action="call", server="a", tool="fin")

    assert "Did you mean find?" in text


def test_an_unknown_server_is_answered_with_the_names_of_all(stage: Stage) -> None:
    assert 'No MCP server is named \'c\'. Servers: a, b. To see tools: {"action":"list","server":"a"}.' in _text(
        stage, _gateway_only("a", "b"), action="list", server="c"
    )


def test_list_names_tools_and_resources(stage: Stage) -> None:
    host = _gateway_only("a")
    listed = manifest(tool_info("find", "Find things."))
    resources = (ResourceInfo("file:///notes.txt", name="notes"),)
    host.change("a", manifest=msgspec.structs.replace(listed, resources=resources))

    text = _text(stage, host, action="list")

    assert "- find: Find things." in text
    assert "- file:///notes.txt: notes" in text


def test_a_listed_resource_is_read_and_no_other_address(stage: Stage) -> None:
    notes = ResourceInfo("file:///notes.txt", name="notes")
    lone = server("a", tool_info("find"), exposure="gateway")
    lone.texts = {notes.uri: "buy milk", "file:///send?what=secret": "sent"}
    host = MemoryMcpHost([lone])
    host.change("a", manifest=msgspec.structs.replace(manifest(tool_info("find")), resources=(notes,)))

    def read(uri: str) -> ScriptItem:
        return call("mcp", action="read", server="a", tool=uri)

    listed, other = results_of(stage, host, [read(notes.uri), read("file:///send?what=secret"), say("I see.")])

    assert "buy milk" in listed.text
    assert "a lists no resource 'file:///send?what=secret'" in other.text


def test_describe_gives_the_parameters_of_a_tool(stage: Stage) -> None:
    text = _text(stage, _gateway_only("a"), action="describe", server="a", tool="find")

    assert text == 'mcp__a__find: Find things.\n{"type":"object","properties":{"q":{"type":"string"}}}'


def test_search_finds_tools_of_all_servers(stage: Stage) -> None:
    host = MemoryMcpHost(
        [
            server("a", tool_info("create_issue", "Open a ticket."), exposure="gateway"),
            server("b", tool_info("weather", "Forecast."), exposure="gateway"),
            server("c", tool_info("later"), state="configured"),
        ]
    )

    text = _text(stage, host, action="search", tool="tickets")

    assert text.startswith("mcp__a__create_issue: Open a ticket.")
    assert "weather" not in text
    assert "not known yet: c" in text


def test_a_search_for_nothing_says_which_argument_it_takes(stage: Stage) -> None:
    assert "in `tool`" in _text(stage, _gateway_only("a"), action="search", query="tickets")


def test_status_and_login(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("find"), state="needs login", reason="its token has expired")])

    script = [call("mcp", action="status"), call("mcp", action="auth", server="a"), say("Done.")]
    status, login = results_of(stage, host, script)

    assert status.text == "a (needs login, 1 tools): its token has expired"
    assert login.text == "Logged in to a."
    assert host.logins == ["a"]


def test_the_gateway_is_small(stage: Stage) -> None:
    results_of(stage, MemoryMcpHost([server("a", state="configured", exposure="gateway")]), [say("Hi.")])

    [gateway] = [tool for tool in stage.server.requests[0].json["tools"] if tool["function"]["name"] == "mcp"]
    assert len(str(gateway)) / 4 < 160


def test_without_a_gateway_there_is_no_line_in_the_prompt_and_no_tool(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("find"))])

    results_of(stage, host, [say("Hi.")], ConversationOptions(model="m", tools=("read",)))

    assert declared(stage.server.requests[0].json) == ["read"]
    assert b"MCP" not in stage.server.requests[0].body


def test_a_tool_that_the_user_excluded_is_not_reached(stage: Stage) -> None:
    host = _gateway_only("a")
    options = ConversationOptions(model="m", approvals="auto", exclude_tools=("mcp__a__find",))

    [result] = results_of(stage, host, [call("mcp", action="call", tool="find"), say("Pity.")], options)

    assert "cannot be called in this conversation" in result.text
    assert host.started == []


def test_a_call_through_the_gateway_is_asked_under_the_name_of_the_tool(stage: Stage) -> None:
    host = _gateway_only("a")
    host.change("a", risks={"find": "outside"})
    person = Person(Deny("not now"))
    stage.asker = person

    options = ConversationOptions(model="m", approvals="ask")
    [result] = results_of(stage, host, [call("mcp", action="call", tool="find"), say("Pity.")], options)

    assert [question.tool for question in person.questions] == ["mcp__a__find"]
    assert "not now" in result.text
    assert host.started == []
