"""Sessions that leave the terminal's kaa, and sessions that come from elsewhere."""

from pathlib import Path

import pytest

from tests.end_to_end.seat import Seat, answer, enter, is_idle
from tests.support.model_server import say
from tests.support.sessions import HEADER, user_entry, write_session

ADDRESS = "https://gist.example/abc123"


@pytest.fixture
def uploads(seat: Seat, tmp_path: Path) -> Path:
    """Where a double of GitHub's program puts what it is given."""
    folder = tmp_path / "uploads"
    folder.mkdir()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "gh"
    program.write_text(
        f'#!/bin/sh\nfor word; do [ -f "$word" ] && cp "$word" {folder}; done\n[ "$1" = auth ] || echo {ADDRESS}\n'
    )
    program.chmod(0o755)
    seat.setenv(PATH=f"{tmp_path / 'bin'}:{seat.environ['PATH']}")
    return folder


def test_a_session_is_written_into_the_project(seat: Seat) -> None:
    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "my key is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/export run.html")
        program.wait_for("wrote ")
        program.wait_for("GitHub token")

    assert "Hello." in (seat.project / "run.html").read_text()


def test_an_imported_session_is_gone_on_with(seat: Seat) -> None:
    write_session(
        seat.project / "run.jsonl", user_entry("a", None, "said elsewhere"), header={**HEADER, "cwd": "/gone"}
    )

    with seat.open(script=[say("I know.")]) as program:
        enter(program, "/import run.jsonl")
        program.wait_for("said elsewhere")
        enter(program, "go on")
        program.wait_for("I know.")

    assert seat.heard() == [("user", "said elsewhere"), ("user", "go on")]


def test_nothing_is_shared_without_a_yes(seat: Seat, uploads: Path) -> None:
    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "hi there")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/share")
        program.wait_for("Upload this as a secret gist?")
        program.wait_for("2 messages, 0 tool results")
        answer(program, "n")
        program.wait_for("nothing was shared")

    assert list(uploads.iterdir()) == []


def test_a_yes_shares_and_shows_the_address(seat: Seat, uploads: Path) -> None:
    with seat.open(script=[say("Hello.")]) as program:
        enter(program, "hi there")
        program.wait_for("Hello.")
        program.wait_for(is_idle)
        enter(program, "/share")
        program.wait_for("secrets removed: none found")
        answer(program, "y")
        program.wait_for(ADDRESS)

    assert sorted(path.suffix for path in uploads.iterdir()) == [".html", ".md"]
