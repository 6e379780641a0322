"""What takes the most of the window is named by what it is about."""

from kaa.core.largest import ContextItem, largest
from kaa.core.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)


def called(call: ToolCall, text: str = "") -> AssistantMessage:
    return AssistantMessage((TextContent(text), call), "api", "p", "m", Usage(), "toolUse")


def result(call_id: str, name: str, size: int) -> ToolResultMessage:
    return ToolResultMessage(call_id, name, (TextContent("x" * size),), is_error=False)


def test_results_are_named_after_their_calls() -> None:
    messages: list[Message] = [
        called(ToolCall("1", "read", {"path": "src/a.py", "limit": 5})),
        result("1", "read", 4_000),
        called(ToolCall("2", "bash", {"command": "make\n  test"})),
        result("2", "bash", 8_000),
        result("3", "grep", 400),
    ]

    items = largest(messages, 3)

    assert items == (
        ContextItem("bash make test", 2_000),
        ContextItem("read src/a.py", 1_000),
        ContextItem("grep", 100),
    )


def test_what_a_call_writes_counts_for_the_call_and_not_for_the_reply() -> None:
    call = ToolCall("1", "write", {"path": "a.py", "content": "y" * 4_000})

    first, second = largest([called(call, "Here it is.")], 2)

    assert first.label == "call of write a.py"
    assert first.tokens > 1_000
    assert second.label == 'reply "Here it is."'
    assert second.tokens < 10


def test_long_texts_are_shortened_to_one_line() -> None:
    (item,) = largest([UserMessage("word\n" * 100_000)])

    assert item.label.startswith('your message "word word')
    assert len(item.label) < 90
    assert "\n" not in item.label


def test_what_is_not_sent_is_not_listed() -> None:
    broken = AssistantMessage((TextContent("x" * 400),), "api", "p", "m", Usage(), "error")

    assert largest([broken]) == ()
