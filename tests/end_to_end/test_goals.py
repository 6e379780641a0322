"""`/goal`: the model goes on until the user's commands succeed, and stops where that leads nowhere."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import ModelServer, call, say
from tests.support.rpc_client import rpc

_CHECK = "test -f done.txt || { echo nothing there after 0.3 s; exit 3; }"


@pytest.fixture
def kaa() -> Iterator[Kaa]:
    """Elsewhere: the sandbox shows nothing of temporary directories."""
    with folder_elsewhere() as folder:
        yield Kaa(folder)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer() as server:
        kaa.use(server, "openai-completions")
        yield server


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


def test_progress_keeps_it_going_for_ten_checks(kaa: Kaa, server: ModelServer) -> None:
    server.begin(
        [one for number in range(20) for one in (call("bash", command=f"echo {number} > count"), say("Next."))]
    )

    kaa.run("-p", "/goal Count --check cat count; false")

    assert len(server.requests) == 20
    assert "Goal not reached after 10 checks: Count" in kaa.run("-c", "-p", "/goal").out


def test_what_cannot_be_checked_three_times_is_blocked(kaa: Kaa, server: ModelServer) -> None:
    server.begin([call("read", path="x"), say("1"), say("2"), say("3"), say("4")])

    kaa.run("--exclude-tools", "bash", "-p", "/goal Make the file --check true")

    state = kaa.run("-c", "-p", "/goal").out
    assert "Goal blocked: Make the file" in state
    assert "the tool bash is switched off" in state


def test_what_no_command_shows_a_model_judges(kaa: Kaa, server: ModelServer) -> None:
    server.begin(
        [
            say("A poem."),
            say('{"done": false, "missing": "It does not rhyme."}'),
            call("write", path="poem.txt", content="x"),
            say("A rhyme."),
            say('{"done": true}'),
        ]
    )

    kaa.run("-p", "/goal Write a poem that rhymes")

    assert "It does not rhyme." in told(server, 2)
    assert "<goal>\nWrite a poem that rhymes\n</goal>" in told(server, 1)
    assert len(server.requests) == 5
    assert "Goal reached after 2 checks" in kaa.run("-c", "-p", "/goal").out


def test_stopped_it_is_not_pursued(kaa: Kaa, server: ModelServer) -> None:
    server.begin([say("Done."), say("Hello.")])
    events = kaa.run("-p", f"/goal Make the file --check {_CHECK}", "--max-turns", "1").out
    assert events is not None
    kaa.run("-c", "-p", "/goal stop")
    before = len(server.requests)

    server.begin([say("Hello.")])
    kaa.run("-c", "-p", "hi")

    assert before == len(server.requests)
    assert "Goal stopped" in kaa.run("-c", "-p", "/goal").out


def test_what_is_no_goal_is_refused(kaa: Kaa, server: ModelServer) -> None:
    errors = {
        "go": "There is no goal",
        "stop": "There is no goal",
        "--check true": "Say what is to be reached",
        "Go --check  --check true": "has no command",
        "Go" + " --check true" * 9: "At most 8 commands",
    }

    with rpc(kaa) as client:
        for arguments, error in errors.items():
            assert error in client.error("prompt", message=f"/goal {arguments}"), arguments
    finished = kaa.run("-p", "/goal")

    assert "There is no goal" in finished.err
    assert finished.code != 0
    assert not server.requests
