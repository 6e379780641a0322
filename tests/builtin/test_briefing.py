"""What the briefing looks for, when it does not look at all, and that no result waits for it."""

import asyncio

from kaa.builtin.briefing import HEADING
from kaa.ext.api import ExtensionAPI
from kaa.testing import CommandRequest, CommandResult, conversation, reply


def extend(kaa: ExtensionAPI) -> None:
    """Register a tool that takes longer than gathering does where programs end at once."""

    @kaa.tool
    async def pause() -> str:
        """Wait for a moment."""
        await asyncio.sleep(0.2)
        return "paused"


def _brief(files: dict[str, str]) -> tuple[list[str], list[str]]:
    """Read a file and pause. Returns the results that the model gets, and the programs that were started meanwhile."""
    started: list[str] = []

    def run(command: CommandRequest) -> CommandResult:
        started.append(command.argv[0])
        tail = b"Debian\ngit\n" if command.argv[0] == "/bin/sh" else b""
        return CommandResult(0 if tail else 1, None, tail, len(tail), 1)

    calls = [("read", {"path": "a.txt"}), ("pause", {}), ("pause", {})]
    script = [*(reply(tool_calls=[one]) for one in calls), reply("done")]
    with conversation(extend, script, files={"a.txt": "text", **files}, commands=run) as kaa:
        kaa.say("Read a.txt.")
        return kaa.results, started


def test_a_folder_about_which_nothing_is_known_starts_no_program() -> None:
    assert _brief({}) == (["text", "paused", "paused"], [])


def test_a_project_without_a_repository_is_asked_for_its_programs_only() -> None:
    (first, second, third), started = _brief({"uv.lock": "", "pyproject.toml": ""})

    assert (first, third) == ("text", "paused")
    assert second.startswith("paused")
    assert f"{HEADING}\nSystem: Debian" in second
    assert "Project: Python" in second
    assert started == ["/bin/sh"]
