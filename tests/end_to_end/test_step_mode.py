"""The approval mode `step`: each call, also of agents, waits to be run, to be skipped, or for a stop."""

import re

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, answer, enter
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("full_access")


def test_each_call_waits_at_the_terminal(seat: Seat) -> None:
    (seat.project / "a.txt").write_text("the content of a")
    script = [call("read", path="a.txt"), call("bash", command="echo hi > made"), say("Done.")]

    with seat.open("--approvals", "step", script=script) as terminal:
        enter(terminal, "hi")
        terminal.wait_for("Step: run read?")
        answer(terminal, "y")
        terminal.wait_for("Step: run bash?")
        answer(terminal, "n")
        terminal.wait_for("Reason, or what to do instead")
        enter(terminal, "not now")
        terminal.wait_for("Done.")

    results = [text for who, text in seat.heard() if who == "tool"]
    assert "the content of a" in results[0]
    assert "The user does not allow this: not now." in results[1]
    assert not (seat.project / "made").exists()


def test_each_call_waits_line_by_line(seat: Seat) -> None:
    with seat.start("--plain", "--approvals", "step", script=[call("bash", command="echo hi > made")]) as terminal:
        terminal.wait_for(re.compile(r"^>", re.MULTILINE))
        enter(terminal, "hi")
        terminal.wait_for("Step: run bash?")
        terminal.wait_for("Stop the run")
        enter(terminal, "x")
        terminal.wait_for("! Stopped.")

    assert not (seat.project / "made").exists()


def test_calls_of_agents_wait_too_in_rpc_mode(kaa: Kaa) -> None:
    script = [
        call("agent", agent="general", task="Look."),
        call("bash", command="echo hi"),
        say("Report."),
        say("Done."),
    ]
    with ModelServer(script) as server:
        kaa.use(server, "openai-completions")
        with rpc(kaa, "--approvals", "step") as client:
            client.send({"id": "p", "type": "prompt", "message": "go"})
            asked = []
            for _ in range(2):
                question = client.event("extension_ui_request")
                asked.append(
                    (
                        question["question"]["tool"],
                        question["question"].get("agent") is not None,
                        question["options"][0],
                    )
                )
                client.send({"type": "extension_ui_response", "id": question["id"], "value": "Run"})
            client.event("agent_settled")

    assert asked == [("agent", False, "Run"), ("bash", True, "Run")]


@pytest.mark.parametrize("mode", ["text", "json"])
def test_where_nobody_can_be_asked_nothing_begins(kaa: Kaa, mode: str) -> None:
    with ModelServer([say("never")]) as server:
        kaa.use(server, "openai-completions")
        finished = kaa.run("-p", "--mode", mode, "--approvals", "step", "hi")

    assert finished.code == 2
    assert "the approval mode step waits for an answer before each call" in finished.out + finished.err
    assert not server.requests
