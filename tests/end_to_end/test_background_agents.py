"""Agents in the background: the conversation goes on meanwhile, and gets their reports when they end."""

import re
import signal
import time
from pathlib import Path

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.end_to_end.seat import Seat, enter, is_idle, pausing
from tests.support.model_server import ModelServer, Received, call, say

pytestmark = pytest.mark.usefixtures("elsewhere", "full_access")

_LOOK = call("agent", agent="explore", task="Find the door.", background=True)


def texts(request: Received) -> str:
    return "\n".join(text for _, text in conversation(request))


def of_agent(request: Received) -> bool:
    """Whether an agent asks: its first message is its task."""
    return conversation(request)[0][1].startswith("Find the door.")


def test_print_mode_waits_for_the_report_and_the_model_gets_it(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, say("It looks for it."), say("It looks for it."), say("Behind the house, then.")])

    finished = kaa.run("-p", "Where is the door?")

    assert finished.code == 0, finished.err
    assert len(server.requests) == 4
    [agent] = [request for request in server.requests if of_agent(request)]
    last = texts(server.requests[-1])
    assert "works in the background" in last
    assert re.search(r"\[agent explore-\w{6}\] It has finished its task: Find the door\.", last)
    assert "It looks for it." in last
    assert finished.out.endswith("Behind the house, then.\n")
    assert "background" not in texts(agent)


def test_one_that_does_not_exist_is_an_error_of_the_call(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("agent", agent="nobody", task="x", background=True), say("None.")])

    kaa.run("-p", "hi")

    assert "There is no agent 'nobody'" in texts(server.requests[1])


def test_a_definition_can_say_that_it_works_in_the_background(kaa: Kaa, server: ModelServer) -> None:
    definition = kaa.home / "agents" / "slow.md"
    definition.parent.mkdir()
    definition.write_text("---\ndescription: Slow.\nbackground: true\n---\nBe slow.\n")
    server.begin([call("agent", agent="slow", task="Find the door."), say("One."), say("Two."), say("Three.")])

    kaa.run("-p", "hi")

    assert "has finished its task" in texts(server.requests[-1])


def test_one_that_stops_at_its_limit_of_turns_has_not_finished(kaa: Kaa, server: ModelServer) -> None:
    definition = kaa.home / "agents" / "slow.md"
    definition.parent.mkdir()
    definition.write_text("---\ndescription: Slow.\nbackground: true\nmaxTurns: 1\n---\nBe slow.\n")
    work = call("bash", command="true")
    server.begin([call("agent", agent="slow", task="Find the door."), *[work] * 2, *[say("Half of it.")] * 4])

    kaa.run("-p", "hi")

    assert "has stopped at its limit in its task: Find the door." in texts(server.requests[-1])


def test_one_whose_report_only_begins_like_that_of_a_limit_has_finished(kaa: Kaa, server: ModelServer) -> None:
    work = call("agent", agent="explore", task="Find the door.", background=True)
    server.begin([work, *[say("It stopped at its limit of three doors.")] * 4])

    kaa.run("-p", "hi")

    assert "has finished its task: Find the door." in texts(server.requests[-1])


def test_it_goes_on_while_the_conversation_does_and_can_be_stopped(tmp_path: Path) -> None:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        with seat.open(script=[pausing("Looking"), say("Hello.")]) as program:
            enter(program, "/bg @explore Find the door.")
            program.wait_for("works in the background")
            program.wait_for(lambda _: len(model.requests) == 1)
            enter(program, "hi there")
            program.wait_for("Hello.")
            program.wait_for(is_idle)
            enter(program, "/agents")
            program.wait_for(re.compile(r"explore-\w{6} working .*Find the door\."))
            program.press("escape")
            enter(program, "/agents stop explore")
            program.wait_for("did not finish")
            program.wait_for(is_idle)

    assert len(model.requests) == 2  # nobody asked for it: no run begins


def test_leaving_kaa_stops_it_and_the_session_says_so(tmp_path: Path) -> None:
    with ModelServer() as model:
        seat = Seat(tmp_path, model)
        with seat.open(script=[pausing("Looking")]) as program:
            enter(program, "/bg @explore Find the door.")
            program.wait_for("works in the background")
            program.wait_for(lambda _: len(model.requests) == 1)
            enter(program, "/quit")
            program.wait_for("Keep it running without this terminal?")
            program.press("q")
            program.wait_for_end()

        model.begin([say("I see.")])
        seat.run("-c", "-p", "and now?")
        assert re.search(r"\[agent explore-\w{6}\] It was stopped, because kaa ended", texts(model.requests[-1]))


def test_a_kill_leaves_one_that_can_go_on(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, pausing("Looking"), pausing("Waiting")])
    with kaa.running("-p", "hi") as process:
        while len(server.requests) < 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    (session,) = kaa.home.glob("sessions/*/*.jsonl")

    server.begin([say("I see.")])
    kaa.run("--fork", str(session), "-p", "and?")
    assert re.search(r"\[agent explore-\w{6}\] It worked for the original of this copy", texts(server.requests[0]))
    shown = kaa.run("--session", str(session), "-p", "/agents").out

    found = re.search(r"(explore-\w{6}): Find the door\.\n  interrupted", shown)
    assert found is not None, shown
    server.begin([call("agent", agent=found[1], task="Go on."), say("Found."), say("Good.")])
    kaa.run("--session", str(session), "-p", "go on")
    assert "Find the door." in texts(server.requests[1])


def test_a_kill_between_its_end_and_its_report_does_not_lose_that(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, say("Behind the house."), say("Behind the house."), say("Thank you.")])
    assert kaa.run("-p", "Where is the door?").code == 0
    (session,) = kaa.home.glob("sessions/*/*.jsonl")
    lines = session.read_text().splitlines(keepends=True)
    (end,) = (number for number, line in enumerate(lines) if '"customType":"agent_end"' in line)
    session.write_text("".join(lines[: end + 1]))

    for _ in range(2):
        server.begin([say("I see.")])
        assert kaa.run("-c", "-p", "and now?").code == 0
        (told,) = (text for _, text in conversation(server.requests[0]) if text.startswith("[agent explore-"))
        assert re.match(r"\[agent explore-\w{6}\] It has ended, and kaa ended [^\n]* Task: Find the door\.\n", told)
        assert told.endswith("Behind the house.")


def test_one_budget_holds_for_it(kaa: Kaa, server: ModelServer) -> None:
    server.begin([_LOOK, *[call("bash", command="true")] * 20])

    finished = kaa.run("--max-tokens", "100", "-p", "hi")

    assert finished.code == 6
    assert len(server.requests) < 12
