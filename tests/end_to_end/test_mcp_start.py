"""Configured MCP servers change nothing of a start: none is started or asked, and the request hardly grows."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support import mcp_server
from tests.support.elsewhere import folder_elsewhere
from tests.support.mcp_http import McpHttpServer
from tests.support.mcp_server import ScriptedServer, echo_tool
from tests.support.model_server import ModelServer, call, say

_PROGRAMS = 2
_TOOLS = [echo_tool(f"find_{number:02}", description="Looks for records. " * 20) for number in range(20)]
_LINE_CHARACTERS = 120


@pytest.fixture(scope="module")
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: a server in a sandbox sees nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.fixture(scope="module")
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


@pytest.fixture(scope="module")
def remote() -> Iterator[McpHttpServer]:
    with McpHttpServer(ScriptedServer(eras=("modern",), tools=_TOOLS)) as remote:
        yield remote


@pytest.fixture(scope="module", autouse=True)
def known(kaa: Kaa, remote: McpHttpServer) -> None:
    """Servers that kaa has listed before."""
    folder = kaa.home.parent / "server"
    folder.mkdir()
    (folder / "server.py").write_text(Path(mcp_server.__file__).read_text())
    (folder / "script.json").write_text(json.dumps({"tools": _TOOLS}))
    line = """echo started > "$XDG_CACHE_HOME/started"; exec "$0" -I -S "$@" """
    words = ["-c", line, sys.executable, str(folder / "server.py"), str(folder / "script.json")]
    programs = {f"records_{number}": {"command": "/bin/sh", "args": words} for number in range(_PROGRAMS)}
    servers: Json = programs | {"remote": {"url": remote.url}}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    tested = kaa.run("mcp", "test")
    assert tested.code == 0, tested.out + tested.err
    marks = started(kaa)
    assert len(marks) == _PROGRAMS
    for mark in marks:
        mark.unlink()
    remote.asked.clear()


def started(kaa: Kaa) -> list[Path]:
    """What each program writes when it starts."""
    return list(kaa.home.glob("mcp-data/*/cache/started"))


def test_servers_that_are_known_are_not_started(kaa: Kaa, server: ModelServer, remote: McpHttpServer) -> None:
    server.begin([call("mcp", action="status"), say("Done.")])

    done = kaa.run("-p", "hi")

    assert (done.code, done.out) == (0, "Done.\n"), done.err
    states = conversation(server.requests[-1])[-1][1].splitlines()
    assert [state.partition(" ")[2] for state in states] == ["(known, 20 tools)"] * (_PROGRAMS + 1)
    assert started(kaa) == []
    assert remote.asked == []


def test_the_first_request_has_the_gateway_the_search_and_a_line_for_each_server_more(
    kaa: Kaa, server: ModelServer
) -> None:
    server.begin([say("With."), say("Without.")])

    kaa.run("-p", "hi")
    kaa.run("-p", "hi", "--no-mcp")

    with_, without = (request.json for request in server.requests[-2:])
    named = {tool["function"]["name"]: tool for tool in with_["tools"]}
    assert named.keys() - {tool["function"]["name"] for tool in without["tools"]} == {"mcp", "tool_search"}
    assert len(json.dumps([named["mcp"], named["tool_search"]])) < 1000
    with_["tools"] = [tool for name, tool in named.items() if name not in ("mcp", "tool_search")]
    sections = with_["messages"][0]["content"].split("\n\n")
    [section] = (one for one in sections if one.startswith("MCP servers, for the tool mcp:\n"))
    sections.remove(section)
    lines = section.splitlines()[1:]
    assert len(lines) == _PROGRAMS + 1
    assert max(map(len, lines)) <= _LINE_CHARACTERS
    with_["messages"][0]["content"] = "\n\n".join(sections).replace("- tool_search: find more tools\n", "")
    assert with_ == without
