"""How servers' tools reach the model: in every request while they are few, and otherwise by a search."""

import json

import pytest

from kaa.builtin.mcp import mcp_extension
from kaa.builtin.mcp.host import Exposure
from kaa.core.messages import ToolResultMessage, user_message
from kaa.ext.places import ExtensionId
from kaa.shell.host import HostedConversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.memory import MemoryWorkspace
from tests.support.agents import run
from tests.support.mcp_host import MemoryMcpHost, MemoryMcpServer, manifest, server, tool_info
from tests.support.mcp_stage import USUAL, declared, play_with, results_of
from tests.support.model_script import call, say
from tests.support.model_wire import Wire
from tests.support.stage import Stage

_LONG = "Does something that takes many words to describe. " * 20


def _first(stage: Stage, *servers: MemoryMcpServer) -> list[str]:
    """The tools of the first request, without those of kaa."""
    results_of(stage, MemoryMcpHost(servers), [say("Hi.")])
    return [name for name in declared(stage.server.requests[0].json) if name.startswith(("mcp", "tool_search"))]


def _many(count: int = 40) -> MemoryMcpServer:
    return server("big", *(tool_info(f"tool_{number:02}", _LONG) for number in range(count)))


def test_few_tools_are_in_every_request(stage: Stage) -> None:
    names = _first(stage, server("b", tool_info("z"), tool_info("a")), server("a", tool_info("x")))

    assert names == ["mcp", "mcp__b__a", "mcp__b__z", "mcp__a__x"]


def test_without_a_server_there_is_no_tool_for_servers(stage: Stage) -> None:
    assert _first(stage) == []


def test_schemas_above_the_limit_are_not_sent(stage: Stage) -> None:
    assert _first(stage, _many(), server("a", tool_info("x"))) == ["mcp", "tool_search"]
    assert len(stage.server.requests[0].body) < 10_000


@pytest.mark.parametrize(
    ("exposure", "names"),
    [
        ("auto", ["mcp", "mcp__a__x"]),
        ("direct", ["mcp", "mcp__a__x"]),
        ("deferred", ["mcp", "tool_search"]),
        ("gateway", ["mcp"]),
        ("hidden", ["mcp"]),
    ],
)
def test_the_exposure_of_a_server_decides(stage: Stage, exposure: Exposure, names: list[str]) -> None:
    assert _first(stage, server("a", tool_info("x"), exposure=exposure)) == names


def test_patterns_decide_for_single_tools(stage: Stage) -> None:
    patterns = {"get_*": "direct", "delete_*": "hidden"}
    tools = (tool_info("get_one"), tool_info("delete_one"), tool_info("put_one"))

    names = _first(stage, server("a", *tools, exposure="gateway", tool_exposure=patterns))

    assert names == ["mcp", "mcp__a__get_one"]


def test_a_tool_that_is_held_back_is_not_in_every_request(stage: Stage) -> None:
    assert _first(stage, server("a", tool_info("x"), tool_info("y"), held={"x": "it changed"})) == ["mcp", "mcp__a__y"]


def test_a_hidden_tool_cannot_be_called_through_the_gateway(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("x"), exposure="hidden")])

    [result] = results_of(stage, host, [call("mcp", action="call", server="a", tool="x"), say("Pity.")])

    assert "No MCP server has a tool 'x'" in result.text


@pytest.mark.parametrize(
    ("wire", "loads_itself"),
    [
        ("openai-completions", False),
        ("openai-responses", False),
        ("openai-responses", True),
        ("anthropic-messages", False),
        ("anthropic-messages", True),
        ("google-generative-ai", False),
    ],
)
def test_every_wire_format_reaches_a_deferred_tool(stage: Stage, wire: Wire, *, loads_itself: bool) -> None:
    base = f"{stage.server.url}/v1" if wire.startswith("openai") else stage.server.url
    compat = {"supportsToolSearch": loads_itself}
    provider = {"baseUrl": base, "api": wire, "apiKey": "k", "models": [{"id": "own"}], "compat": compat}
    stage.home.mkdir(parents=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": {"own": provider}}))
    servers = MemoryMcpHost(
        [_many(), server("sky", tool_info("rain", "Tells whether it rains.", city="string"), exposure="deferred")]
    )
    arguments = {"city": "Oslo"}
    through = call("mcp", action="call", tool="mcp__sky__rain", arguments=arguments)
    calls = [call("tool_search", query="rain"), call("mcp__sky__rain", **arguments) if loads_itself else through]

    found, told = results_of(
        stage, servers, [*calls, say("Yes.")], ConversationOptions(model="own/own", approvals="auto")
    )

    assert found.text.startswith("mcp__sky__rain: Tells whether it rains.")
    assert 'rain {"city":"Oslo"}' in told.text
    bodies = [request.body for request in stage.server.requests if request.method == "POST"]
    assert [b"Tells whether" in body for body in bodies[1:]] == [True, True]
    assert (b"defer_loading" in bodies[1]) == loads_itself


def test_a_tool_that_a_server_adds_is_found_by_tool_search(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("first"), exposure="deferred")])

    async def scene(hosted: HostedConversation) -> str:
        host.change("a", manifest=manifest(tool_info("first"), tool_info("convert_currency", "Euros to dollars.")))
        stage.server.begin([call("tool_search", query="currencies"), say("There.")])
        await hosted.work.submit(user_message("Look."))
        return hosted.conversation.messages[-2].text

    assert play_with(stage, host, scene).startswith("mcp__a__convert_currency: Euros to dollars.")


