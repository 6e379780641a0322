"""Rules for programs that look harmless, used to write a file or to run a program without a question.

The canary is a file of the user's: it stays as it is until somebody has said yes.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer
from tests.support.model_server import ModelServer, call, say

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


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash: uniq *", "uniq evil canary"),
        ("bash: shuf *", "shuf -o canary evil"),
        ("bash: curl *", "curl -s -o canary file:///etc/passwd"),
        ("bash: setpriv *", "setpriv --nnp ./evil"),
        ("bash: prlimit *", "prlimit --nofile=64 ./evil"),
        ("bash: uv run *", "uv run ./evil"),
        ("bash: npm exec *", "npm exec ./evil"),
    ],
)
def test_a_harmless_program_does_no_harm_without_a_question(seat: Seat, rule: str, command: str) -> None:
    seat.settings(approvals={"policy": "ask", "allow": [rule]})
    canary = _canary(seat)

    with seat.open("work", script=[call("bash", command=command), say("Done.")]) as program:
        program.wait_for(lambda screen: "Allow bash?" in screen.text() or "Done." in screen.text())
        asked = "Allow bash?" in program.screen.text()

    assert asked
    assert canary.read_text() == _CONTENT


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
