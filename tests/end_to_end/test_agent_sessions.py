"""Sessions of agents: kept beside that of the conversation, safe from kills, and agents that go on where they were."""

import re
import signal
from pathlib import Path

import pytest

from kaa.builtin.agents.running import MOST_AT_ONCE
from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import Seat, enter, pausing
from tests.support.model_script import Answer, Fault
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

pytestmark = pytest.mark.usefixtures("elsewhere", "full_access")

_LOOK = call("agent", agent="explore", task="Find the door.")


def session(kaa: Kaa) -> Path:
    """That of the only agent."""
    [path] = kaa.home.glob("sessions/*/*.jsonl.agents/*.jsonl")
    return path


def listed(kaa: Kaa, agent: Path) -> str:
    """What a later process tells of an agent."""
    shown = kaa.run("-c", "-p", "/agents").out
    state: str
    [state] = re.findall(rf"^{agent.stem}: Find the door\.\n  (.*)$", shown, re.MULTILINE)
    return state


def test_its_session_is_kept_beside_the_other_and_goes_on_with_what_it_knows(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, say("At a.py:3."), say("Done.")])
    kaa.run("-p", "hi")

    agent = session(kaa)
    assert agent.stem.startswith("explore-")
    assert listed(kaa, agent).startswith("done, 1 turn, ")
    transcript = kaa.run("-c", "-p", f"/agents {agent.stem[:10]}").out
    assert "Find the door." in transcript
    assert "At a.py:3." in transcript
    assert len(kaa.run("sessions", "list").out.strip().splitlines()) == 1
    assert (agent.stat().st_mode & 0o777, agent.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    server.begin([call("agent", agent=agent.stem, task="And the window?"), say("At b.py:4."), say("Done.")])
    kaa.run("-c", "-p", "go on")

    said = [text for _, text in conversation(server.requests[1])]
    assert [text.split("\n")[0] for text in said] == ["Find the door.", "At a.py:3.", "And the window?"]
    assert "At b.py:4." in [text for who, text in conversation(server.requests[2]) if who == "tool"][-1]
    assert session(kaa) == agent


def test_killed_with_kaa_it_is_told_and_goes_on(kaa: Kaa, server: ModelServer) -> None:
    (kaa.project / "door.txt").write_text("oak")
    server.begin([_LOOK, call("read", path="door.txt"), Answer(text=("It", "is"), fault=Fault("stall"))])
    with kaa.running("-p", "hi") as process:
        server.wait_until_stalled()
        process.send_signal(signal.SIGKILL)
    server.release()
    agent = session(kaa)

    assert listed(kaa, agent).startswith("interrupted")
    server.begin([call("agent", agent=agent.stem, task="Finish."), say("Of oak."), say("Done.")])
    kaa.run("-c", "-p", "go on")

    assert any(agent.stem in text for who, text in conversation(server.requests[0]) if who == "tool")
    assert any("oak" in text for who, text in conversation(server.requests[1]) if who == "tool")
    assert listed(kaa, agent).startswith("done, 1 turn, ")


def test_it_goes_into_the_trash_with_the_conversation_and_comes_back(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, say("At a.py:3."), say("Done.")])
    kaa.run("-p", "hi")
    agent = session(kaa)
    parent = agent.parent.with_name(agent.parent.name.removesuffix(".agents"))
    before = agent.read_bytes()

    assert kaa.run("sessions", "trash", str(parent)).code == 0
    assert not agent.parent.exists()
    assert kaa.run("sessions", "restore", parent.stem.partition("_")[2]).code == 0

    assert agent.read_bytes() == before


def test_the_user_steers_one_at_work(seat: Seat) -> None:
    script = [_LOOK, pausing("Look", "ing"), say("In the wall."), say("Done.")]

    with seat.open("--approvals", "auto", script=script) as terminal:
        enter(terminal, "hi")
        seat.model.wait_until_stalled()
        enter(terminal, "/agents tell explore Try the wall.")
        terminal.wait_for("gets the message when its current calls end")
        seat.model.release()
        terminal.wait_for("Done.")

    assert "Try the wall." in [text for _, text in seat.heard(2)]


def test_the_user_stops_one_at_work_and_the_run_goes_on(seat: Seat) -> None:
    with seat.open("--approvals", "auto", script=[_LOOK, pausing("Look", "ing"), say("Done.")]) as terminal:
        enter(terminal, "hi")
        seat.model.wait_until_stalled()
        enter(terminal, "/agents stop explore")
        terminal.wait_for("was stopped.")
        terminal.wait_for("Done.")
        seat.model.release()
        enter(terminal, "/agents stop explore")
        terminal.wait_for("is not at work")

    assert "ended early (aborted)" in next(text for who, text in seat.heard() if who == "tool")


def test_of_eight_at_once_one_is_stopped_and_all_are_killed_and_go_on(kaa: Kaa, server: ModelServer) -> None:
    calls = [call("agent", agent="general", task=f"Task {number}.") for number in range(9)]
    together = Answer(calls=tuple(one for each in calls for one in each.calls))
    server.begin([together, *(pausing("Work", "ing") for _ in range(9)), say("never")])
    with rpc(kaa) as client:
        client.ask("prompt", message="go")
        server.wait_for_requests(1 + MOST_AT_ONCE)
        agents = client.data("get_agents")["agents"]
        assert [one["state"] for one in agents] == ["working"] * MOST_AT_ONCE  # the ninth waits for one to end
        client.data("stop_agent", agentId=agents[0]["agent"])
        server.wait_for_requests(2 + MOST_AT_ONCE)
        client.process.send_signal(signal.SIGKILL)
        client.process.wait()
    server.release()

    states = re.findall(r"^  (\w+), ", kaa.run("-c", "-p", "/agents").out, re.MULTILINE)
    assert states == ["aborted", *["interrupted"] * MOST_AT_ONCE]
    server.begin([call("agent", agent=agents[3]["agent"], task="Finish."), say("Finished."), say("Done.")])
    kaa.run("-c", "-p", "go on")
    assert any("Finished." in text for _, text in conversation(server.requests[-1]))
    results = [text for who, text in conversation(server.requests[0]) if who == "tool"]
    assert len(results) == len(calls)