def test_a_server_that_is_learned_later_is_found_by_tool_search(stage: Stage) -> None:
    host = MemoryMcpHost([server("new", tool_info("weather"), state="configured")])

    async def scene(hosted: HostedConversation) -> tuple[list[str], str]:
        host.change("new", state="known", manifest=manifest(tool_info("weather")))
        stage.server.begin([call("tool_search", query="weather"), say("There.")])
        await hosted.work.submit(user_message("Look."))
        return declared(stage.server.requests[0].json), hosted.conversation.messages[-2].text

    names, found = play_with(stage, host, scene)

    assert "mcp__new__weather" not in names
    assert found.startswith("mcp__new__weather: ")


def test_the_prompt_has_a_line_for_each_server_that_stays_the_same(stage: Stage) -> None:
    described = server("a", tool_info("x"), description="Tickets\nof \u202eours.")
    host = MemoryMcpHost([described, server("b", *(tool_info(f"tool_{n}") for n in range(40)), exposure="gateway")])

    async def scene(hosted: HostedConversation) -> list[str]:
        prompts = []
        for change in ({}, {"description": "Other words.", "manifest": manifest(tool_info("y"))}):
            host.change("a", **change)
            stage.server.begin([say("Hi.")])
            await hosted.work.submit(user_message("Hello."))
            prompts.append(stage.server.requests[-1].json["messages"][0]["content"])
        return prompts

    before, after = play_with(stage, host, scene)

    lines = before.partition("MCP servers, for the tool mcp:\n")[2].splitlines()[:2]
    assert lines[0] == "- a: Tickets of ours."
    assert lines[1].startswith("- b: tool_0, tool_1, ")
    assert len(lines[1]) == 120
    assert after == before


def _prompt(stage: Stage) -> str:
    return str(stage.server.requests[-1].json["messages"][0]["content"])


def test_the_model_is_told_how_to_reach_a_server_that_was_never_listed(stage: Stage) -> None:
    long = server("long", description="words " * 40, state="configured")
    host = MemoryMcpHost([server("new", tool_info("x"), state="configured"), long, server("b", tool_info("z"))])

    results_of(stage, host, [say("Hi.")])

    lines = _prompt(stage).partition("MCP servers, for the tool mcp:\n")[2].splitlines()
    assert lines[0] == "- new (not listed yet)"
    assert lines[1].endswith("word… (not listed yet)")
    assert len(lines[1]) <= 120
    assert lines[2] == "- b: z"
    assert lines[3].startswith('To reach a server that is not listed yet, call mcp with {"action": "list", "server": ')


def test_tools_that_are_listed_later_follow_a_result_and_the_prompt_stays(stage: Stage) -> None:
    late = server("new", tool_info("weather"), tool_info("rain"), state="configured")
    host = MemoryMcpHost([late, server("b", tool_info("z"))])

    async def scene(hosted: HostedConversation) -> tuple[list[str], list[str]]:
        prompts = []
        for before in (None, manifest(tool_info("weather"), tool_info("rain"))):
            if before is not None:
                host.change("new", state="known", manifest=before)
            stage.server.begin([call("ls"), call("ls"), say("Hi.")])
            await hosted.work.submit(user_message("Hello."))
            prompts.append(_prompt(stage))
        return prompts, [one.text for one in hosted.conversation.messages if isinstance(one, ToolResultMessage)]

    prompts, results = play_with(stage, host, scene)

    note = "[MCP server new has been listed meanwhile. Its tools, for mcp: rain, weather]"
    assert prompts[0] == prompts[1]
    assert [note in result for result in results] == [False, False, True, False]


