"""What counts as a divergence, how severe it is, and how it is shown."""

import copy
from collections.abc import Callable

import pytest

from kaa.core.messages import Json
from kaa.llm.cassette._comparison import Divergence, compare
from kaa.llm.cassette._format import RecordedRequest

_OPENAI: Json = {
    "model": "m",
    "max_completion_tokens": 100,
    "messages": [
        {"role": "system", "content": "You are kaa."},
        {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
        {
            "role": "assistant",
            "content": "reading",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1 passed in 0.12s"},
    ],
    "tools": [{"type": "function", "function": {"name": "read", "description": "Read", "parameters": {"a": 1}}}],
}
_ANTHROPIC: Json = {
    "model": "m",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "You are kaa.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "reading"},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "1 passed in 0.12s"}],
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
    ],
    "tools": [{"name": "read", "input_schema": {"a": 1}}],
}
_GEMINI: Json = {
    "systemInstruction": {"parts": [{"text": "You are kaa."}]},
    "tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": {"a": 1}}]}],
    "generationConfig": {"maxOutputTokens": 100},
    "contents": [
        {"role": "user", "parts": [{"text": "fix it"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read", "args": {"path": "a.py"}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "1 passed in 0.12s"}}}],
        },
    ],
}
_URLS = {
    "openai": "http://h/v1/chat/completions",
    "anthropic": "http://h/v1/messages",
    "gemini": "http://h/v1beta/models/m:streamGenerateContent",
    "unknown": "http://h/v1/other",
}
_BODIES = {"openai": _OPENAI, "anthropic": _ANTHROPIC, "gemini": _GEMINI, "unknown": _OPENAI}


def _compared(wire: str, change: Callable[[Json], object]) -> list[Divergence]:
    changed = copy.deepcopy(_BODIES[wire])
    change(changed)
    recorded = RecordedRequest("POST", _URLS[wire], {}, _BODIES[wire])
    return list(compare(3, recorded, RecordedRequest("POST", _URLS[wire], {}, changed)))


def _set(*path: str | int, to: Json) -> Callable[[Json], object]:
    def change(body: Json) -> None:
        for step in path[:-1]:
            body = body[step]
        if isinstance(body, list) and path[-1] == len(body):
            body.append(to)
        else:
            body[path[-1]] = to

    return change


@pytest.mark.parametrize("wire", _URLS)
def test_the_same_request_does_not_diverge(wire: str) -> None:
    assert _compared(wire, lambda body: None) == []


@pytest.mark.parametrize(
    ("wire", "change", "path"),
    [
        ("openai", _set("model", to="n"), "model"),
        ("openai", _set("messages", 1, "content", 0, "text", to="break it"), "messages[1].content[0].text"),
        ("openai", _set("messages", 1, "role", to="system"), "messages[1].role"),
        ("openai", _set("messages", 2, "content", to="writing"), "messages[2].content"),
        (
            "openai",
            _set("messages", 2, "tool_calls", 0, "function", "arguments", to='{"path": "b.py"}'),
            "messages[2].tool_calls[0].function.arguments",
        ),
        ("openai", _set("messages", 2, "tool_calls", 0, "id", to="c2"), "messages[2].tool_calls[0].id"),
        ("openai", _set("messages", 3, "tool_call_id", to="c2"), "messages[3].tool_call_id"),
        ("openai", _set("messages", 4, to={"role": "user", "content": "more"}), "messages[4]"),
        ("openai", lambda body: body["messages"].pop(), "messages[3]"),
        ("anthropic", _set("model", to="n"), "model"),
        ("anthropic", _set("messages", 0, "content", 0, "text", to="break it"), "messages[0].content[0].text"),
        ("anthropic", _set("messages", 1, "content", 0, "text", to="writing"), "messages[1].content[0].text"),
        ("anthropic", _set("messages", 1, "content", 1, "input", "path", to="b"), "messages[1].content[1].input.path"),
        ("anthropic", _set("messages", 1, "content", 1, "name", to="write"), "messages[1].content[1].name"),
        ("anthropic", _set("messages", 2, "content", 0, "tool_use_id", to="t2"), "messages[2].content[0].tool_use_id"),
        ("anthropic", _set("messages", 2, "content", 1, to={"type": "text", "text": "x"}), "messages[2].content[1]"),
        ("gemini", _set("contents", 0, "parts", 0, "text", to="break it"), "contents[0].parts[0].text"),
        (
            "gemini",
            _set("contents", 1, "parts", 0, "functionCall", "args", "path", to="b.py"),
            "contents[1].parts[0].functionCall.args.path",
        ),
        (
            "gemini",
            _set("contents", 2, "parts", 0, "functionResponse", "id", to="c2"),
            "contents[2].parts[0].functionResponse.id",
        ),
        ("unknown", _set("max_completion_tokens", to=200), "max_completion_tokens"),
        ("unknown", _set("messages", 3, "content", to="2 passed"), "messages[3].content"),
    ],
)
def test_what_decides_the_answer_is_hard(wire: str, change: Callable[[Json], object], path: str) -> None:
    assert [(d.severity, d.path, d.exchange) for d in _compared(wire, change)] == [("hard", path, 3)]


@pytest.mark.parametrize(
    ("wire", "change", "place"),
    [
        ("openai", _set("messages", 0, "content", to="You are boa."), "messages[0].content"),
        ("openai", _set("messages", 3, "content", to="2 passed in 0.12s"), "messages[3].content"),
        ("openai", _set("messages", 1, "content", 0, "cache_control", to={}), "messages[1].content[0].cache_control"),
        ("openai", _set("tools", 0, "function", "description", to="Reads"), "tools"),
        ("openai", _set("max_completion_tokens", to=200), "max_completion_tokens"),
        ("openai", _set("temperature", to=0), "temperature"),
        ("anthropic", _set("system", 0, "text", to="You are boa."), "system"),
        ("anthropic", _set("max_tokens", to=200), "max_tokens"),
        ("anthropic", _set("tools", 1, to={"name": "more"}), "tools"),
        (
            "anthropic",
            _set("messages", 2, "content", 0, "content", 0, "text", to="2 passed in 0.12s"),
            "messages[2].content[0].content",
        ),
        ("anthropic", _set("messages", 2, "content", 0, "is_error", to=True), "messages[2].content[0].is_error"),
        (
            "anthropic",
            lambda body: body["messages"][2]["content"][0].pop("cache_control"),
            "messages[2].content[0].cache_control",
        ),
        ("gemini", _set("systemInstruction", "parts", 0, "text", to="You are boa."), "systemInstruction"),
        ("gemini", _set("generationConfig", "maxOutputTokens", to=200), "generationConfig"),
        (
            "gemini",
            _set("contents", 2, "parts", 0, "functionResponse", "response", "output", to="2 failed"),
            "contents[2].parts[0].functionResponse.response",
        ),
    ],
)
def test_what_may_differ_is_soft(wire: str, change: Callable[[Json], object], place: str) -> None:
    assert [(d.severity, d.place) for d in _compared(wire, change)] == [("soft", place)]


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        ("1 passed in 0.12s", "1 passed in 12.3 seconds"),
        ("===== 1 passed in 0.12s =====", "==== 1 passed in 10.12s ===="),
        ("<A object at 0x7f3a01>", "<A object at 0x7f99ffcc01>"),
        ("2026-11-20T10:00:00.123Z start", "2027-01-01 09:59 start"),
        ("-rw-r--r-- 1 me me 12 Nov 20 10:00 a", "-rw-r--r-- 1 me me 12 Jan  3  2027 a"),
        ("server pid 812 at 10:00:01", "server pid 99 at 23:11:59"),
        ("wrote /tmp/pytest-of-me/x", "wrote /tmp/tmpa8f_x/x"),
    ],
)
def test_volatile_numbers_in_tool_output_do_not_count(recorded: str, now: str) -> None:
    def body(text: str) -> Json:
        return {"messages": [{"role": "tool", "tool_call_id": "c", "content": text}]}

    url = _URLS["openai"]
    differences = compare(
        1, RecordedRequest("POST", url, {}, body(recorded)), RecordedRequest("POST", url, {}, body(now))
    )

    assert list(differences) == []


