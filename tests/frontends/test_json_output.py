import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kaa.core.events import AgentEnd, CompactionEnd, Event, MessageEnd, MessageUpdate, TextDelta, TurnEnd
from kaa.core.messages import AssistantMessage, Cost, Json, TextContent, Usage, user_message
from kaa.frontends.event_json import EventJson
from kaa.frontends.json_output import JsonOutput
from kaa.llm.models.registry import NoModelError
from kaa.shell.host import HostNotice


def lines(out: io.BytesIO) -> list[dict[str, Json]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_event_is_one_line_with_its_delta_only() -> None:
    out = io.BytesIO()
    output = JsonOutput(out, io.StringIO())

    output.event(MessageUpdate(TextDelta(0, "two\nlines")))

    (line,) = lines(out)
    assert line["type"] == "message_update"
    assert line["assistantMessageEvent"] == {"type": "text_delta", "contentIndex": 0, "delta": "two\nlines"}


def test_a_bad_end_is_in_the_last_event_and_on_stderr() -> None:
    out, err = io.BytesIO(), io.StringIO()
    output = JsonOutput(out, err)

    output.event(AgentEnd("error", (), "the key is wrong"))

    assert lines(out)[-1] == {
        "type": "agent_end",
        "reason": "error",
        "messages": [],
        "error": "the key is wrong",
        "willRetry": False,
    }
    assert err.getvalue() == "kaa: the key is wrong\n"


def test_what_never_began_ends_in_the_same_shape(tmp_path: Path) -> None:
    out, err = io.BytesIO(), io.StringIO()
    output = JsonOutput(out, err)

    output.failure("no such session")
    output.no_model(NoModelError("no key", auth_file=tmp_path / "a", models_file=tmp_path / "m"))

    assert [(line["type"], line["error"]) for line in lines(out)] == [
        ("agent_end", "no such session"),
        ("agent_end", "no key"),
    ]
    assert "How to get going" in err.getvalue()


def _reply(model: str, usage: Usage) -> AssistantMessage:
    return AssistantMessage((TextContent("Hi."),), "api", "lab", model, usage, "stop")


def _costs(event: Event) -> list[Json]:
    """What the costs of an event are, as a program reads them."""
    events = EventJson(lambda provider, model: (provider, model) == ("lab", "free/one"))
    line = json.loads(msgspec.json.encode(events.of(event)))
    messages: Json = [line["message"]] if "message" in line else line.get("messages", [line])
    return [message["usage"]["cost"] for message in messages if "usage" in message]


_USED = Usage(input=10, output=5)
_PAID = msgspec.structs.replace(_USED, cost=Cost(total=0.5))


@pytest.mark.parametrize("kind", [MessageEnd, lambda message: TurnEnd(1, message, ())])
def test_a_price_that_nobody_knows_is_null_and_not_nothing(kind: Callable[[AssistantMessage], Event]) -> None:
    assert _costs(kind(_reply("who", _USED))) == [None]
    assert [cost["total"] for cost in _costs(kind(_reply("who", _PAID)))] == [0.5]
    assert [cost["total"] for cost in _costs(kind(_reply("free/one", _USED)))] == [0.0]
    assert [cost["total"] for cost in _costs(kind(_reply("who", Usage())))] == [0.0]  # nothing was used


def test_at_the_end_each_reply_has_its_own_cost_or_none() -> None:
    replies = (_reply("who", _USED), _reply("who", _PAID), _reply("free/one", _USED))

    unknown, paid, free = _costs(AgentEnd("done", (user_message("go"), *replies)))

    assert (unknown, paid["total"], free["total"]) == (None, 0.5, 0.0)


def test_a_summary_of_an_unknown_price_has_none() -> None:
    assert _costs(CompactionEnd("manual", "They spoke.", usage=_USED, model="lab/who")) == [None]
    assert [cost["total"] for cost in _costs(CompactionEnd("manual", "", usage=_USED, model="lab/free/one"))] == [0.0]


class Terminal(io.BytesIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters_and_the_same_values() -> None:
    pipe, terminal = io.BytesIO(), Terminal()
    event = MessageUpdate(TextDelta(0, "\x1b]0;owned\x07 \x9b31m \x7f ä ok"))

    for out in (pipe, terminal):
        JsonOutput(out, io.StringIO()).event(event)

    assert lines(terminal) == lines(pipe)
    assert not set(terminal.getvalue().decode().strip()) & {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))}


def test_what_is_told_on_stderr_has_no_control_characters(tmp_path: Path) -> None:
    err = io.StringIO()
    output = JsonOutput(io.BytesIO(), err)

    output.failure("there is no \x1b[2J.txt")
    output.notice(HostNotice("bye \x9b2J"))
    output.no_model(NoModelError("no \x1bc", auth_file=tmp_path, models_file=tmp_path, suggestions=("m\u202e",)))

    for shown in ("\\x1b[2J", "\\x9b2J", "\\x1bc", "\\u202e"):
        assert shown in err.getvalue()
    assert "\x1b" not in err.getvalue()
