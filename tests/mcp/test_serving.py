"""kaa as an MCP server, without a process: what clients of both generations get for wrong requests."""

import json
from typing import Any

import pytest

from kaa.core.messages import Json
from kaa.mcp.contents import CallResult
from kaa.mcp.manifest import ServerInfo, ToolInfo
from kaa.mcp.served_calls import ToolCaller
from kaa.mcp.serving import McpServer
from tests.support.mcp_server import NAMESPACE

_VERSION, _CAPABILITIES = f"{NAMESPACE}protocolVersion", f"{NAMESPACE}clientCapabilities"


class _NoTools:
    """A service without tools."""

    def tools(self) -> tuple[ToolInfo, ...]:
        return ()

    async def call(self, tool: str, arguments: dict[str, Json], caller: ToolCaller) -> CallResult:
        raise AssertionError(tool)


def answered(method: str, meta: dict[str, Json]) -> dict[str, Any]:
    """What a request is answered with."""
    lines: list[bytes] = []
    server = McpServer(_NoTools(), ServerInfo("kaa", "kaa", "1"), lines.append, lambda error: None)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}
    server.receive(json.dumps(request).encode())
    (line,) = lines
    answer: dict[str, Any] = json.loads(line)
    return answer


@pytest.mark.parametrize(
    ("method", "meta"),
    [
        ("tools/list", {_VERSION: "2026-07-28"}),
        ("tools/list", {_CAPABILITIES: {}}),
        ("server/discover", {}),
    ],
)
def test_a_modern_request_that_lacks_a_required_field_is_refused(method: str, meta: dict[str, Json]) -> None:
    error = answered(method, meta)["error"]

    assert error["code"] == -32602
    assert _VERSION in error["message"]


def test_a_refused_revision_lists_those_that_discover_lists() -> None:
    known = answered("server/discover", {_VERSION: "2026-07-28", _CAPABILITIES: {}})["result"]["supportedVersions"]

    error = answered("tools/list", {_VERSION: "1999-01-01", _CAPABILITIES: {}})["error"]

    assert (error["code"], error["data"]) == (-32022, {"supported": known, "requested": "1999-01-01"})
