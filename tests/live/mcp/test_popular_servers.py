"""Servers that people use, called by a scripted model in print mode, each in its sandbox.

npm install --prefix DIR @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
python -m venv DIR/venv && DIR/venv/bin/pip install mcp-server-git mcp-server-time
KAA_MCP_SERVERS=DIR .venv/bin/python -m pytest tests/live/mcp -v
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say

_FOLDER = Path(os.environ.get("KAA_MCP_SERVERS", "/nowhere"))
_MODULES = _FOLDER / "node_modules/@modelcontextprotocol"
_NODE = shutil.which("node") or ""

pytestmark = pytest.mark.skipif(
    not (_NODE and _MODULES.exists() and (_FOLDER / "venv").exists()),
    reason="set KAA_MCP_SERVERS to a folder with the servers that the module's text names; needs node 22",
)


@pytest.fixture
def kaa(tier: str) -> Iterator[Kaa]:
    """Elsewhere: a server in a sandbox sees nothing of temporary directories."""
    if tier == "none":
        pytest.skip("nothing confines servers on this machine: kaa doctor says why")
    with folder_elsewhere() as folder:
        kaa = Kaa(folder)
        (folder / "person").mkdir()
        kaa.setenv(HOME=str(folder / "person"))
        yield kaa


def _node(name: str, *arguments: str) -> list[str]:
    return [_NODE, str(_MODULES / name / "dist/index.js"), *arguments]


@pytest.mark.parametrize(
    ("command", "tool", "arguments", "said"),
    [
        (_node("server-everything"), "echo", {"message": "over node"}, "over node"),
        (_node("server-everything"), "get-sum", {"a": 2, "b": 40}, "42"),
        (_node("server-everything"), "get-tiny-image", {}, "image"),
        (_node("server-filesystem", "."), "list_directory", {"path": "."}, "notes.txt"),
        (_node("server-filesystem", "."), "write_file", {"path": "new.txt", "content": "x"}, "new.txt"),
        ([str(_FOLDER / "venv/bin/mcp-server-git")], "git_status", {"repo_path": "."}, "notes.txt"),
        ([str(_FOLDER / "venv/bin/mcp-server-time")], "get_current_time", {"timezone": "UTC"}, "UTC"),
    ],
)
def test_a_tool_is_called(kaa: Kaa, command: list[str], tool: str, arguments: dict[str, Json], said: str) -> None:
    (kaa.project / "notes.txt").write_text("buy milk")
    subprocess.run(["git", "init", "--quiet"], cwd=kaa.project, check=True)
    if "repo_path" in arguments:
        arguments = arguments | {"repo_path": str(kaa.project)}
    entry = {"command": command[0], "args": command[1:]}
    (kaa.home / "mcp.json").write_text(json.dumps({"mcpServers": {"popular": entry}}))
    called = call("mcp", action="call", server="popular", tool=tool, arguments=arguments)
    with ModelServer([called, say("Done.")]) as model:
        kaa.use(model, "openai-completions")

        done = kaa.run("-p", "hi")

        assert (done.code, done.out) == (0, "Done.\n"), done.err
        told = [text for role, text in conversation(model.requests[-1]) if role == "tool"]
    assert said in told[0]
