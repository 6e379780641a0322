"""The user saves files that the guard moves away, where no result of a call tells of it: each is one question.

Where nobody can be asked, because kaa was killed, the next kaa says what lies where.
"""

import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer, read_question
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("confined")

# The guard takes nothing for the user's while a thread computes after it has written. So the thread that computes
# writes: a `touch` would be over, and the shell that waited for it would have written nothing.
_WRITING = ": > runs; while :; do :; done"
_SAID_AT_ONCE = {"kaa.workspace.sandbox.findings._LONG_SECONDS": 0.1}


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


def test_what_the_user_saves_during_a_command_that_is_stopped_is_asked_about_and_comes_back(seat: Seat) -> None:
    file = seat.project / "sub" / ".envrc"
    file.parent.mkdir()
    file.write_text("before\n")
    script = [call("bash", command="touch runs; exec sleep 1000"), call("bash", command="true"), say("Next.")]
    seat.limits |= _SAID_AT_ONCE

    with seat.open("--approvals", "auto", script=script, screen=_screen(), sandbox="") as terminal:
        terminal.type("loop\r")
        _wait_for(seat.project / "runs")
        _save(file, "mine\n")
        terminal.wait_for("While a command runs, kaa moves away")  # a word, long before the result

        terminal.press("escape")
        terminal.wait_for("I made this: put it back")
        read_question(terminal)
        answer(terminal, "p")
        terminal.wait_for("kaa put back")
        terminal.type("go on\r")
        terminal.wait_for("Next.")

    assert file.read_text() == "mine\n"
    assert [one.name for one in file.parent.iterdir()] == [".envrc"]
    assert "kaa-blocked" not in str(seat.model.requests[-1].json["messages"])


def test_the_answer_that_stops_the_run_leaves_the_way_back_on_the_screen(seat: Seat) -> None:
    file = seat.project / "sub" / ".envrc"
    file.parent.mkdir()
    command = "touch runs; until test -e over; do sleep 0.05; done"
    script = [call("bash", command=command), say("Next.")]

    with seat.open("--approvals", "auto", script=script, screen=_screen(), sandbox="") as terminal:
        terminal.type("loop\r")
        _wait_for(seat.project / "runs")
        _save(file, "mine\n")
        while file.exists():
            time.sleep(0.01)
        (seat.project / "over").touch()
        terminal.wait_for("I made this: put it back")
        read_question(terminal)
        answer(terminal, "x")
        terminal.wait_for("restore it when no command runs")
        terminal.wait_for("It finished. The user stopped the run")


def test_after_a_kill_the_next_kaa_says_once_where_it_is(seat: Seat) -> None:
    file = seat.project / "sub" / ".envrc"
    file.parent.mkdir()
    script = [call("bash", command="touch runs; exec sleep 1000"), say("Next.")]
    seat.limits |= _SAID_AT_ONCE
    with seat.open("--approvals", "auto", script=script, screen=_screen(), sandbox="") as terminal:
        terminal.type("loop\r")
        _wait_for(seat.project / "runs")
        _save(file, "mine\n")
        terminal.wait_for("While a command runs, kaa moves away")
        terminal.signal(signal.SIGKILL)
        terminal.wait_for_end()

    seat.model.begin([say("Done.")] * 2)
    told = seat.run("-p", "hello").err
    again = seat.run("-p", "hello").err

    way_back = told.partition("restore it: ")[2].splitlines()[0]
    assert "Before kaa was killed here" in told
    assert again == ""
    subprocess.run(shlex.split(way_back), check=True)
    assert file.read_text() == "mine\n"


def test_who_leaves_while_a_command_runs_reads_where_it_is(seat: Seat) -> None:
    file = seat.project / "sub" / ".envrc"
    file.parent.mkdir()
    script = [call("bash", command="touch runs; exec sleep 1000"), say("Next.")]
    with seat.open("--approvals", "auto", script=script, screen=_screen(), sandbox="") as terminal:
        terminal.type("loop\r")
        _wait_for(seat.project / "runs")
        _save(file, "mine\n")
        while file.exists():
            time.sleep(0.01)
        terminal.press("ctrl+d")
        answer(terminal, "q")
        terminal.wait_for_end()
        told = re.sub(r"\s*\n\s*", " ", terminal.screen.text())

    assert f"kaa moved {file}" in told
    assert "restore it" in told
