"""What the screen shows whatever happens to it: other sizes, the full screen, search, hostile text, no colours."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.end_to_end.seat import Seat, answer, enter, is_idle, pausing, read_question
from tests.support.model_server import Answer, Call, call, say
from tests.support.program import Program
from tests.support.screen import Screen

PARAGRAPHS = tuple(f"Paragraph number {number} stands here.\n\n" for number in range(30))


def paragraphs(lines: Sequence[str]) -> list[int]:
    """The numbers of the paragraphs that are there, in order."""
    return [int(number) for number in re.findall(r"Paragraph number (\d+)", "\n".join(lines))]


@contextmanager
def _resized(seat: Seat, screen: Screen, *sizes: tuple[int, int]) -> Iterator[Screen]:
    """Stream the paragraphs, and change the terminal's size in their middle and at their end."""
    with seat.open(script=[pausing(*PARAGRAPHS, after=20)], screen=screen) as program:
        enter(program, "write")
        program.wait_for("Paragraph number 19")
        for columns, rows in sizes:
            _resize(program, columns, rows)
        seat.model.release()
        program.wait_for("Paragraph number 29")
        program.wait_for(is_idle)
        for columns, rows in reversed(sizes):
            _resize(program, columns, rows)
        yield program.screen


def _resize(program: Program, columns: int, rows: int) -> None:
    """Change the size, and wait until that has been dealt with."""
    wipes = program.screen.wipes + (columns != program.screen.columns)
    program.resize(columns, rows)
    program.wait_for(lambda screen: screen.wipes == wipes)
    program.type("key")  # taken after what the terminal answered
    program.wait_for(re.compile("^key$"))
    program.press("ctrl+u")
    program.wait_for("Ask kaa to do something")


@pytest.mark.parametrize("pulls_back", [True, False])
def test_other_heights_lose_and_double_nothing_and_wipe_nothing(seat: Seat, pulls_back: bool) -> None:
    terminal = Screen(80, 24, pulls_back=pulls_back)

    with _resized(seat, terminal, (80, 12), (80, 40), (80, 18)) as screen:
        assert paragraphs(screen.everything()) == list(range(30))
        assert screen.text().count("Ask kaa to do something") == 1
        assert screen.wipes == 0

    assert paragraphs(screen.everything()) == list(range(30))


@pytest.mark.parametrize("reflows", [True, False])
def test_other_widths_lose_and_double_nothing(seat: Seat, reflows: bool) -> None:
    with _resized(seat, Screen(80, 24, reflows=reflows), (50, 24), (100, 20)) as screen:
        assert paragraphs(screen.everything()) == list(range(30))
        assert screen.text().count("Ask kaa to do something") == 1


def test_the_full_screen_has_it_all_and_leaves_the_main_screen_as_it_was(seat: Seat) -> None:
    with seat.open(script=[say(*PARAGRAPHS)], screen=Screen(80, 24)) as program:
        enter(program, "write")
        program.wait_for("Paragraph number 29")
        program.wait_for(is_idle)
        program.press("f3")
        program.wait_for(lambda screen: screen.in_alternate_screen and "Paragraph number 29" in screen.text())
        program.press("ctrl+home")
        program.wait_for("Paragraph number 0")
        program.press("ctrl+shift+f")
        program.type("number 17")
        program.wait_for("Paragraph number 17")
        program.press("escape", "f3")
        program.wait_for(lambda screen: not screen.in_alternate_screen)
        program.wait_for(is_idle)

        assert paragraphs(program.screen.everything()) == list(range(30))
        assert program.screen.wipes == 0


def test_the_conversation_goes_on_in_the_full_screen(seat: Seat) -> None:
    with seat.open("--fullscreen", script=[call("bash", command="echo hi"), say(*PARAGRAPHS)]) as program:
        program.wait_for(lambda screen: screen.in_alternate_screen)
        enter(program, "say hi")
        program.wait_for("Yes, this time")
        answer(program, "y")
        program.wait_for("Paragraph number 29")
        program.wait_for(is_idle)
        program.press("ctrl+d")

        assert program.wait_for_end() == 0
        assert not program.screen.in_alternate_screen
        assert "Paragraph number 29" in program.screen.text()


_HOSTILE = "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[?1049h\x9b31mred\x1bc\r\x08"


