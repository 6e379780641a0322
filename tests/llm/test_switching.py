"""Conversations that go on with another model: what each wire format makes of what the others' models said."""

import base64
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.history import History, repair
from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.core.provider import Request, ToolSchema
from tests.support.model_wire import Wire
from tests.support.tables import each
from tests.support.vendor_judge import objections
from tests.support.wire_formats import FORMATS, WireFormat

_WIRES = get_args(Wire)
_PAIRS = list(permutations(_WIRES, 2))
_IMAGE = ImageContent("aGk=", "image/png")
_TOOLS = (ToolSchema("read", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}}),)

# As the vendors write their ids: OpenAI's Responses joins two, Kimi's models count, some servers write novels.
_IDS: dict[Wire, str] = {
    "openai-completions": "functions.read:{}",
    "anthropic-messages": "toolu_01{}",
    "openai-responses": "call_{}|fc_0a1b2c" + "d" * 60,
    "google-generative-ai": "a1b2c3d4-{}",
}


def _seal(wire: Wire) -> str:
    """What only models of this format can open."""
    return base64.b64encode(f"by {wire}".encode()).decode()


def _signature(wire: Wire, name: object = 0) -> str:
    """The same as a session keeps it."""
    match wire:
        case "openai-completions":
            return "reasoning_content"
        case "openai-responses":
            item = {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": _seal(wire)}
            return msgspec.json.encode(item).decode()
        case _:
            return _seal(wire)


def _signatures(wire: Wire) -> set[str]:
    """All that a model of this format may get back."""
    return {_seal(wire), "reasoning_content"} if wire == "openai-completions" else {_seal(wire)}


def _reply(wire: Wire, *content: AssistantContent, stop: StopReason = "stop", at: int = 0) -> AssistantMessage:
    model = FORMATS[wire].model
    return AssistantMessage(content, model.api, model.provider, model.id, Usage(), stop, timestamp=at)


def _call(wire: Wire, number: int) -> ToolCall:
    signature = _seal(wire) if wire == "google-generative-ai" else None
    return ToolCall(_IDS[wire].format(number), "read", {"path": f"{number}.txt"}, thought_signature=signature)


def _worked(wire: Wire, number: int) -> list[Message]:
    """A turn in which a model thought, called two tools at once, saw an image, was stopped and asked again."""
    first, second = _call(wire, number), _call(wire, number + 1)
    return [
        UserMessage((TextContent(f"question {number}"), _IMAGE), timestamp=number),
        _reply(
            wire,
            ThinkingContent(f"thought {number}", _signature(wire, number)),
            TextContent(f"words {number}", f"msg_{number}" if wire == "openai-responses" else None),
            first,
            second,
            stop="toolUse",
            at=number,
        ),
        ToolResultMessage(first.id, "read", (TextContent("found"), _IMAGE), is_error=False, timestamp=number),
        ToolResultMessage(second.id, "read", (TextContent("no such file"),), is_error=True, timestamp=number),
        _reply(
            wire,
            ThinkingContent("half a th"),
            TextContent("half a w"),
            _call(wire, number + 2),
            stop="aborted",
            at=number,
        ),
        UserMessage(f"go on {number}", timestamp=number),
        _reply(wire, TextContent(f"done {number}"), at=number),
    ]


def _request(asked: WireFormat, messages: Sequence[Message]) -> Request:
    return Request(asked.model, "Be brief.", repair(messages), _TOOLS, "high", "session-1")


def _objections(wire: Wire, messages: Sequence[Message]) -> list[str]:
    asked = FORMATS[wire]
    return objections(wire, asked.body(_request(asked, messages)), _signatures(wire))


@pytest.mark.parametrize(("one", "other"), _PAIRS)
def test_a_model_takes_over_from_another_and_gives_back(one: Wire, other: Wire) -> None:
    begun = _worked(one, 1)
    gone_on = [*begun, *_worked(other, 11)]
    back = [*gone_on, *_worked(one, 21), UserMessage("last", timestamp=99)]

    assert _objections(one, begun[:1]) == []
    assert _objections(other, [*begun, UserMessage("and now you", timestamp=9)]) == []
    assert _objections(other, [*begun, *_worked(other, 11)[:-1]]) == []
    assert _objections(one, back) == []


@each(("one", "other"), _PAIRS)
def test_a_model_takes_over_between_a_call_and_its_result(one: Wire, other: Wire) -> None:
    question, reply, first, second, *_ = _worked(one, 1)

    assert _objections(other, [question, reply, first, second]) == []
    assert _objections(other, [question, reply, second]) == []  # of the first call nobody knows what became


@each(("one", "other"), _PAIRS)
def test_what_a_model_thought_is_text_to_another_and_sealed_thought_to_itself(one: Wire, other: Wire) -> None:
    sealed = _reply(one, ThinkingContent("", _signature(one), redacted=True), TextContent("words"))
    history = [*_worked(one, 1)[:4], UserMessage("q", timestamp=2), sealed, UserMessage("and you?", timestamp=3)]

    own, foreign = (str(FORMATS[wire].body(_request(FORMATS[wire], history))) for wire in (one, other))

    assert _seal(one) not in foreign
    assert "thought 1" in foreign
    assert "'thinking': 'thought 1'" not in foreign
    assert "'reasoning_content'" not in foreign
    assert one == "openai-completions" or _seal(one) in own


@pytest.mark.parametrize("wire", _WIRES)
def test_models_that_see_nothing_are_told_so_wherever_an_image_was(wire: Wire) -> None:
    seeing = FORMATS[wire]
    blind = seeing._replace(model=msgspec.structs.replace(seeing.model, input=("text",)))
    history = [*_worked("anthropic-messages", 1), UserMessage("q", timestamp=2)]

    body = blind.body(_request(blind, history))

    assert objections(wire, body, _signatures(wire)) == []
    assert str(body).count("(image omitted: no images can be sent to this model)") == 2
    assert "aGk=" not in str(body)


@each(("one", "other"), _PAIRS)
def test_what_was_sent_stays_as_it_was_across_switches(one: Wire, other: Wire) -> None:
    """What a model was sent before a switch is, for its cache, the beginning of what it is sent after coming back."""
    asked = FORMATS[one]
    history = History()
    sent: list[list[bytes]] = []
    for wire, number in ((one, 1), (other, 11), (one, 21), (other, 31), (one, 41)):
        for message in _worked(wire, number):
            if isinstance(message, AssistantMessage) and wire == one:
                request = Request(asked.model, "Be brief.", history.sendable(), _TOOLS, "high", "session-1")
                sent.append(asked.pieces(asked.body(request)))
            history.append(message)

    assert len(sent) == 9
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    # Nothing is kept in memory that would make a resumed session another one.
    whole = asked.pieces(asked.body(_request(asked, history.messages)))
    assert whole[: len(sent[-1])] == sent[-1]


# ---- whatever happened ---------------------------------------------------------------------------------

_TEXT = st.text(max_size=12) | st.sampled_from(["", " ", "a\ud800b", "é"])
_ANY_ID = st.sampled_from(["0", "call_1", "functions.read:0", "x" * 90, "call_a|fc_1", "call_b|fc_2", "ä.b", ""])


_STOPS: tuple[StopReason, ...] = ("stop", "stop", "aborted", "error")


def _in_time(messages: Iterable[Message]) -> list[Message]:
    """The messages, one after the other."""
    return [msgspec.structs.replace(message, timestamp=at) for at, message in enumerate(messages)]


@st.composite
def _turns(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = [
        UserMessage(tuple(draw(st.lists(st.builds(TextContent, _TEXT) | st.just(_IMAGE), max_size=2))), timestamp=0)
    ]
    for _ in range(draw(st.integers(0, 3))):
        wire: Wire = draw(st.sampled_from(_WIRES))
        ids = draw(st.lists(_ANY_ID, max_size=2, unique=True))
        seal = _seal(wire) if wire == "google-generative-ai" else None
        calls = [ToolCall(call_id, "read", {"path": draw(_TEXT)}, thought_signature=seal) for call_id in ids]
        signatures = st.none() | st.builds(_signature, st.just(wire), st.uuids().map(str))
        thoughts = st.builds(ThinkingContent, _TEXT, signatures, redacted=st.booleans())
        spoken = draw(st.lists(thoughts | st.builds(TextContent, _TEXT), max_size=3))
        stop: StopReason = draw(st.sampled_from(_STOPS))
        messages.append(_reply(wire, *spoken, *calls, stop=stop))
        for call in draw(st.permutations(calls)):
            content = tuple(draw(st.lists(st.builds(TextContent, _TEXT) | st.just(_IMAGE), max_size=2)))
            if draw(st.booleans()):
                messages.append(ToolResultMessage(call.id, "read", content, draw(st.booleans()), timestamp=0))
    return messages


@given(st.lists(_turns(), min_size=1, max_size=4), st.sampled_from(_WIRES))
def test_no_history_is_refused(turns: list[list[Message]], wire: Wire) -> None:
    history = [UserMessage("begin"), *(message for turn in turns for message in turn), UserMessage("end")]

    assert _objections(wire, _in_time(history)) == []


@given(st.lists(_turns(), min_size=1, max_size=3), _turns(), st.sampled_from(_WIRES))
def test_what_was_sent_begins_what_is_sent_next(turns: list[list[Message]], more: list[Message], wire: Wire) -> None:
    asked = FORMATS[wire]
    begun = [UserMessage("begin"), *(message for turn in turns for message in turn), UserMessage("now")]
    history = History(_in_time(begun))
    before = asked.pieces(asked.body(_request(asked, history.sendable())))
    for message in (_reply(wire, TextContent("yes")), *more):
        history.append(message)

    after = asked.pieces(asked.body(_request(asked, history.sendable())))

    assert after[: len(before)] == before


@pytest.mark.parametrize("wire", _WIRES)
def test_the_judge_sees_what_is_wrong(wire: Wire) -> None:
    asked = FORMATS[wire]
    history = _worked(wire, 1)[:4]

    def judged(*messages: Message, signatures: set[str] | None = None) -> list[str]:
        body = asked.body(Request(asked.model, "", messages, _TOOLS, "high"))
        return objections(wire, body, _signatures(wire) if signatures is None else signatures)

    assert judged(*history) == []
    assert judged(*history[:3])
    assert judged(*history, history[2])
    assert judged(*history, *history[1:]) or wire == "google-generative-ai"  # which goes by name and order
    assert judged(*history, signatures=set())
