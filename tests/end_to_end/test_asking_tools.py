"""A tool of an extension asks the person: on a screen, line by line, and where nobody is there. Rpc: `test_rpc.py`."""

import re

import pytest

from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import call, say
from tests.support.screen import Screen

_EXTENSION = """
import msgspec
from kaa.core.tool import TypedTool, text_result
from kaa.ext.questions import Choice, Chosen, Entered, TextInput

class Nothing(msgspec.Struct): pass

async def pick(arguments, context):
    colour = await context.asker.ask(Choice("Which colour?", ("red", "blue")))
    name = await context.asker.ask(TextInput("Which name?"))
    picked = colour.option if isinstance(colour, Chosen) else "nothing"
    named = name.text if isinstance(name, Entered) else "nothing"
    return text_result(f"picked {picked}, named {named}")

def extend(api):
    api.register_tool(TypedTool("pick", "Pick a colour", Nothing, pick))
"""


@pytest.fixture(autouse=True)
def extended(seat: Seat) -> None:
    folder = seat.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").write_text(_EXTENSION)
    seat.settings(approvals={"allow": ["pick"]})


def test_on_the_screen_options_are_a_list_and_texts_a_line(seat: Seat) -> None:
    with seat.open(script=[call("pick"), say("Picked.")]) as program:
        enter(program, "go")
        program.wait_for("Enter chooses, Esc cancels")
        program.press("down")
        program.press("enter")
        program.wait_for("Enter sends the text, Esc cancels")
        enter(program, "sky")
        program.wait_for("Picked.")

    assert seat.heard()[-1] == ("tool", "picked blue, named sky")


def test_escape_dismisses_a_question(seat: Seat) -> None:
    with seat.open(script=[call("pick"), say("Picked.")]) as program:
        enter(program, "go")
        program.wait_for("Enter chooses, Esc cancels")
        program.press("escape")
        program.wait_for("Enter sends the text, Esc cancels")
        program.press("escape")
        program.wait_for("Picked.")

    assert seat.heard()[-1] == ("tool", "picked nothing, named nothing")


def test_line_by_line_lines_answer(seat: Seat) -> None:
    script = [call("pick"), say("Picked.")]
    with seat.start("--plain", script=script, screen=Screen(100, 60, answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"go\n")
        program.wait_for("Which colour?")
        program.wait_for("Answer with a name from the list")
        program.write(b"blue\n")
        program.wait_for("Which name?")
        program.write(b"sky\n")
        program.wait_for("Picked.")

    assert seat.heard()[-1] == ("tool", "picked blue, named sky")


def test_where_nobody_is_there_the_model_is_told_so(seat: Seat) -> None:
    seat.model.begin([call("pick"), say("I cannot ask.")])

    done = seat.run("-p", "go")

    assert done.out == "I cannot ask.\n"
    told = "Nobody can be asked here: Which colour? To answer it, run kaa in the terminal or in rpc mode."
    assert seat.heard()[-1] == ("tool", told)
    assert f"pick failed: {told}"[:60] in done.err
