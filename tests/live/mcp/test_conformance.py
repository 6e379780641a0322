"""kaa's MCP client against the official conformance suite.

Needs node 22 and the package `@modelcontextprotocol/conformance`, 0.2.0-alpha.12 or later:

    npm install --prefix DIR @modelcontextprotocol/conformance@0.2.0-alpha.12
    KAA_MCP_CONFORMANCE=DIR .venv/bin/python -m pytest tests/live/mcp -v
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = os.environ.get("KAA_MCP_CONFORMANCE", "")
_SUITE = Path(_FOLDER) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
_ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    not _FOLDER or shutil.which("node") is None or not _SUITE.exists(),
    reason="set KAA_MCP_CONFORMANCE to a folder where @modelcontextprotocol/conformance is installed; needs node 22",
)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_all_client_scenarios_of_a_revision_pass(revision: str) -> None:
    command = f"{sys.executable} -m tests.support.mcp_conformance_client"
    done = subprocess.run(
        ["node", str(_SUITE), "client", "--command", command, "--requirements", revision],
        check=False,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
