"""A server of the current generation, written with the official SDK (`mcp` 2.3), used by kaa over stdio."""

import json

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.live.mcp.installed import PYTHON, needs_sdk
from tests.support.model_server import ModelServer, call, say

pytestmark = needs_sdk

_SERVER = """
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("oracle", instructions="Ask me.")

class Go(BaseModel):
    ok: bool

class Sum(BaseModel):
    total: int

@server.tool()
def add(a: int, b: int) -> Sum:
    "Add two numbers."
    return Sum(total=a + b)

@server.tool()
async def version(ctx: Context) -> str:
    "The revision of the protocol."
    await ctx.report_progress(1, 2, "half")
    return str(ctx.protocol_version)

@server.tool()
def fails() -> str:
    "Fails."
    raise ToolError("out of order")

def ask() -> Elicit[Go]:
    return Elicit("Go on?", Go)

@server.tool()
def asks(answer: Annotated[ElicitationResult[Go], Resolve(ask)]) -> str:
    "Asks the person."
    return type(answer).__name__

server.run("stdio")
"""


@pytest.fixture(params=["2026-07-28", "auto"])
def protocol(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def answer(kaa: Kaa, server: ModelServer, protocol: str, tool: str, **arguments: Json) -> str:
    """What the model reads after a call of a tool."""
    folder = kaa.home.parent / "server"
    folder.mkdir()
    (folder / "oracle.py").write_text(_SERVER)
    entry = {"command": PYTHON, "args": [str(folder / "oracle.py")], "protocol": protocol}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"oracle": entry}}))
    server.begin([call("mcp", action="call", server="oracle", tool=tool, arguments=arguments), say("Done.")])
    done = kaa.run("-p", "hi")
    assert (done.code, done.out) == (0, "Done.\n"), done.err
    (text,) = [text for role, text in conversation(server.requests[-1]) if role == "tool"]
    return text


def test_a_tool_with_an_output_schema_is_called(kaa: Kaa, server: ModelServer, protocol: str) -> None:
    assert '"total": 5' in answer(kaa, server, protocol, "add", a=2, b=3)


def test_it_speaks_the_configured_revision(kaa: Kaa, server: ModelServer, protocol: str) -> None:
    expected = "2025-11-25" if protocol == "auto" else protocol

    assert expected in answer(kaa, server, protocol, "version")


def test_a_failing_tool_says_why(kaa: Kaa, server: ModelServer, protocol: str) -> None:
    assert "out of order" in answer(kaa, server, protocol, "fails")


def test_nobody_to_ask_ends_the_question(kaa: Kaa, server: ModelServer, protocol: str) -> None:
    text = answer(kaa, server, protocol, "asks")

    assert "CancelledElicitation" in text
    assert "oracle asked the user a question, which kaa cancelled: nobody can be asked here" in text
