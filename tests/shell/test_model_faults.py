"""Each fault of a model's server in each wire format over real HTTP: kaa tries again, or ends with the reason.

`tests/end_to_end/test_faults.py` has what a whole process makes of faults.
"""

import json
from typing import get_args

import pytest

from kaa.core.events import AgentEnd, AutoRetryStart, Event, ToolExecutionStart
from kaa.core.messages import AssistantMessage, TextContent
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.end_to_end.kaa_process import conversation as said_in
from tests.support.model_faults import API_KEY, BAD_CALLS, LASTING, TRANSIENT
from tests.support.model_script import Answer, Call, ScriptItem, say
from tests.support.model_wire import Wire
from tests.support.stage import Stage

_BROKEN = Call("bash", '{"command": "touch must-not-r')

_EACH_WIRE = pytest.mark.parametrize("wire", get_args(Wire))


def _run(stage: Stage, wire: Wire, *script: ScriptItem) -> list[Event]:
    """Send one message to a model that follows `script`; returns the events."""
    base_url = f"{stage.server.url}/v1" if wire.startswith("openai") else stage.server.url
    provider = {"baseUrl": base_url, "api": wire, "apiKey": API_KEY, "models": [{"id": "m"}]}
    stage.home.mkdir(parents=True, exist_ok=True)
    (stage.home / "models.json").write_text(json.dumps({"providers": {"test": provider}}))
    (stage.home / "settings.json").write_text(json.dumps({"retry": {"baseDelayMs": 1}}))
    stage.environ = {"KAA_LOCAL_SERVERS": "none"}
    stage.server.begin(script)
    events: list[Event] = []

    async def scene(conversation: Conversation) -> None:
        conversation.subscribe(events.append)
        await conversation.submit("go")

    stage.play(scene, ConversationOptions(model="test/m"))
    return events


def _end(events: list[Event]) -> AgentEnd:
    (end,) = (event for event in events if isinstance(event, AgentEnd))
    return end


def _last_text(end: AgentEnd) -> str:
    last = end.messages[-1]
    assert isinstance(last, AssistantMessage)
    return "".join(block.text for block in last.content if isinstance(block, TextContent))


@_EACH_WIRE
@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT)
def test_a_transient_fault_is_tried_again(stage: Stage, wire: Wire, fault: ScriptItem) -> None:
    events = _run(stage, wire, fault, say("Got over it."))

    assert _end(events).reason == "done"
    assert [event.attempt for event in events if isinstance(event, AutoRetryStart)] == [1]
    assert not any(isinstance(event, ToolExecutionStart) for event in events)
    assert stage.server.remaining == 0
    first, second = stage.server.requests
    assert said_in(first)[0] == said_in(second)[0] == ("user", "go")


@_EACH_WIRE
@pytest.mark.parametrize(("fault", "reason"), LASTING.values(), ids=LASTING)
def test_a_lasting_fault_ends_with_the_reason(stage: Stage, wire: Wire, fault: ScriptItem, reason: str) -> None:
    end = _end(_run(stage, wire, fault))

    assert end.reason == "error"
    assert end.error is not None
    assert reason in end.error
    assert API_KEY not in end.error
    assert len(stage.server.requests) == 1


@_EACH_WIRE
@pytest.mark.parametrize(("bad_call", "told"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_explained_to_the_model(stage: Stage, wire: Wire, bad_call: Call, told: str) -> None:
    events = _run(stage, wire, Answer(calls=(bad_call,)), say("I see."))

    who, text = said_in(stage.server.requests[1])[-1]
    assert _end(events).reason == "done"
    assert who == "tool"
    assert told in text


@_EACH_WIRE
def test_a_call_in_broken_json_is_explained_to_the_model_or_asked_for_again(stage: Stage, wire: Wire) -> None:
    events = _run(stage, wire, Answer(calls=(_BROKEN,)), say("I see."))

    who, text = said_in(stage.server.requests[1])[-1]
    assert _end(events).reason == "done"
    if wire == "google-generative-ai":  # which parses calls itself, and withholds what it cannot parse
        assert (who, text) == ("user", "go")
        assert [event.attempt for event in events if isinstance(event, AutoRetryStart)] == [1]
    else:
        assert who == "tool"
        assert "JSON" in text


@_EACH_WIRE
def test_a_call_that_the_output_limit_cuts_off_does_not_run(stage: Stage, wire: Wire) -> None:
    ran: list[CommandRequest] = []

    def run_command(command: CommandRequest) -> CommandResult:
        ran.append(command)
        return CommandResult(0, None, b"", 0, 0)

    stage.commands = run_command

    events = _run(stage, wire, Answer(calls=(_BROKEN,), stop="length"), say("Shorter now."))

    assert _end(events).reason in ("done", "length")
    assert ran == []


@_EACH_WIRE
def test_an_answer_that_the_output_limit_cuts_off_is_kept_and_told(stage: Stage, wire: Wire) -> None:
    end = _end(_run(stage, wire, Answer(text=("half an ans",), stop="length")))

    assert end.reason == "length"
    assert _last_text(end) == "half an ans"


@_EACH_WIRE
def test_chunk_boundaries_anywhere_change_nothing(stage: Stage, wire: Wire) -> None:
    answer = Answer(text=("Grüße, ", "世界 ", "🌍\n\n", "e\u0301nd."), thinking=("hm",), piece_bytes=1)

    assert _last_text(_end(_run(stage, wire, answer))) == "Grüße, 世界 🌍\n\ne\u0301nd."
