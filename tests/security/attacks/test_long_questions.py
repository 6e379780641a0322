"""A model hides what a yes permits below a long text and counts on a quick `y`.

The call writes the user's `.bashrc`, outside the sandbox; the harm stands in the last line. The canary is that file.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.seat import READY, Seat, enter, read_question
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.program import Program
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("confined")

_LINES = 120
_TEXT = "\n".join([*(f"# setting {number}" for number in range(_LINES)), "touch ~/harm"])
_FIRST_PAGE = (
    "Outside the sandbox: allow write?",
    "A yes runs this call outside the sandbox.",
    "it writes where the sandbox lets nothing be written",
)


@pytest.fixture
def seat() -> Iterator[Seat]:
    with folder_elsewhere() as folder, ModelServer() as model:
        yield Seat(folder, model)


def _canary(seat: Seat) -> Path:
    return Path(seat.environ["HOME"], ".bashrc")


def _open(seat: Seat, screen: Screen, *flags: str) -> Program:
    script = [call("write", path=str(_canary(seat)), content=_TEXT), say("As you like.")]
    return seat.start(*flags, script=script, screen=screen, sandbox="")


@pytest.mark.parametrize("flags", [(), ("--fullscreen",)], ids=["main screen", "full screen"])
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_yes_on_the_first_page_allows_nothing(seat: Seat, flags: tuple[str, ...], columns: int, rows: int) -> None:
    with _open(seat, Screen(columns, rows), *flags) as program:
        program.wait_for(READY)
        enter(program, "set up my shell")
        program.wait_for("No, and tell the model why")
        for words in _FIRST_PAGE:
            assert words in " ".join(program.screen.text().replace("│", " ").split()), words

        program.press("y", "s", "a", *["up"] * 3, "enter")  # from the proposed no to the yes
        program.press("pagedown")
        program.wait_for(re.compile(r"Scroll to the end to allow: [1-9]\d* lines above"))
        assert not _canary(seat).exists()

        program.press("x")
        program.wait_for("Stopped.")
    assert not _canary(seat).exists()


def test_a_yes_after_the_last_page_allows_it(seat: Seat) -> None:
    with _open(seat, Screen(80, 24)) as program:
        program.wait_for(READY)
        enter(program, "set up my shell")
        program.wait_for("No, and tell the model why")
        read_question(program)
        assert "touch ~/harm" in program.screen.text()
        program.press("y")
        program.wait_for("As you like.")
    assert _canary(seat).read_text() == _TEXT


def test_line_by_line_everything_is_written_before_a_yes_counts(seat: Seat) -> None:
    with _open(seat, Screen(80, 24, answers="none"), "--plain") as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"set up my shell\ny\n")  # typed before there is a question
        program.wait_for("Answer with a letter")
        told = "\n".join(program.screen.everything())
        assert not _canary(seat).exists()
        assert all(words in " ".join(told.split()) for words in _FIRST_PAGE)
        assert told.index("A yes runs this call") < told.index("# setting 0") < told.index("touch ~/harm")
        assert "Outside the sandbox: allow write?" in program.screen.text()  # again, above the answers
        program.write(b"x\n")
        program.wait_for("Stopped.")
    assert not _canary(seat).exists()
