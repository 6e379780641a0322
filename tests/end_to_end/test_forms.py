"""A tool of an extension has a form filled in and an address opened: on a screen, line by line, by rpc, by nobody."""

import re

import pytest

from tests.end_to_end.seat import Seat, answer, enter
from tests.support.model_server import call, say
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

_EXTENSION = """
import json
import msgspec
from kaa.ext.api import ChoiceField, Confirmed, FieldOption, Filled, Form, NumberField, OpenUrl, TextField
from kaa.core.tool import TypedTool, text_result

class Nothing(msgspec.Struct): pass

_FIELDS = (
    TextField("name", "Name", required=True),
    NumberField("seats", "Seats", default=2, whole=True),
    ChoiceField("class", "Class", options=(FieldOption("1", "First"), FieldOption("2", "Second"))),
)

async def book(arguments, context):
    form = await context.asker.ask(Form("Book a train?", _FIELDS, "To Berne"))
    url = await context.asker.ask(OpenUrl("Pay?", "https://pay.example/x", "Three francs"))
    filled = json.dumps(form.values) if isinstance(form, Filled) else type(form).__name__
    return text_result(f"{filled}; paid: {isinstance(url, Confirmed)}")

def extend(api):
    api.register_tool(TypedTool("book", "Book a train", Nothing, book))
"""


@pytest.fixture(autouse=True)
def extended(seat: Seat) -> None:
    folder = seat.home / "extensions"
    folder.mkdir()
    (folder / "mine.py").write_text(_EXTENSION)
    seat.settings(approvals={"allow": ["book"]})


def test_on_the_screen_a_form_is_a_list_of_fields(seat: Seat) -> None:
    with seat.open(script=[call("book"), say("Booked.")]) as program:
        enter(program, "go")
        program.wait_for("To Berne")
        program.wait_for("sends the form")
        program.press("enter")
        program.wait_for("Enter takes the value")
        enter(program, "Ann")
        program.wait_for("sends the form")
        program.press("down")
        enter(program, "first")
        program.wait_for("sends the form")
        program.press("enter")
        program.wait_for("Host: pay.example")
        answer(program, "c")
        program.wait_for("Booked.")

    assert seat.heard()[-1] == ("tool", '{"name": "Ann", "seats": 2, "class": "1"}; paid: True')


def test_on_the_screen_both_can_be_refused(seat: Seat) -> None:
    with seat.open(script=[call("book"), say("Not booked.")]) as program:
        enter(program, "go")
        program.wait_for("sends the form")
        program.press("up")
        program.press("enter")
        program.wait_for("Host: pay.example")
        answer(program, "n")
        program.wait_for("Not booked.")

    assert seat.heard()[-1] == ("tool", "Declined; paid: False")


def test_line_by_line_a_line_names_a_field_and_the_next_has_its_value(seat: Seat) -> None:
    script = [call("book"), say("Booked.")]
    with seat.start("--plain", script=script, screen=Screen(100, 90, answers="none")) as program:
        program.wait_for(re.compile("^>$"))
        program.write(b"go\n")
        program.wait_for(re.compile(r"^Name: \(required\)$"))
        program.wait_for("Answer with a name from the list")
        program.write(b"nonsense\n")
        program.wait_for("invalid answer: enter the beginning of a name")
        program.write(b"name\n")
        program.wait_for("Answer with a text")
        program.write(b"Ann\n")
        program.wait_for(re.compile("^Name: Ann$"))
        program.write(b"send\n")
        program.wait_for("https://pay.example/x")
        program.wait_for("Answer with a letter")
        program.write(b"c\n")
        program.wait_for("Booked.")

    assert seat.heard()[-1] == ("tool", '{"name": "Ann", "seats": 2}; paid: True')


def test_an_rpc_client_answers_with_values_and_a_client_of_pi_edits_them(seat: Seat) -> None:
    seat.model.begin([call("book"), say("Booked."), call("book"), say("Booked again.")])

    with rpc(seat, "--sandbox", "full-access") as client:
        client.data("prompt", message="go")
        asked = client.event("extension_ui_request")
        refused_answer = {"kind": "filled", "values": {"seats": 1}}
        client.send({"type": "extension_ui_response", "id": asked["id"], "answer": refused_answer})
        refused = client.event("response")
        filled = {"kind": "filled", "values": {"name": "Ann"}}
        client.send({"type": "extension_ui_response", "id": asked["id"], "answer": filled})
        address = client.event("extension_ui_request")
        client.send({"type": "extension_ui_response", "id": address["id"], "confirmed": True})
        client.event("agent_end")
        first = seat.heard()[-1]

        client.data("prompt", message="again")
        edited = client.event("extension_ui_request")
        text = edited["prefill"].replace('"name": null', '"name": "Bea"')
        client.send({"type": "extension_ui_response", "id": edited["id"], "value": text})
        declined = client.event("extension_ui_request")
        client.send({"type": "extension_ui_response", "id": declined["id"], "confirmed": False})
        client.event("agent_end")

    assert asked["question"]["kind"] == "form"
    assert [field["name"] for field in asked["question"]["fields"]] == ["name", "seats", "class"]
    assert "name (required)" in asked["title"]
    assert refused["error"] == "invalid value: Name is required"
    assert (address["method"], address["question"]["url"]) == ("confirm", "https://pay.example/x")
    assert "host: pay.example" in address["title"]
    assert first == ("tool", '{"name": "Ann"}; paid: True')
    assert edited["method"] == "editor"
    assert seat.heard()[-1] == ("tool", '{"name": "Bea", "seats": 2}; paid: False')


def test_where_nobody_is_there_the_model_is_told_so(seat: Seat) -> None:
    seat.model.begin([call("book"), say("I cannot ask.")])

    done = seat.run("-p", "go")

    assert done.out == "I cannot ask.\n"
    assert "Nobody can be asked here: Book a train?" in seat.heard()[-1][1]
