"""Answers given line by line: what is no answer must never be one, least of all a yes."""

import re

import pytest

from tests.end_to_end.seat import Seat
from tests.support.model_server import call, say
from tests.support.screen import Screen

_CALL = call("bash", command="echo it > it")


@pytest.mark.parametrize("line", ["q", "nope", "/help", "wait, what does it do"])
def test_a_line_that_is_no_answer_allows_nothing(seat: Seat, line: str) -> None:
    with seat.start("--plain", script=[_CALL, say("As you like.")], screen=Screen(answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"do it\n")
        program.wait_for("Answer with a letter")
        program.write(f"{line}\n".encode())
        program.wait_for("invalid answer")
        program.write(b"\n")
        program.wait_for("As you like.")

        assert program.screen.text().count("Allow bash?") == 1
    assert not (seat.project / "it").exists()


@pytest.mark.parametrize(("line", "allowed"), [("yes", True), ("Y", True), ("x", False)])
def test_an_answer_is_a_letter_or_a_word(seat: Seat, line: str, allowed: bool) -> None:
    with seat.start("--plain", script=[_CALL, say("All right.")], screen=Screen(answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"do it\n")
        program.wait_for("Answer with a letter")
        program.write(f"{line}\n".encode())
        program.wait_for("All right." if allowed else "Stopped.")

    assert (seat.project / "it").exists() == allowed


def test_a_terminal_that_cannot_draw_shows_names_in_all_languages(seat: Seat) -> None:
    seat.setenv(TERM="dumb", LANG="C.UTF-8", LC_ALL="")

    with seat.start(script=[say("Gr\u00fc\u00dfe an \u6f22\u5b57.")], screen=Screen(answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"hello\n")

        program.wait_for("Gr\u00fc\u00dfe an \u6f22\u5b57.")


def test_line_by_line_a_text_takes_the_entry_that_it_names_and_searches_for_others(seat: Seat) -> None:
    with seat.start("--plain", screen=Screen(answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"/approvals\n")
        program.wait_for("Answer with a name from the list")
        program.write(b"v\n")  # in the names and descriptions of several
        program.wait_for("Search: v")
        program.write(b"nev\n")

        program.wait_for("approvals: never")
