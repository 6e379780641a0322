"""Tests in Python that no manifest tells of: how their files are named, and what runs them."""

import re
import shlex
from typing import Final

from kaa.workspace.protocol import Workspace

PYTHON_TEST: Final = re.compile(r"test_.*\.py|.*_test\.py")
"""The name of a file with tests."""

_MOST_BYTES = 64 * 1024


async def python_beside(workspace: Workspace) -> str:
    """The command of a test in Python at the root of the project; empty if there is none."""
    try:
        names = sorted(entry.name for entry in await workspace.list(".") if entry.kind == "file")
    except OSError:
        return ""
    path = next((name for name in names if PYTHON_TEST.fullmatch(name)), "")
    if not path:
        return ""
    text = (await workspace.read_existing((path,), _MOST_BYTES)).get(path, b"")
    return python_test(text, shlex.quote(path), "")


def python_test(text: bytes, path: str, directory: str) -> str:
    """The command that runs a test in Python and those beside it.

    Args:
        directory: of the test, likewise; empty for the project.
    """
    if b"unittest" in text and b"pytest" not in text:
        return f"python3 -m unittest discover -s {directory}" if directory else "python3 -m unittest"
    if b"def test_" in text:
        return f"pytest {directory}".rstrip()
    return f"python3 {path}"
