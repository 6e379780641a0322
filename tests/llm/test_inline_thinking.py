"""Reasoning that servers leave in the text."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.errors import NetworkError
from kaa.core.messages import AssistantMessage, TextContent, ThinkingContent
from kaa.core.provider import BlockEnd, Model, Provider, Request, StreamDone, TextChunk
from kaa.core.reply import ReplyBuilder
from kaa.llm.inline_thinking import InlineThinking
from kaa.llm.scripted import ScriptedProvider, ScriptedReply, ScriptedStep
from kaa.llm.scripted import reply as scripted

_MODEL = Model("m", "p", "scripted")


def _read(*steps: ScriptedStep) -> AssistantMessage:
    provider: Provider = InlineThinking(ScriptedProvider([ScriptedReply(steps)]))
    builder = ReplyBuilder(_MODEL)

    async def main() -> None:
        async for event in provider.stream(Request(_MODEL, "", ())):
            builder.fold(event)

    try:
        asyncio.run(main())
    except NetworkError:
        return builder.message("error")
    return builder.message(builder.stop_reason or "error")


def _parts(*deltas: str) -> list[tuple[str, str]]:
    """What a reply of these deltas consists of."""
    message = _read(*(TextChunk(1, delta) for delta in deltas), BlockEnd(1), StreamDone("stop"))
    return [
        ("text", part.text) if isinstance(part, TextContent) else ("thinking", part.thinking)
        for part in message.content
        if isinstance(part, TextContent | ThinkingContent)
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", [("thinking", "Hm.\n"), ("text", "Yes.")]),
        (" \n<think>Hm.</think>Yes.", [("thinking", "Hm."), ("text", "Yes.")]),
        ("<think>\n\n</think>\n\nYes.", [("text", "Yes.")]),
        (
            "<think>a < b </thin</think>Yes </think> and <think>.",
            [("thinking", "a < b </thin"), ("text", "Yes </think> and <think>.")],
        ),
        ("<think>without an end", [("thinking", "without an end")]),
        ("Yes.", [("text", "Yes.")]),
        (" \n Yes.", [("text", " \n Yes.")]),
        ("<thin ice", [("text", "<thin ice")]),
        ("<thi", [("text", "<thi")]),
        ("The mark <think> begins.</think>", [("text", "The mark <think> begins.</think>")]),
    ],
)
@given(data=st.data())
def test_it_is_found_however_the_text_is_cut(text: str, parts: list[tuple[str, str]], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert _parts(*pieces) == parts


def test_what_came_of_a_reply_that_breaks_off_is_kept() -> None:
    message = _read(TextChunk(1, "<think>Hm, </th"), NetworkError("gone"))

    assert message.content == (ThinkingContent("Hm, </th"),)


def test_a_call_may_follow_at_once() -> None:
    steps = scripted("<think>I look.</think>", tool_calls=[("ls", {})]).steps

    message = _read(*steps)

    assert [type(part).__name__ for part in message.content] == ["ThinkingContent", "ToolCall"]
