"""What the first request of a conversation carries: as few words as possible, and those that hold for this run."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, Received, say
from tests.support.rpc_client import rpc


@pytest.fixture
def kaa(tmp_path: Path) -> Kaa:
    return Kaa(tmp_path)


@pytest.fixture
def server(kaa: Kaa) -> Iterator[ModelServer]:
    with ModelServer([say("Done.")]) as server:
        kaa.use(server, "anthropic-messages")
        yield server


def tokens(request: Received) -> float:
    """Four characters each, of what kaa says to the model."""
    body = request.json
    return (sum(len(one["text"]) for one in body["system"]) + len(msgspec.json.encode(body["tools"]))) / 4


def tools(request: Received) -> set[str]:
    return {one["name"] for one in request.json["tools"]}


def test_where_nobody_answers_the_model_decides_and_asks_for_no_permission(kaa: Kaa, server: ModelServer) -> None:
    kaa.run("-p", "Go")

    (request,) = server.requests
    assert "decide yourself" in request.json["system"][0]["text"]
    assert "request_permission" not in tools(request)
    assert b"request_permission" not in request.body
    assert tokens(request) <= 950


def test_a_person_can_be_asked_for_a_permission(kaa: Kaa, server: ModelServer) -> None:
    with rpc(kaa) as client:
        client.prompt("Go")

    (request,) = server.requests
    assert "decide yourself" not in request.json["system"][0]["text"]
    assert "request_permission" in tools(request)
    assert tokens(request) <= 950


def test_the_words_can_be_switched_off_for_a_model(kaa: Kaa, server: ModelServer) -> None:
    kaa.settings(features={"models": {"test/*": {"workflow": False, "unattended": False}}})

    kaa.run("-p", "Go")

    (request,) = server.requests
    assert "decide yourself" not in request.json["system"][0]["text"]
    assert "each point" not in request.json["system"][0]["text"]


def test_a_text_for_the_prompt_is_no_file_that_a_command_gave_its_name(
    kaa: Kaa, server: ModelServer, tmp_path: Path
) -> None:
    (secret := tmp_path / "secret").write_text("the key")
    (kaa.project / "Answer in German.").symlink_to(secret)
    (kaa.project / "Briefly").write_text("the key")
    (kaa.project / "notes").symlink_to(secret)
    (kaa.project / "style.md").write_text("Write verse.")

    kaa.run("--append-system-prompt", "Answer in German.", "--append-system-prompt", "Briefly", "-p", "Go")
    led_out = kaa.run("--append-system-prompt", "./notes", "-p", "Go")
    kaa.run("--append-system-prompt", "style.md", "-p", "Go")

    german, verse = (str(request.json["system"]) for request in server.requests)
    assert "Answer in German." in german
    assert "Briefly" in german
    assert "the key" not in german
    assert (led_out.code, "./notes is a link out of the project" in led_out.err) == (2, True)
    assert "Write verse." in verse
