"""What the briefing looks for, and when it does not look at all."""

from kaa.builtin.briefing import HEADING
from kaa.ext.api import ExtensionAPI
from kaa.testing import CommandRequest, CommandResult, conversation, reply


def extend(_kaa: ExtensionAPI) -> None:
    """Register nothing: kaa's own tools are what is called."""


def _brief(files: dict[str, str]) -> tuple[str, list[str]]:
    """Read a file. Returns the result that the model gets, and the programs that were started meanwhile."""
    started: list[str] = []

    def run(command: CommandRequest) -> CommandResult:
        started.append(command.argv[0])
        tail = b"Debian\ngit\n" if command.argv[0] == "/bin/sh" else b""
        return CommandResult(0 if tail else 1, None, tail, len(tail), 1)

    script = [reply(tool_calls=[("read", {"path": "a.txt"})]), reply("done")]
    with conversation(extend, script, files={"a.txt": "text", **files}, commands=run) as kaa:
        kaa.say("Read a.txt.")
        return kaa.results[0], started


def test_a_folder_about_which_nothing_is_known_starts_no_program() -> None:
    text, started = _brief({})

    assert (text, started) == ("text", [])


def test_a_project_without_a_repository_is_asked_for_its_programs_only() -> None:
    text, started = _brief({"uv.lock": "", "pyproject.toml": ""})

    assert f"{HEADING}\nSystem: Debian" in text
    assert "Project: Python" in text
    assert started == ["/bin/sh"]
