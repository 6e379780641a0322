"""Which differences between a request and the recorded one end a replay, and how they are shown."""

import copy
from collections.abc import Callable

import pytest

from kaa.core.messages import Json
from kaa.llm.cassette._format import RecordedRequest
from kaa.llm.cassette._replay import difference
from tests.support.tables import each

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
}
_BODIES = {"openai": _OPENAI, "anthropic": _ANTHROPIC, "gemini": _GEMINI}


def _difference(wire: str, change: Callable[[Json], object]) -> str | None:
    changed = copy.deepcopy(_BODIES[wire])
    change(changed)
    recorded = RecordedRequest("POST", _URLS[wire], {}, _BODIES[wire])
    return difference(recorded, RecordedRequest("POST", _URLS[wire], {}, changed))


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
def test_the_same_request_does_not_differ(wire: str) -> None:
    assert _difference(wire, lambda body: None) is None


@each(
    ("wire", "change", "place"),
    [
        ("openai", _set("model", to="n"), "model"),
        ("openai", _set("messages", 1, "content", 0, "text", to="break it"), "messages[1].content[0].text"),
        ("openai", _set("messages", 4, to={"role": "user", "content": "more"}), "messages[4].content"),
        ("openai", lambda body: body["messages"].pop(1), "messages[1].content[0].text"),
        ("anthropic", _set("messages", 0, "content", 0, "text", to="break it"), "messages[0].content[0].text"),
        (
            "anthropic",
            _set("messages", 2, "content", 1, to={"type": "text", "text": "x"}),
            "messages[2].content[1].text",
        ),
        ("gemini", _set("contents", 0, "parts", 0, "text", to="break it"), "contents[0].parts[0].text"),
    ],
)
def test_another_question_is_a_difference(wire: str, change: Callable[[Json], object], place: str) -> None:
    found = _difference(wire, change)

    assert found is not None
    assert found.startswith(f"{place}:\n")


@each(
    ("wire", "change"),
    [
        ("openai", _set("messages", 0, "content", to="You are boa.")),
        ("openai", _set("messages", 3, "content", to="2 passed in 0.12s")),
        ("openai", _set("messages", 1, "content", 0, "cache_control", to={})),
        ("openai", _set("tools", 0, "function", "description", to="Reads")),
        ("openai", _set("max_completion_tokens", to=200)),
        ("anthropic", _set("system", 0, "text", to="You are boa.")),
        ("anthropic", _set("messages", 2, "content", 0, "content", 0, "text", to="2 passed")),
        ("gemini", _set("contents", 2, "parts", 0, "functionResponse", "response", "output", to="2 passed")),
    ],
)
def test_prompts_tools_and_tool_outputs_may_differ(wire: str, change: Callable[[Json], object]) -> None:
    assert _difference(wire, change) is None


def test_another_host_does_not_matter_but_another_endpoint_does() -> None:
    recorded = RecordedRequest("POST", "http://one/v1/messages", {}, _ANTHROPIC)

    assert difference(recorded, RecordedRequest("POST", "http://two/v1/messages", {}, _ANTHROPIC)) is None
    assert (difference(recorded, RecordedRequest("POST", "http://one/v1/chat", {}, _ANTHROPIC)) or "").startswith(
        "url:"
    )
    assert (difference(recorded, RecordedRequest("GET", recorded.url, {}, _ANTHROPIC)) or "").startswith("method:")


def test_bodies_that_are_not_json_are_compared_as_text() -> None:
    assert difference(RecordedRequest("POST", "/", {}, "a"), RecordedRequest("POST", "/", {}, "b")) == (
        'body:\n  recorded: "a"\n  now:      "b"'
    )


def test_excerpts_show_both_sides_around_the_difference() -> None:
    long = "x" * 200
    change = _set("messages", 1, "content", 0, "text", to=f"fix it{long}")

    found = _difference("openai", change)

    assert found is not None
    _, recorded, now = found.splitlines()
    assert recorded == '  recorded: "fix it"'
    assert now.endswith("…")
