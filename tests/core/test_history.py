from hypothesis import given
from hypothesis import strategies as st

from kaa.core.history import History, repair
from kaa.core.messages import (
    AssistantContent,
    AssistantMessage,
    Message,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)


def assistant(*content: AssistantContent, stop: StopReason = "stop") -> AssistantMessage:
    return AssistantMessage(content, "api", "provider", "model", Usage(), stop, timestamp=1)


def call(name: str) -> ToolCall:
    return ToolCall(name, "tool", {})


def result(call_id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(call_id, "tool", (TextContent(text),), is_error=False, timestamp=1)


def user(text: str) -> UserMessage:
    return UserMessage((TextContent(text),), timestamp=1)


def test_a_sound_history_is_left_alone() -> None:
    history: list[Message] = [user("a"), assistant(call("1")), result("1"), assistant(TextContent("done"))]

    assert repair(history) == history


def test_results_follow_their_calls_in_source_order() -> None:
    history: list[Message] = [user("go"), assistant(call("1"), call("2")), result("2"), user("steer"), result("1")]

    assert repair(history) == [history[0], history[1], result("1"), result("2"), user("steer")]


def test_a_call_without_result_gets_one() -> None:
    repaired = repair([user("go"), assistant(call("1"), call("2")), result("2"), user("still there?")])

    assert isinstance(repaired[2], ToolResultMessage)
    assert (repaired[2].tool_call_id, repaired[2].is_error) == ("1", True)
    assert repaired[3:] == [result("2"), user("still there?")]


def test_servers_that_number_the_calls_of_each_reply_alike_cannot_confuse_others() -> None:
    repaired = repair([assistant(call("1")), result("1", "a"), assistant(call("1"), call("2")), result("1", "b")])

    assert [message.tool_call_id for message in repaired if isinstance(message, ToolResultMessage)] == ["1", "2_1", "2"]
    assert repaired[2] == assistant(call("2_1"), call("2"))
    assert repaired[3] == result("2_1", "b")


def test_results_without_a_call_are_left_out() -> None:
    assert repair([result("0"), user("go"), result("0"), assistant(call("1")), result("1"), result("1")]) == [
        user("go"),
        assistant(call("1")),
        result("1"),
    ]


def test_failed_replies_are_left_out_and_stopped_ones_keep_their_text() -> None:
    thinking = ThinkingContent("hmm")
    history: list[Message] = [
        user("go"),
        assistant(TextContent("half"), stop="error"),
        assistant(thinking, TextContent("half a"), call("1"), stop="aborted"),
        result("1"),
        assistant(thinking, stop="aborted"),
    ]

    assert repair(history) == [user("go"), assistant(TextContent("half a"), stop="aborted")]


def test_nothing_empty_is_sent() -> None:
    history: list[Message] = [
        user(""),
        UserMessage("  "),
        UserMessage("hi", timestamp=1),
        assistant(TextContent(" \n"), call("1")),
        result("1", ""),
        assistant(TextContent("")),
        assistant(),
    ]

    repaired = repair(history)

    assert repaired == [UserMessage("hi", timestamp=1), assistant(call("1")), result("1", "(no output)")]


texts = st.sampled_from(["", " ", "text"])
ids = st.sampled_from(["1", "2", "3"])
blocks = st.one_of(texts.map(TextContent), texts.map(ThinkingContent), ids.map(lambda name: ToolCall(name, "tool", {})))
messages = st.one_of(
    texts.map(user),
    st.builds(result, ids, texts),
    st.builds(
        lambda content, stop: assistant(*content, stop=stop),
        st.lists(blocks, max_size=3, unique_by=repr),
        st.sampled_from(["stop", "toolUse", "error", "aborted"]),
    ),
)


@given(st.lists(messages, max_size=12))
def test_whatever_happened_every_call_has_exactly_one_result_behind_it(history: list[Message]) -> None:
    repaired = repair(history)

    pending: list[str] = []
    seen: set[str] = set()
    for message in repaired:
        match message:
            case AssistantMessage():
                assert not pending
                assert message.content
                pending = [block.id for block in message.tool_calls]
                assert len(pending) == len(set(pending) - seen)
                seen |= set(pending)
            case ToolResultMessage():
                assert message.tool_call_id == pending.pop(0)
                assert message.content
            case UserMessage():
                assert not pending
                assert message.content
    assert not pending
    assert repair(repaired) == repaired


@given(st.lists(messages, max_size=12))
def test_what_the_user_said_is_never_dropped(history: list[Message]) -> None:
    def said(some: list[Message]) -> list[Message]:
        return [message for message in some if message == user("text")]

    assert said(repair(history)) == said(history)


@given(st.lists(messages, max_size=8), st.lists(messages, max_size=8))
def test_a_history_that_grows_sends_the_same_as_one_repaired_whole(begun: list[Message], more: list[Message]) -> None:
    history = History(begun)

    for length, message in enumerate(more, start=len(begun) + 1):
        history.append(message)

        assert history.sendable() == repair([*begun, *more][:length])
    assert history.messages == [*begun, *more]


def test_settled_messages_stay_the_very_same_objects() -> None:
    history = History([user("go"), assistant(TextContent(""), call("1"))])
    history.append(assistant(TextContent("done")))
    first = history.sendable()

    history.append(user("more"))
    second = history.sendable()

    assert all(ours is theirs for ours, theirs in zip(first[:-1], second, strict=False))