def test_arguments_are_compared_as_json() -> None:
    change = _set("messages", 2, "tool_calls", 0, "function", "arguments", to='{ "path":"a.py" }')

    assert _compared("openai", change) == []


def test_another_host_does_not_matter_but_another_endpoint_does() -> None:
    recorded = RecordedRequest("POST", "https://api.openai.com/v1/chat/completions", {}, _OPENAI)
    elsewhere = RecordedRequest("POST", "http://localhost:1/v1/chat/completions", {}, _OPENAI)
    other = RecordedRequest("POST", "http://localhost:1/v1/responses", {}, _OPENAI)

    assert list(compare(1, recorded, elsewhere)) == []
    assert [(d.path, d.severity) for d in compare(1, recorded, other)] == [("url", "hard")]


def test_true_is_not_one() -> None:
    assert [d.path for d in _compared("openai", _set("stream", to=True))] == ["stream"]
    assert [d.path for d in _compared("openai", _set("tools", 0, "function", "parameters", "a", to=True))]


def test_excerpts_show_both_sides_around_the_difference() -> None:
    long = "x" * 200
    [divergence] = _compared("openai", _set("messages", 1, "content", 0, "text", to=f"fix it{long}"))

    assert str(divergence) == (
        f'request 3, messages[1].content[0].text:\n  recorded: "fix it"\n  now:      "fix it{"x" * 93}…'
    )


def test_another_method_is_hard() -> None:
    recorded = RecordedRequest("GET", "http://h/v1/models")

    assert [(d.path, d.severity) for d in compare(1, recorded, RecordedRequest("POST", "http://h/v1/models"))] == [
        ("method", "hard")
    ]


def test_arguments_that_are_not_json_are_compared_as_text() -> None:
    change = _set("messages", 2, "tool_calls", 0, "function", "arguments", to='{"path": "a.p')

    assert [d.severity for d in _compared("openai", change)] == ["hard"]
