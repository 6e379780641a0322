"""The user saves files that the guard moves away, where no result of a call tells of it: each is one question."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer, read_question
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("confined")

# The guard takes nothing for the user's while a thread of it computes after it has written.
_WRITING = "touch runs; while :; do :; done"


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    with folder_elsewhere() as folder, ModelServer([]) as model:
        yield Seat(folder, model)


def _screen() -> Screen:
    return Screen(columns=160, rows=50)


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


def _save(path: Path, content: str) -> None:
    """As editors do."""
    aside = path.with_name(f"{path.name}~")
    aside.write_text(content)
    aside.rename(path)


def test_what_the_user_saves_beside_a_busy_background_process_is_asked_about_and_comes_back(seat: Seat) -> None:
    file = seat.project / "sub" / ".envrc"
    file.parent.mkdir()
    file.write_text("before\n")
    script = [
        call("bash", command=_WRITING, background=True),
        say("Started."),
        call("bash", command="true"),
        say("Next."),
    ]

    with seat.open("--approvals", "auto", script=script, screen=_screen(), sandbox="") as terminal:
        terminal.type("serve\r")
        terminal.wait_for("Started.")
        _wait_for(seat.project / "runs")

        _save(file, "mine\n")
        terminal.wait_for("I made this: put it back")
        assert "No, and stop" not in terminal.screen.text()
        read_question(terminal)
        answer(terminal, "p")
        terminal.wait_for("kaa put back")
        terminal.type("go on\r")
        terminal.wait_for("Next.")

    assert file.read_text() == "mine\n"
    assert [one.name for one in file.parent.iterdir()] == [".envrc"]
    assert "kaa-blocked" not in str(seat.model.requests[-1].json["messages"])
