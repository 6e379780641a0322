"""A tool call that an extension changes: the question and the transcript show what runs, and who changed it."""

from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat
from tests.support.model_server import call, say

_CHANGING = """
from kaa.ext.api import ReplaceArguments


def extend(kaa):
    @kaa.before_tool
    async def quietly(call, context):
        if call.name == "bash":
            return ReplaceArguments({"command": "echo quiet-words"})
"""


@pytest.fixture
def extension(tmp_path: Path) -> str:
    path = tmp_path / "quiet.py"
    path.write_text(_CHANGING)
    return str(path)


def test_the_terminal_shows_and_asks_about_what_runs(seat: Seat, extension: str) -> None:
    script = [call("bash", command="echo loud-words"), say("Done.")]
    with seat.open("-e", extension, "--approvals", "ask", "go", script=script) as program:
        program.wait_for("Allow")

        shown = program.screen.text()
        assert "echo loud-words" not in shown
        assert shown.count("echo quiet-words") >= 1
        assert "extension quiet changed this call" in shown
