"""Proof of completion and loop detection, partly in a real sandbox: without a screen, and at a terminal."""

import json
from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Finished, conversation
from tests.end_to_end.seat import Seat, enter, is_idle
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc
from tests.support.screen import Screen

_EDIT = call("write", path="a.py", content="x = 1\n")
_LIST = call("bash", command="ls")

pytestmark = pytest.mark.usefixtures("mounts")


@pytest.fixture
def kaa() -> Iterator[Seat]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder, ModelServer() as model:
        yield Seat(folder, model)


def verdicts(finished: Finished) -> list[dict[str, object]]:
    """What JSON mode says of the check."""
    entries = [json.loads(line)["entry"] for line in finished.out.splitlines() if '"entry_appended"' in line]
    return [one["data"] for one in entries if str(one.get("customType", "")).endswith(":verification")]


class TestScripts:
    @pytest.mark.usefixtures("unasked")
    def test_a_verified_run_exits_with_0(self, kaa: Seat) -> None:
        kaa.settings(verify=["test -f a.py"])
        kaa.model.begin([_EDIT, say("Done.")])

        finished = kaa.run("-p", "write it")

        assert (finished.code, len(kaa.model.requests)) == (0, 2)
        assert "Verified: `test -f a.py` succeeds" in finished.err

    @pytest.mark.usefixtures("unasked")
    def test_a_run_that_is_not_verified_exits_with_7(self, kaa: Seat) -> None:
        kaa.settings(verify=["echo no luck; exit 3"])
        kaa.model.begin([_EDIT, say("Done."), _EDIT, say("Again."), _EDIT, say("Again.")])

        finished = kaa.run("--mode", "json", "-p", "write it")

        assert finished.code == 7
        assert [one["state"] for one in verdicts(finished)] == ["notVerified"] * 3
        assert finished.events[-1]["reason"] == "unverified"
        assert "not verified: `echo no luck; exit 3` fails" in finished.err
        assert "no luck" in conversation(kaa.model.requests[2])[-1][1]

    def test_code_in_a_reply_is_no_change_unless_nothing_may_be_changed(self, kaa: Seat) -> None:
        kaa.model.begin([say("```python\nx = 1\n```"), say("Nothing was asked for.")])

        finished = kaa.run("-p", "Write a.py with x = 1")

        assert (finished.code, len(kaa.model.requests)) == (0, 2)
        assert "you changed no file" in conversation(kaa.model.requests[1])[-1][1]
        assert "```python" in finished.out

        kaa.model.begin([say("```python\nx = 1\n```"), say("never")])
        kaa.run("--sandbox", "read-only", "-p", "Write a.py with x = 1")
        assert len(kaa.model.requests) == 1

    def test_what_needs_the_network_says_so_at_once(self, kaa: Seat) -> None:
        connect = "python3 -c \"import socket; socket.create_connection(('93.184.216.34', 80), 5)\""
        kaa.settings(verify=[connect])
        kaa.model.begin([_EDIT, say("Done.")])

        finished = kaa.run("-p", "write it")

        assert (finished.code, len(kaa.model.requests)) == (7, 2)
        assert "needs what is not permitted" in finished.err
        assert "A direct connection to 93.184.216.34:80 is blocked" in finished.err

    def test_what_destroys_data_needs_an_approval(self, kaa: Seat) -> None:
        (kaa.project / ".git").mkdir()
        kaa.settings(verify=["rm -rf .git"])
        kaa.model.begin([_EDIT, say("Done.")])

        finished = kaa.run("-p", "write it")

        assert finished.code == 7
        assert "needs what is not permitted" in finished.err
        assert (kaa.project / ".git").exists()

    @pytest.mark.parametrize("declared", [True, False])
    def test_the_settings_of_a_project_count_once_it_is_trusted(self, kaa: Seat, declared: bool) -> None:
        (kaa.project / ".kaa").mkdir()
        (kaa.project / ".kaa" / "settings.json").write_text('{"verify": ["exit 9"]}')
        kaa.model.begin([_EDIT, say("Done."), say("I cannot.")])

        finished = kaa.run("-p", "write it", "--trust" if declared else "--no-trust")

        assert finished.code == (7 if declared else 0)

    def test_a_model_that_repeats_itself_is_stopped_with_4(self, kaa: Seat) -> None:
        kaa.model.begin([_LIST] * 9)

        finished = kaa.run("--mode", "json", "-p", "look")

        assert (finished.code, len(kaa.model.requests)) == (4, 5)
        assert finished.events[-1]["reason"] == "loop"
        assert "the model repeats itself: bash `ls` gave the same result 5 times" in finished.err

    @pytest.mark.usefixtures("unasked")
    def test_rpc_gets_the_verdict_and_the_question(self, kaa: Seat) -> None:
        kaa.settings(verify=["test -f a.py"])
        with rpc(kaa) as client:
            kaa.model.begin([_EDIT, say("Done.")])
            client.data("prompt", message="write it")
            verdict = client.wait(lambda line: "verification" in str(line.get("entry")))
            client.event("agent_settled")
            kaa.model.begin([_LIST] * 9)
            client.data("prompt", message="look")
            asked = client.wait(lambda line: line.get("method") == "select")
            client.send({"type": "extension_ui_response", "id": asked["id"], "value": "Stop"})
            end = client.event("agent_end")

        assert verdict["entry"]["data"]["state"] == "verified"
        assert "The model repeats itself" in str(asked["title"])
        assert end["reason"] == "loop"


class TestTerminal:
    @pytest.mark.usefixtures("unasked")
    def test_a_failure_is_corrected_and_the_run_verified(self, kaa: Seat) -> None:
        kaa.settings(verify=["test -f b.py"])
        script = [_EDIT, say("Done."), call("write", path="b.py", content="y = 2\n"), say("Now it is.")]

        with kaa.open(script=script, screen=Screen(columns=100, rows=40), sandbox="") as program:
            enter(program, "write it")
            program.wait_for("Not verified: `test -f b.py` fails")
            program.wait_for("Verified: `test -f b.py` succeeds")
            program.wait_for(is_idle)

    @pytest.mark.usefixtures("unasked")
    def test_while_it_runs_it_can_be_skipped_or_ended_with_the_run(self, kaa: Seat) -> None:
        kaa.settings(verify=["sleep 3600"])
        script = [_EDIT, say("Done."), _EDIT, say("Done.")]

        with kaa.open(script=script, screen=Screen(columns=100, rows=40), sandbox="") as program:
            enter(program, "write it")
            program.wait_for("verifying: sleep 3600")
            enter(program, "/verify skip")
            program.wait_for("Not verified: you skipped the check.")
            program.wait_for(is_idle)

            enter(program, "again")
            program.wait_for("overwritten")
            program.wait_for("Running the check of the result")
            program.wait_for("verifying: sleep 3600")
            program.press("escape")
            program.wait_for("Stopped.")
            program.wait_for(is_idle)

    def test_the_user_decides_about_a_loop(self, kaa: Seat) -> None:
        script = [*[_LIST] * 8, say("Here I am again.")]

        with kaa.open(script=script, screen=Screen(columns=100, rows=40), sandbox="") as program:
            enter(program, "look")
            program.wait_for("gave the same result 4 times. Continue?")
            program.wait_for("Enter chooses")
            program.press("enter")
            program.wait_for(lambda screen: screen.text().count("[loop]") == 2 and "Enter chooses" in screen.text())
            program.press("down", "enter")
            program.wait_for("Paused, because the model repeats itself")
            program.wait_for(is_idle)
            enter(program, "go on")
            program.wait_for("Here I am again.")
