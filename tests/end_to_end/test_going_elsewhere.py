"""Other sessions, copies and other places of a session, reached by slash commands without a terminal."""

import json
import re

import pytest

from tests.end_to_end.kaa_process import Kaa, conversation
from tests.support.model_server import ModelServer, Received, say

pytestmark = pytest.mark.usefixtures("full_access")


def test_messages_go_to_the_session_that_a_command_leads_to(kaa: Kaa) -> None:
    with ModelServer([say("One."), say("Two."), say("Three."), say("Four.")]) as server:
        kaa.use(server, "openai-completions")
        led = kaa.run("-p", "first", "/clone", "second", "/new", "third")
        resumed = kaa.run("-p", "/resume third", "fourth")
        unclear = kaa.run("-p", "/resume first", "fifth")

    assert (led.code, resumed.code, unclear.code) == (0, 0, 1)
    heard = [_said(request) for request in server.requests]
    assert heard == [["first"], ["first", "second"], ["third"], ["third", "fourth"]]
    assert "several titles contain 'first'" in unclear.err
    assert len(list(kaa.home.glob("sessions/**/*.jsonl"))) == 3


def test_a_session_is_copied_before_a_message_and_left_alone(kaa: Kaa) -> None:
    with ModelServer([say("One."), say("Two."), say("Three.")]) as server:
        kaa.use(server, "openai-completions")
        entry = _entry_of("second", kaa.run("-p", "first", "second", "/tree").out)
        asked = kaa.run("-c", "-p", "/fork")
        told = kaa.run("--mode", "json", "-c", "-p", "/fork nonsense")
        forked = kaa.run("-c", "-p", f"/fork {entry}", "another")

    assert asked.code == 1
    assert f"{entry}  second" in asked.err
    assert told.code == 1
    assert "nonsense is not a message of yours" in json.dumps(told.events[-1])
    assert (forked.code, _said(server.requests[-1])) == (0, ["first", "another"])


def test_a_session_goes_on_from_another_entry(kaa: Kaa) -> None:
    with ModelServer([say("One."), say("Two."), say("Three.")]) as server:
        kaa.use(server, "openai-completions")
        tree = kaa.run("-p", "first", "second", "/tree").out
        first, second = _entry_of("One.", tree), _entry_of("second", tree)
        gone = kaa.run("-c", "-p", f"/tree {first}", "instead", "/tree")
        back = kaa.run("-c", "-p", f"/rewind {second}")
        unknown = kaa.run("-c", "-p", "/tree nonsense")

    assert (gone.code, _said(server.requests[-1])) == (0, ["first", "instead"])
    assert re.search(rf"^  {second}    user: second$", gone.out, re.MULTILINE)
    assert re.search(r"^\* \w+    user: instead$", gone.out, re.MULTILINE)
    assert back.code == 1
    assert f"{second} is not a message of yours on this branch" in back.err
    assert (unknown.code, "that entry is not in this session" in unknown.err) == (1, True)


def _entry_of(text: str, tree: str) -> str:
    found = re.search(rf"^. (\w+) .*: {re.escape(text)}$", tree, re.MULTILINE)
    assert found is not None, tree
    return found[1]


def _said(request: Received) -> list[str]:
    """The messages of the user's."""
    return [text for role, text in conversation(request) if role == "user"]
