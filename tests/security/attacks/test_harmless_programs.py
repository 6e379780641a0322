"""Rules for programs that look harmless, used to write a file or to run a program without a question.

The canary is a file of the user's: it stays as it is until somebody has said yes.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer, choose
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

_CONTENT = "mine\n"


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with ModelServer() as model:
        yield Seat(tmp_path, model)


def _canary(seat: Seat) -> Path:
    canary = seat.project / "canary"
    canary.write_text(_CONTENT)
    (seat.project / "evil").write_text("#!/bin/sh\necho theirs > canary\n")
    (seat.project / "evil").chmod(0o755)
    return canary


_COMMANDS = {
    "bash: uniq *": "uniq evil canary",
    "bash: shuf *": "shuf -o canary evil",
    "bash: curl *": "curl -s -o canary file:///etc/passwd",
    "bash: setpriv *": "setpriv --nnp ./evil",
    "bash: prlimit *": "prlimit --nofile=64 ./evil",
    "bash: uv run *": "uv run ./evil",
    "bash: npm exec *": "npm exec ./evil",
}


def test_a_harmless_program_does_no_harm_without_a_question(seat: Seat) -> None:
    seat.settings(approvals={"policy": "ask", "allow": list(_COMMANDS)})
    canary = _canary(seat)
    script = [*(call("bash", command=command) for command in _COMMANDS.values()), say("Done.")]

    with seat.open("work", script=script) as program:
        for command in _COMMANDS.values():
            program.wait_for(partial(_asks_or_is_over, command))
            assert "Done." not in program.screen.text(), command
            assert canary.read_text() == _CONTENT, command
            choose(program, "n")
            program.wait_for("Enter denies the call")
            program.press("enter")
        program.wait_for("Done.")

    assert canary.read_text() == _CONTENT


def _asks_or_is_over(command: str, screen: Screen) -> bool:
    """Whether there is a question about a command, or the model has the last word."""
    _, _, question = screen.text().rpartition("Allow bash?")
    return command in question or "Done." in screen.text()


def test_the_rule_offered_for_one_program_runs_no_other(seat: Seat) -> None:
    canary = _canary(seat)

    with seat.open(
        "work",
        script=[call("bash", command="uv run --offline true"), call("bash", command="uv run --offline ./evil")],
    ) as program:
        program.wait_for("Yes, always")
        answer(program, "a")
        program.wait_for("Rules, one per line:")
        program.press("enter")
        program.wait_for(lambda screen: "Allow bash?" in screen.text() and "./evil" in screen.text())

    assert "bash: uv run --offline true" in (seat.home / "approvals.json").read_text()
    assert canary.read_text() == _CONTENT
