"""The official SDK (`mcp`), for tests that use it as the other side.

    python3 -m venv DIR/venv && DIR/venv/bin/pip install 'mcp>=2.3,<3'
    KAA_MCP_SERVERS=DIR .venv/bin/python -m pytest -n 0 tests/live/mcp -v

DIR must not be below a temporary directory: sandboxes have their own.
"""

import os
from pathlib import Path

import pytest

PYTHON = str(Path(os.environ.get("KAA_MCP_SERVERS", "") or "/nowhere") / "venv/bin/python")

needs_sdk = pytest.mark.skipif(
    not Path(PYTHON).exists(),
    reason="set KAA_MCP_SERVERS to a folder with the SDK: see tests/live/mcp/installed.py",
)
