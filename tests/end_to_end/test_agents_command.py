"""`kaa agents`: what is open on this machine, seen from another terminal."""

import json
import os
import signal
import time
from typing import cast

import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.end_to_end.seat import Seat, pausing
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("elsewhere", "full_access")


def test_what_works_is_listed_and_shown(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("agent", agent="explore", task="Find the door."), pausing("Looking")])
    with kaa.running("-p", "Where is the door?") as process:
        while len(server.requests) < 2:
            assert process.poll() is None
            time.sleep(0.01)

        listed = json.loads(kaa.run("agents", "list", "--json").out)
        shown = kaa.run("agents").out
        agent = listed["agents"][0]["id"]
        of_agent = kaa.run("agents", "show", agent[:10]).out
        of_session = kaa.run("agents", "show", str(process.pid), "--lines", "1000").out

        assert (listed["pid"], listed["state"], listed["title"]) == (process.pid, "working", "Where is the door?")
        assert listed["doing"] == "agent explore"
        assert f"process {process.pid}: Where is the door?" in shown
        assert f"    {agent}  asks the model" in shown
        assert "Find the door." in of_agent
        assert "Where is the door?" in of_session
    process.wait()

    assert kaa.run("agents").out == ""
    assert "nothing that is open begins with 'x'" in kaa.run("agents", "show", "x").err


def test_a_session_that_is_not_open_is_not_listed(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Hello.")])
    kaa.run("-p", "hi")

    assert kaa.run("agents").out == ""


def test_a_session_that_was_killed_at_work_is_listed_as_idle_when_it_is_open_again(seat: Seat) -> None:
    def listed() -> dict[str, object]:
        return cast("dict[str, object]", json.loads(seat.run("agents", "list", "--json").out))

    with seat.open("tell me of apples", script=[pausing("All about")]) as program:
        program.wait_for("All about")
        while not (facts := listed())["listens"]:
            time.sleep(0.05)
        assert (facts["state"], facts["doing"]) == ("working", "asks the model")
        os.kill(program.pid, signal.SIGKILL)
        program.wait_for_end()

    with seat.open("-c"):
        while not (facts := listed())["listens"]:
            time.sleep(0.05)
        assert (facts["state"], facts["doing"]) == ("idle", "")
