import io
import json
from pathlib import Path

from kaa.core.events import AgentEnd, MessageUpdate, TextDelta
from kaa.frontends.json_output import JsonOutput
from kaa.llm.registry import NoModelError


def lines(out: io.BytesIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_event_is_one_line_with_its_delta_only() -> None:
    out = io.BytesIO()
    output = JsonOutput(out, io.StringIO())

    output.header({"type": "session", "version": 3})
    output.event(MessageUpdate(TextDelta(0, "two\nlines")))

    assert lines(out) == [
        {"type": "session", "version": 3},
        {
            "type": "message_update",
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "two\nlines"},
        },
    ]


def test_a_bad_end_is_in_the_last_event_and_on_stderr() -> None:
    out, err = io.BytesIO(), io.StringIO()
    output = JsonOutput(out, err)

    output.event(AgentEnd("error", (), "the key is wrong"))

    assert lines(out)[-1] == {"type": "agent_end", "reason": "error", "messages": [], "error": "the key is wrong"}
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
