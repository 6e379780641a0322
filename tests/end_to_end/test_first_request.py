"""What the first request of a conversation carries: as few words as possible, and those that hold for this run."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, Received, call, say
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


def test_names_of_other_agents_call_the_tool_that_they_mean(kaa: Kaa, server: ModelServer) -> None:
    names = ("Bash", "functions.bash:0", "bash<|channel|>commentary", "shell")
    server.begin([*(call(name, command=f"echo {number}") for number, name in enumerate(names)), say("Done.")])

    kaa.run("--sandbox", "full-access", "-p", "Go")

    said = conversation(server.requests[-1])
    assert [text for who, text in said if who == "tool"] == ["0", "1", "2", "3"]
    assert [text.partition("(")[0] for who, text in said if who == "assistant"] == ["bash"] * 4
