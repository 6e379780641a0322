"""The mode `plan` at a terminal: it looks different, the plan can be edited, and is executed once it is approved."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.seat import Seat, enter, is_idle
from tests.end_to_end.test_plan import PLAN
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.screen import Screen

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def seat() -> Iterator[Seat]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder, ModelServer() as model:
        yield Seat(folder, model)


def test_plan_edit_approve_execute(seat: Seat) -> None:
    script = [
        say(PLAN),
        call("write", path="hello.txt", content="hello"),
        say("First."),
        call("write", path="name.txt", content="world"),
        say("Second."),
    ]
    with seat.open(sandbox="", script=script, screen=Screen(columns=100, rows=40)) as program:
        program.press("shift+tab")
        program.wait_for("plan • net off")
        program.wait_for("── plan: kaa changes nothing ──")
        enter(program, "Greet the world")
        program.wait_for("Plan with 2 steps")
        program.wait_for(is_idle)
        assert not list(seat.project.iterdir())
        enter(program, "/plan edit")
        program.wait_for("Enter sends the text")
        program.type("And be quick.")
        program.press("enter")
        program.wait_for("The plan is changed.")
        enter(program, "/plan run")
        program.wait_for("── executing step 1/2: ")
        program.wait_for("Plan executed: 2 steps done.")
        program.wait_for("auto • net off")
        program.wait_for(is_idle)

    assert (seat.project / "name.txt").exists()
    assert "And be quick." in seat.session_files[0].read_text()
