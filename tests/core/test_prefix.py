"""The first difference between two requests is found, and looking for it looks into nothing that both hold."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ToolResultMessage,
    Usage,
    UserMessage,
    user_message,
)
from kaa.core.prefix import compare, repeated
from kaa.core.provider import Model, Request, ToolSchema

MODEL = Model("m", "p", "api")
READ, GREP = ToolSchema("read", "Read", {}), ToolSchema("grep", "Search", {})


def request(
    messages: Sequence[Message] = (), *, system: str = "s", tools: Sequence[ToolSchema] = (READ,), model: Model = MODEL
) -> Request:
    return Request(model, system, list(messages), tools)


def spoken(count: int) -> list[Message]:
    """Messages of all roles, each of its own time."""
    kinds = (
        lambda at: UserMessage((TextContent(f"ask {at}"),), at),
        lambda at: AssistantMessage((TextContent(f"say {at}"),), "api", "p", "m", Usage(), "stop", at),
        lambda at: ToolResultMessage(f"c{at}", "read", (TextContent(f"result {at}"),), is_error=False, timestamp=at),
    )
    return [kinds[at % 3](at) for at in range(count)]


def read_again(messages: Sequence[Message]) -> list[Message]:
    """The same messages as other objects, as after a restart."""
    return [msgspec.structs.replace(message) for message in messages]


@given(st.integers(0, 12), st.integers(0, 6), st.booleans())
def test_a_conversation_that_grows_keeps_its_beginning(length: int, more: int, again: bool) -> None:
    whole = spoken(length + more)
    before, after = request(whole[:length]), request(read_again(whole) if again else whole)

    assert compare(before, after) is None
    assert repeated(before, after) == 1.0


@given(st.integers(1, 12), st.integers(0, 6), st.data())
def test_the_first_message_that_differs_is_named(length: int, more: int, data: st.DataObject) -> None:
    whole = spoken(length + more)
    place = data.draw(st.integers(0, length - 1))
    changed = [*whole[:place], user_message("something else"), *whole[place + 1 :]]

    change = compare(request(whole[:length]), request(changed))

    assert change is not None
    assert change.segment == "message"
    assert change.detail.startswith(f"message {place + 1} of {length} ")


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_repeated_part_is_a_part(length: int, kept: int) -> None:
    whole = spoken(length)

    share = repeated(request(whole), request([user_message("a summary"), *whole[kept:]]))

    assert 0 <= share <= 1
    assert (share == 1) == (length == 0 or kept == 0)


def test_messages_that_moved_behind_a_summary_have_to_be_paid_for_again() -> None:
    whole = spoken(9)

    kept = repeated(request(whole), request([user_message("a summary"), *whole[6:]]))
    nothing = repeated(request(whole), request([user_message("a summary")]))

    assert nothing < kept < 1


def test_the_model_counts_first() -> None:
    other = Model("n", "q", "api")

    change = compare(request(spoken(3)), request([], system="t", tools=(), model=other))

    assert change is not None
    assert (change.segment, change.detail) == ("model", "the model was switched from p/m to q/n")


def test_what_happened_to_tools_is_told() -> None:
    more = ToolSchema("grep", "Search much", {})
    many = [ToolSchema(f"t{number}", "", {}) for number in range(5)]

    def told(before: Sequence[ToolSchema], after: Sequence[ToolSchema]) -> str:
        change = compare(request(tools=before), request(tools=after))
        assert change is not None
        assert change.segment == "tools"
        return change.detail

    assert told([READ], [READ, GREP]) == "the tool grep was added"
    assert told([READ, GREP], [READ]) == "the tool grep was removed"
    assert told([READ, GREP], [READ, more]) == "the tool grep was changed"
    assert told([READ, GREP], [GREP, READ]) == "the order of the tools changed"
    assert told([READ], [GREP]) == "the tool grep was added; the tool read was removed"
    assert told([], many) == "the tools t0, t1, t2 and 2 more were added"


def test_the_system_prompt_and_the_thinking_level_count() -> None:
    before = request(model=Model("m", "p", "anthropic-messages"))
    harder = msgspec.structs.replace(before, thinking="high")

    system, level = compare(request(), request(system="t")), compare(before, harder)

    assert system is not None
    assert system.segment == "system_prompt"
    assert level is not None
    assert (level.segment, level.detail) == ("thinking", "the thinking level was switched from off to high")
    assert compare(request(), msgspec.structs.replace(request(), thinking="high")) is None


def test_messages_that_both_requests_hold_are_not_looked_into() -> None:
    looked: list[str] = []

    class Watched(UserMessage, tag="user", frozen=True):
        def __eq__(self, other: object) -> bool:
            looked.append(self.text)
            return super().__eq__(other)

        __hash__ = UserMessage.__hash__

    whole = [Watched((TextContent(str(number)),), number) for number in range(500)]

    assert compare(request(whole[:-1]), request(whole)) is None
    assert repeated(request(whole[:-1]), request(whole)) == 1.0
    assert looked == []
