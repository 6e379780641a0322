"""Line by line, all that can be done on a screen can be done too: lists, trust, reasons, other lines."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.end_to_end.seat import Seat
from tests.support.model_script import ScriptItem
from tests.support.model_server import call, say
from tests.support.program import Program
from tests.support.screen import Screen


@contextmanager
def plain(seat: Seat, *script: ScriptItem, flags: tuple[str, ...] = ()) -> Iterator[Program]:
    """kaa line by line, when it waits for a line."""
    with seat.start("--plain", *flags, script=script, screen=Screen(100, 60, answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        yield program


def line(program: Program, text: str) -> None:
    """Write a line."""
    program.write(f"{text}\n".encode())


def test_a_message_may_have_several_lines(seat: Seat) -> None:
    with plain(seat, say("Two lines.")) as program:
        line(program, "one\\")
        line(program, "two")
        program.wait_for("Two lines.")

    assert seat.heard() == [("user", "one\ntwo")]


def test_no_has_its_reason(seat: Seat) -> None:
    with plain(seat, call("bash", command="make install"), say("I will not.")) as program:
        line(program, "install it")
        program.wait_for("Answer with a letter")
        line(program, "n")
        program.wait_for("Reason, or what to do instead")
        line(program, "use a virtual environment")
        program.wait_for("I will not.")

    assert "use a virtual environment" in seat.heard()[-1][1]


def test_an_empty_line_says_no(seat: Seat) -> None:
    with plain(seat, call("bash", command="touch it"), say("As you like.")) as program:
        line(program, "do it")
        program.wait_for("Answer with a letter")
        line(program, "")
        program.wait_for("As you like.")

    assert not (seat.project / "it").exists()


def test_trust_is_asked_for(seat: Seat) -> None:
    (seat.project / ".kaa").mkdir()
    (seat.project / ".kaa" / "APPEND_SYSTEM.md").write_text("Speak like a pirate.")

    with plain(seat, say("Ahoy.")) as program:
        program.wait_for("Do you trust this project?")
        program.wait_for("Answer with a letter")
        line(program, "y")
        line(program, "hi")
        program.wait_for("Ahoy.")

    assert "pirate" in str(seat.model.requests[0].json["messages"][0])


def test_lists_take_the_words_of_what_is_chosen(seat: Seat) -> None:
    with plain(seat, call("bash", command="touch it"), say("Unasked.")) as program:
        line(program, "/approvals")
        program.wait_for("denies every call")
        program.wait_for("Answer with a name from the list")
        assert "(current)" in program.screen.text()
        line(program, "never")
        program.wait_for("approvals: never")
        line(program, "do it")
        program.wait_for("Unasked.")
        assert "Allow bash?" not in program.screen.text()


def test_nothing_that_is_written_is_written_over(seat: Seat) -> None:
    with plain(seat, say("A **bold** answer\n\n- one\n- two\n\n```sh\necho hi\n```\n")) as program:
        line(program, "hi")
        program.wait_for("echo hi")
        program.wait_for(re.compile("^>$"))

        assert program.screen.frames == 0
        assert program.screen.wipes == 0
        assert program.screen.title == ""
        assert program.screen.unknown == []
        assert program.screen.text().count("bold answer") == 1


def test_the_help_is_text_about_a_word(seat: Seat) -> None:
    with plain(seat) as program:
        line(program, "/help thinking level")
        program.wait_for("Select the thinking level")
        assert "Cycle the thinking level" in program.screen.text()
        assert "/model" not in program.screen.text()
        line(program, "/help xyzzy")

        program.wait_for("the help says nothing about 'xyzzy'")
