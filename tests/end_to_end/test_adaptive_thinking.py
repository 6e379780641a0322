"""Thinking that follows the work: harder where the model plans and where something failed, less in between."""

import pytest

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import Kaa
from tests.support.model_server import ModelServer, Wire, call, say

pytestmark = pytest.mark.usefixtures("elsewhere", "full_access")

_SCRIPT = [
    call("bash", command="true"),
    call("bash", command="true"),
    call("bash", command="exit 3"),
    call("bash", command="true"),
    say("Done."),
]


def levels(kaa: Kaa, wire: Wire, thinking: str) -> list[Json]:
    """How hard the model was asked to think, request by request."""
    with ModelServer(_SCRIPT) as server:
        kaa.use(server, wire, reasoning=True)
        kaa.run("--thinking", thinking, "-p", "Go")
        bodies = [request.json for request in server.requests]
    if wire == "anthropic-messages":
        return [body.get("thinking") for body in bodies]
    return [body.get("reasoning_effort") for body in bodies]


def test_it_thinks_harder_at_the_start_and_after_a_failure(kaa: Kaa) -> None:
    kaa.settings(features={"adaptiveThinking": True})

    assert levels(kaa, "openai-completions", "medium") == ["high", "low", "low", "high", "low"]


def test_the_ends_of_the_scale_stay(kaa: Kaa) -> None:
    kaa.settings(features={"adaptiveThinking": True})

    assert levels(kaa, "openai-completions", "high") == ["high", "medium", "medium", "high", "medium"]


@pytest.mark.parametrize(("wire", "thinking"), [("anthropic-messages", "medium"), ("openai-completions", "off")])
def test_a_cache_is_never_emptied_for_it_and_off_is_off(kaa: Kaa, wire: Wire, thinking: str) -> None:
    kaa.settings(features={"adaptiveThinking": True})

    assert len({str(level) for level in levels(kaa, wire, thinking)}) == 1


def test_it_is_off_by_default(kaa: Kaa) -> None:
    assert levels(kaa, "openai-completions", "medium") == ["medium"] * 5
