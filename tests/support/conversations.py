"""Whole conversations for property tests: what people, tools and models of any vendor say, and what is hard in it."""

import json

from hypothesis import strategies as st

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Model, Request, ToolSchema
from kaa.llm.completions.request import REASONING_FIELDS

_TEXT = st.text(max_size=20) | st.sampled_from(["", " ", "\n", "a\ud800b", "\ud83d\ude00", "é"])
_IMAGES = st.just(ImageContent("aGk=", "image/png"))
_ARGUMENTS = st.dictionaries(_TEXT, _TEXT | st.integers(-5, 5) | st.lists(_TEXT, max_size=2) | st.none(), max_size=3)
_CALL_IDS = st.text(alphabet="abc|:_-.é", min_size=1, max_size=90)
_MODELS = st.builds(
    Model,
    id=st.sampled_from(["model-1", "claude-opus-4-5", "claude-sonnet-4-6", "claude-opus-4-20250514"]),
    provider=st.just("vendor"),
    api=st.just("wire"),
    reasoning=st.booleans(),
    input=st.sampled_from([("text",), ("text", "image")]),
    max_tokens=st.sampled_from([1500, 4096, 64_000]),
)
_REASONING_ITEMS = st.fixed_dictionaries(
    {"type": st.just("reasoning"), "id": st.uuids().map(lambda name: f"rs_{name.hex}")},
    optional={
        "summary": st.lists(st.builds(lambda text: {"type": "summary_text", "text": text}, _TEXT), max_size=2),
        "content": st.lists(st.builds(lambda text: {"type": "reasoning_text", "text": text}, _TEXT), max_size=2),
        "encrypted_content": st.none() | st.sampled_from(["", "c2VhbGVk"]),
        "status": st.none(),
    },
)
_THINKING_BLOCKS = st.builds(
    ThinkingContent,
    thinking=_TEXT,
    thinking_signature=st.none() | st.sampled_from(["c2ln", *REASONING_FIELDS]) | _REASONING_ITEMS.map(json.dumps),
    redacted=st.booleans(),
)
_SAID = st.builds(
    TextContent, _TEXT, st.none() | st.uuids().map(lambda name: f'{{"v":1,"id":"msg_{name.hex}"}}') | st.just("{")
)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """What one user message leads to."""
    said = st.lists(st.builds(TextContent, _TEXT) | _IMAGES, min_size=1, max_size=3).map(tuple)
    messages: list[Message] = [UserMessage(draw(said | _TEXT), timestamp=0)]
    for _ in range(draw(st.integers(0, 2))):
        ids = draw(st.lists(_CALL_IDS, max_size=2, unique=True))
        calls = [ToolCall(call_id, "bash", draw(_ARGUMENTS)) for call_id in ids]
        spoken = draw(st.lists(_THINKING_BLOCKS | _SAID, max_size=3))
        model = draw(_MODELS)
        messages.append(
            AssistantMessage((*spoken, *calls), model.api, model.provider, model.id, Usage(), "stop", timestamp=0)
        )
        for call in calls:
            content = tuple(draw(st.lists(st.builds(TextContent, _TEXT) | _IMAGES, max_size=3)))
            is_error = draw(st.booleans())
            messages.append(ToolResultMessage(call.id, "bash", content, is_error, timestamp=0))
    return messages


_HISTORIES = st.lists(turns(), min_size=1, max_size=3).map(lambda turns: [m for turn in turns for m in turn])
_TOOLS = st.lists(
    st.builds(
        ToolSchema,
        name=st.sampled_from(["read", "bash"]),
        description=_TEXT,
        parameters=st.just({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}),
    ),
    max_size=2,
)
REQUESTS = st.builds(
    Request,
    model=_MODELS,
    system=_TEXT,
    messages=_HISTORIES,
    tools=_TOOLS,
    thinking=st.sampled_from(["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
    session_id=st.sampled_from(["", "session-1"]),
)
