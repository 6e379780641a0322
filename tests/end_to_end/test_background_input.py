"""Programs in the background that ask and answer: the model waits for them and writes to them."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.elsewhere import folder_elsewhere
from tests.support.model_server import Answer, ModelServer, call, say

_ASKS = "read -p 'name? ' name; echo hello $name; read -r line; $line"


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


def results(server: ModelServer) -> list[str]:
    return [text for who, text in conversation(server.requests[-1]) if who == "tool"]


def write(text: str) -> Answer:
    return call("process", action="write", id=1, input=text)


@pytest.mark.usefixtures("mounts")
def test_a_program_gets_an_answer_to_what_it_asks(kaa: Kaa, server: ModelServer) -> None:
    wait = call("process", action="wait", id=1)
    server.begin([call("bash", command=_ASKS, background=True), write("Ada"), write("true"), wait, say("Done.")])

    kaa.run("-p", "Go")

    _, answered, _, ended = results(server)
    assert "hello Ada\n[Process 1: running" in answered
    assert "exited with code 0" in ended


@pytest.mark.usefixtures("mounts")
def test_rules_for_commands_hold_for_what_is_written(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(approvals={"deny": ["bash: touch *"]})
    server.begin(
        [call("bash", command=_ASKS, background=True), write("Ada"), write("touch canary"), say("Done.")],
    )

    kaa.run("-p", "Go")

    assert "touch" in results(server)[-1]
    assert "hello" not in results(server)[-1]
    assert not (kaa.project / "canary").exists()
