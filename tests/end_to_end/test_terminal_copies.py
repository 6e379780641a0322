"""Copies of a session made at the terminal: to go on in, or for others."""

from tests.end_to_end.seat import Seat, answer, enter, is_idle
from tests.support.model_server import say


def test_a_fork_goes_on_before_a_message_in_a_file_of_its_own(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two."), say("Three.")]) as program:
        for message, reply in (("first", "One."), ("second", "Two.")):
            enter(program, message)
            program.wait_for(reply)
            program.wait_for(is_idle)
        (original,) = seat.session_files
        enter(program, "/fork")
        program.wait_for("Fork before which message?")
        program.press("enter")
        program.wait_for("The conversation continues in a copy")
        program.type(" thoughts")
        program.wait_for("second thoughts")
        program.press("enter")
        program.wait_for("Three.")

    assert seat.heard() == [("user", "first"), ("assistant", "One."), ("user", "second thoughts")]
    assert "Two." in original.read_text("utf-8")
    assert "Three." not in original.read_text("utf-8")


def test_a_clone_goes_on_with_all_that_was_said(seat: Seat) -> None:
    with seat.open(script=[say("One."), say("Two.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        program.wait_for(is_idle)
        enter(program, "/clone")
        program.wait_for("The conversation continues in a copy")
        enter(program, "second")
        program.wait_for("Two.")

    assert seat.heard() == [("user", "first"), ("assistant", "One."), ("user", "second")]
    assert len(seat.session_files) == 2
    assert "first" in seat.session_about("Two.").read_text("utf-8")


def test_nothing_is_shared_without_a_yes(seat: Seat) -> None:
    program_of_github = seat.project.parent / "bin" / "gh"
    program_of_github.parent.mkdir()
    program_of_github.write_text('#!/bin/sh\necho "$@" >> "$HOME/called"\n')
    program_of_github.chmod(0o755)
    seat.setenv(PATH=f"{program_of_github.parent}:{seat.environ['PATH']}")

    with seat.open(script=[say("One.")]) as program:
        enter(program, "first")
        program.wait_for("One.")
        program.wait_for(is_idle)
        enter(program, "/share")
        program.wait_for("Upload this as a secret gist?")
        answer(program, "n")
        program.wait_for("nothing was shared")

    called = seat.project.parent / "called"
    assert not called.exists() or "gist create" not in called.read_text()
