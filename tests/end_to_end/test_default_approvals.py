"""The approval mode that nobody chose: `auto` where the sandbox confines what runs, `ask` elsewhere."""

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, enter
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

_EXPLAINED = "Commands and edits run without questions"


@pytest.mark.usefixtures("mounts")
def test_what_the_sandbox_confines_runs_without_a_question_and_the_first_start_says_so(seat: Seat) -> None:
    script = [call("bash", command="echo a > made"), call("write", path="b", content="b"), say("Both are there.")]

    with seat.open(script=script, screen=Screen(columns=160, rows=40), sandbox="") as program:
        program.wait_for(_EXPLAINED)
        program.wait_for("auto • net off")
        enter(program, "make them")
        program.wait_for("Both are there.")
        assert "Allow" not in program.screen.text()
    with seat.open(screen=Screen(columns=160, rows=40), sandbox="") as program:
        program.wait_for("auto • net off")
        assert _EXPLAINED not in program.screen.text()

    assert {path.name for path in seat.project.iterdir()} >= {"made", "b"}


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("mode", ["ask", "never", "step"])
def test_a_mode_that_was_chosen_holds_in_the_sandbox(seat: Seat, mode: str) -> None:
    seat.settings(approvals={"policy": mode})

    with seat.open(screen=Screen(columns=160, rows=40), sandbox="") as program:
        program.wait_for(f"{mode} • net off")
        assert _EXPLAINED not in program.screen.text()


def test_without_a_sandbox_each_call_is_asked(seat: Seat) -> None:
    with seat.open(script=[call("bash", command="echo a > made")], screen=Screen(columns=160, rows=40)) as program:
        program.wait_for("full access • ask")
        assert _EXPLAINED not in program.screen.text()
        enter(program, "make it")
        program.wait_for("Allow bash?")

    assert not (seat.project / "made").exists()


@pytest.mark.usefixtures("mounts")
def test_a_program_that_drives_kaa_is_asked_only_what_leaves_the_sandbox(kaa: Kaa) -> None:
    with ModelServer([call("bash", command="echo a > made"), call("write", path=".envrc", content="x")]) as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa, "--person-answers") as client:
            client.send({"id": "p", "type": "prompt", "message": "go"})
            question = client.event("extension_ui_request")

    assert "Outside the sandbox" in str(question) or "outside the sandbox" in str(question)
    assert (kaa.project / "made").exists()