def test_a_call_of_the_server_itself_is_told_nothing_twice(stage: Stage) -> None:
    host = MemoryMcpHost([server("new", tool_info("weather"), state="configured")])
    calls = [call("mcp", action="list", server="new"), call("ls"), say("Hi.")]

    results = results_of(stage, host, calls)

    assert "weather" in results[0].text
    assert not any("listed meanwhile" in result.text for result in results)


def test_another_conversation_of_the_process_has_the_tools_in_its_prompt(stage: Stage) -> None:
    servers = MemoryMcpHost([server("new", tool_info("weather"), state="configured")])

    async def scene() -> list[str]:
        host = stage.host()
        host.extensions.load(ExtensionId.built_in("kaa.builtin.mcp"), mcp_extension(servers), built_in=True)
        prompts = []
        try:
            for _ in range(2):
                hosted = await host.open(USUAL, MemoryWorkspace(stage.files))
                await hosted.begin()
                stage.server.begin([say("Hi.")])
                await hosted.work.submit(user_message("Hello."))
                prompts.append(_prompt(stage))
                servers.change("new", state="known", manifest=manifest(tool_info("weather")))
        finally:
            await host.close()
        return prompts

    before, after = run(scene())

    assert "- new (not listed yet)" in before
    assert "- new: weather" in after


@pytest.mark.parametrize(
    ("tool", "advice"),
    [
        ("mcp__new__weather", 'call mcp with {"action":"list","server":"new"}, which starts it.'),
        ("mcp__b__z", 'Call it with mcp: {"action":"call","server":"b","tool":"mcp__b__z","arguments":{}}.'),
        ("mcp__c__z", "Available tools: "),
    ],
)
def test_a_call_by_a_name_that_cannot_be_called_is_told_the_way(stage: Stage, tool: str, advice: str) -> None:
    late = server("new", tool_info("weather"), state="configured", exposure="gateway")
    host = MemoryMcpHost([late, server("b", tool_info("z"), exposure="gateway")])

    [result] = results_of(stage, host, [call(tool), say("Pity.")])

    assert result.text.startswith(f"Tool '{tool}' does not exist. ")
    assert advice in result.text


def test_a_reconnect_keeps_the_bytes_of_the_request(stage: Stage) -> None:
    known = manifest(tool_info("x"), tool_info("y"))
    host = MemoryMcpHost([server("a", tool_info("x"), tool_info("y")), server("b", tool_info("z"), exposure="direct")])

    async def scene(hosted: HostedConversation) -> list[bytes]:
        tools = []
        for _ in range(3):
            stage.server.begin([say("Hi.")])
            await hosted.work.submit(user_message("Hello."))
            tools.append(str(stage.server.requests[-1].json["tools"]).encode())
            host.change("a", state="failed", reason="it exited", manifest=manifest())
            host.change("b", state="failed", manifest=None)
            host.change("b", state="started", manifest=manifest(tool_info("z")))
            host.change("a", state="started", reason="", manifest=known)
        return tools

    assert len(set(play_with(stage, host, scene))) == 1


def test_two_thousand_tools_make_no_request_longer_than_forty(stage: Stage) -> None:
    def bodies(of_each: int) -> list[bytes]:
        tools = [tool_info(f"tool_{number:03}", _LONG) for number in range(of_each)]
        work = [call("read", path="a.txt"), call("mcp", action="status", server="one_0"), say("Done.")]
        results_of(stage, MemoryMcpHost([server(f"one_{number}", *tools) for number in range(10)]), work)
        return [request.body.replace(f", {of_each} tools".encode(), b"") for request in stage.server.requests]

    few, many = bodies(40), bodies(200)

    assert len(many) == 3
    assert many == few


def test_what_the_user_chose_stays_what_the_model_has(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("x"), tool_info("y"))])
    options = ConversationOptions(model="m", exclude_tools=("mcp__a__x",))

    results_of(stage, host, [say("Hi.")], options)

    names = declared(stage.server.requests[0].json)
    assert "mcp__a__y" in names
    assert "mcp__a__x" not in names


def test_a_server_is_warmed_when_the_model_begins_to_write_a_call(stage: Stage) -> None:
    host = MemoryMcpHost([server("a", tool_info("x")), server("b", tool_info("y"), exposure="gateway")])

    results_of(stage, host, [call("mcp__a__x"), call("mcp", action="call", server="b", tool="y"), say("Done.")])

    assert host.warmed == ["a", "b"]
