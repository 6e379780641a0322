"""`/goal`: the model goes on until the user's commands succeed, and stops where that leads nowhere."""

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, call, say

pytestmark = pytest.mark.usefixtures("elsewhere", "full_access")

_CHECK = "test -f done.txt || { echo nothing there after 0.3 s; exit 3; }"


def told(server: ModelServer, number: int = -1) -> str:
    """What the model was told last in a request."""
    return conversation(server.requests[number])[-1][1]


def test_the_model_goes_on_until_the_commands_succeed(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Done!"), call("write", path="done.txt", content="x"), say("Now it is.")])

    finished = kaa.run("-p", f"/goal Make the file --check true --check {_CHECK}")

    assert f"- `{_CHECK}`" in told(server, 0)
    assert "nothing there" in told(server, 1)
    assert "exited with code 3" in told(server, 1)
    assert "`true`" not in told(server, 1)
    assert len(server.requests) == 3
    assert finished.code == 0
    assert "Goal reached after 2 checks: Make the file" in kaa.run("-c", "-p", "/goal").out


def test_without_progress_it_is_given_up_and_can_be_taken_up_again(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say(f"Done {number}.") for number in range(9)])
    finished = kaa.run("-p", f"/goal Make the file --check {_CHECK}")

    assert finished.code == 1
    assert "given up" in finished.err
    assert len(server.requests) == 4
    state = kaa.run("-c", "-p", "/goal").out
    assert "given up: nothing changed in the last 3 turns" in state
    assert "nothing there" in state

    server.begin([call("write", path="done.txt", content="x"), say("Done.")])
    kaa.run("-c", "-p", "/goal go")
    assert "Goal reached after 1 check:" in kaa.run("-c", "-p", "/goal").out