def test_hostile_words_of_model_tools_and_files_do_nothing_to_the_terminal(seat: Seat) -> None:
    (seat.project / "bytes").write_text(_HOSTILE)
    (seat.project / "\x1b]0;owned by a file\x07.txt").touch()
    script = [
        Answer(
            text=(f"Look: {_HOSTILE} there",),
            thinking=(f"Hm {_HOSTILE}",),
            calls=(Call("bash", json.dumps({"command": f"cat bytes; ls # {_HOSTILE}"})),),
        ),
        Answer(calls=(Call("write", json.dumps({"path": f"{_HOSTILE}.txt", "content": _HOSTILE})),)),
        say(f"```\n{_HOSTILE}\n```\n\n| a | b |\n|---|---|\n| {_HOSTILE} | x |\n\nThe end."),
    ]
    with seat.open(script=script) as program:
        modes = set(program.screen.modes)
        enter(program, "!cat bytes; ls")
        program.wait_for("31mred.txt")
        program.wait_for(is_idle)
        program.type("@own")
        program.wait_until_quiet()
        program.press("escape", "ctrl+u")
        enter(program, "work")
        for question in ("bash runs a command", "write changes a file"):
            program.wait_for(question)
            answer(program, "y")
        program.wait_for("The end.")
        program.wait_for(is_idle)

        screen = program.screen
        assert "owned" not in screen.title
        assert screen.clipboard is None
        assert screen.modes == modes
        assert screen.unknown == []
        assert "kaa 0" in "".join(screen.everything())  # nothing was erased


def test_no_color_has_none(seat: Seat) -> None:
    seat.setenv(NO_COLOR="1")

    with seat.open(
        "hello", script=[call("bash", command="echo hi"), say("Some **bold** words and `code`.")]
    ) as program:
        program.wait_for("Yes, this time")
        _has_no_colour(program.screen)
        answer(program, "y")
        program.wait_for("Some bold words")
        program.wait_for(is_idle)
        _has_no_colour(program.screen)


def _has_no_colour(screen: Screen) -> None:
    styles = {cell.style for row in range(screen.rows) for cell in screen.cells(row)}
    assert {style.foreground for style in styles} | {style.background for style in styles} == {""}


@pytest.mark.parametrize(("columns", "rows"), [(60, 10), (40, 8)])
def test_small_terminals_are_enough_for_a_task(seat: Seat, columns: int, rows: int) -> None:
    command = "echo one && echo two && echo three && echo " + "long " * 40
    with seat.start(
        script=[call("bash", command=command), say("It is done.")], screen=Screen(columns, rows)
    ) as program:
        program.wait_for("Ask kaa")
        enter(program, "do it")
        program.wait_for("Yes, this time")
        answer(program, "n")
        program.wait_for("Reason")
        program.press("escape")
        program.wait_for("Yes, this time")
        read_question(program)
        answer(program, "y")
        program.wait_for("It is done.")
        enter(program, "/settings")
        program.wait_for("Settings")
        program.press("down", "down", "escape")
        program.wait_for("Ask kaa")
        program.type("a long text that does not fit on one row of such a terminal, " * 5 + "end")
        program.wait_for("end")
        assert program.screen.cursor_visible

    assert seat.heard()[-1][1].startswith("one\ntwo\nthree\nlong long")


def test_terminals_that_answer_nothing_are_not_waited_for(seat: Seat) -> None:
    with seat.open(script=[say("Hello.")], screen=Screen(100, 30, answers="none")) as program:
        enter(program, "hi")
        program.wait_for("Hello.")
        program.resize(100, 20)
        program.wait_until_quiet()
        program.type("still here")
        program.wait_for("still here")
        program.press("ctrl+c", "ctrl+d")

        assert program.wait_for_end() == 0


def test_the_title_tells_what_goes_on_and_goes(seat: Seat) -> None:
    terminal = Screen(100, 30)
    terminal.title = "mine"

    with seat.open(script=[pausing("Half ", "and half.")], screen=terminal) as program:
        program.wait_for(lambda screen: screen.title == "kaa: project")
        enter(program, "work")
        program.wait_for(lambda screen: screen.title == "kaa: project (working)")
        seat.model.release()
        program.wait_for(lambda screen: screen.title == "kaa: project")
        program.press("ctrl+d")
        program.wait_for_end()

        assert program.screen.title == "mine"


def test_a_question_calls_who_looks_elsewhere(seat: Seat) -> None:
    seat.setenv(TERM_PROGRAM="iTerm.app")

    with seat.open(script=[call("bash", command="echo hi")]) as program:
        _look_away(program)
        enter(program, "do it")
        program.wait_for("Yes, this time")
        program.wait_for(lambda screen: screen.bells == 1 and len(screen.notifications) == 1)

        assert "kaa asks whether bash may run" in program.screen.notifications[0]


def _look_away(program: Program) -> None:
    """The window loses the focus."""
    program.wait_for(lambda screen: 1004 in screen.modes)
    program.write(b"\x1b[O")
