"""`kaa mcp serve` against the client of the official SDK (`mcp` 2.3), in both generations."""

import json
import subprocess
from typing import Any

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.live.mcp.installed import PYTHON, needs_sdk
from tests.support.model_server import ModelServer, call, say
from tests.support.patience import HANG_SECONDS
from tests.support.warm_start import COMMAND

pytestmark = needs_sdk

# Calls one tool and prints what the client of the SDK made of everything.
_CLIENT = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

given = json.loads(sys.argv[1])

async def main():
    told, asked = [], []

    async def progress(done, total, message):
        told.append(message)

    async def elicit(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "Allow once"})

    server = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"], cwd=given["cwd"])
    async with Client(server, mode=given["mode"], elicitation_callback=elicit) as client:
        tools = await client.list_tools()
        result = await client.call_tool(given["tool"], given["arguments"], progress_callback=progress)
        print(json.dumps({
            "version": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "tools": [tool.name for tool in tools.tools],
            "text": "".join(getattr(part, "text", "") for part in result.content),
            "structured": result.structured_content,
            "error": result.is_error,
            "told": told,
            "asked": asked,
        }))

asyncio.run(main())
"""

_VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture(params=sorted(_VERSIONS))
def mode(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def used(kaa: Kaa, mode: str, *options: str, tool: str, arguments: dict[str, Json]) -> dict[str, Any]:
    """What the client of the SDK saw."""
    given = {
        "command": COMMAND,
        "args": ["mcp", "serve", *options],
        "env": kaa.environ,
        "cwd": str(kaa.project),
        "mode": mode,
        "tool": tool,
        "arguments": arguments,
    }
    done = subprocess.run(
        [PYTHON, "-c", _CLIENT, json.dumps(given)],
        check=False,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_it_negotiates_lists_and_calls(kaa: Kaa, server: ModelServer, mode: str) -> None:
    (kaa.project / "notes.txt").write_text("a line\n")

    seen = used(kaa, mode, "--tools", "read,grep", tool="read", arguments={"path": "notes.txt"})

    assert (seen["version"], seen["server"]) == (_VERSIONS[mode], "kaa")
    assert seen["tools"] == ["read", "grep"]
    assert "a line" in seen["text"]
    assert not seen["error"]


def test_what_would_be_asked_is_denied_though_the_client_shows_forms(kaa: Kaa, server: ModelServer, mode: str) -> None:
    arguments: dict[str, Json] = {"path": "new.txt", "content": "x"}

    seen = used(kaa, mode, "--approvals", "step", tool="write", arguments=arguments)

    assert (seen["error"], seen["asked"]) == (True, [])
    assert not (kaa.project / "new.txt").exists()


def test_the_agent_works_with_progress_and_asks_by_forms(kaa: Kaa, server: ModelServer, mode: str) -> None:
    server.begin([call("write", path="new.txt", content="text"), say("Written.")])

    seen = used(kaa, mode, "--agent", "--approvals", "step", tool="kaa", arguments={"prompt": "write it"})

    assert seen["tools"] == ["kaa"]
    assert seen["structured"]["answer"] == "Written."
    assert (kaa.project / "new.txt").read_text() == "text"
    assert len(seen["asked"]) == 1
    assert seen["asked"][0].startswith("Allow write?")
    assert any("write new.txt" in line for line in seen["told"]), seen["told"]
