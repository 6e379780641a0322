"""Of a damaged or unusual line, whatever can be understood."""

import json
from typing import Any

import msgspec

from kaa.core.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kaa.session.entries import (
    AnyEntry,
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomNote,
    Label,
    MessageEntry,
    ModelChange,
    RequestUsage,
    SessionInfo,
    ThinkingLevelChange,
)
from kaa.session.file.decoding import decode_entry
from kaa.session.file.jsonl import encode_line
from tests.support.tables import each

_TREE = {"id": "fe8e98bd", "parentId": "01234567", "timestamp": "2026-11-20T07:49:44.384Z"}

# One line of every kind, as pi writes it.
_PI_LINES: dict[str, dict[str, Any]] = {
    "user": {
        "type": "message",
        **_TREE,
        "message": {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}],
            "timestamp": 1795160984342,
        },
    },
    "assistant": {
        "type": "message",
        **_TREE,
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hmm", "thinkingSignature": "reasoning_content"},
                {"type": "text", "text": "ok", "textSignature": "s"},
                {"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "ls"}},
            ],
            "api": "openai-completions",
            "provider": "fake",
            "model": "m",
            "usage": {
                "input": 600,
                "output": 20,
                "cacheRead": 400,
                "cacheWrite": 0,
                "totalTokens": 1020,
                "cost": {"input": 0.0006, "output": 4e-05, "cacheRead": 4e-05, "cacheWrite": 0.0, "total": 0.00068},
            },
            "stopReason": "toolUse",
            "timestamp": 1795160984389,
            "responseId": "c1",
        },
    },
    "toolResult": {
        "type": "message",
        **_TREE,
        "message": {
            "role": "toolResult",
            "toolCallId": "call_1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "…"}],
            "isError": True,
            "details": {},
            "timestamp": 1795160984481,
        },
    },
    "bashExecution": {
        "type": "message",
        **_TREE,
        "message": {
            "role": "bashExecution",
            "command": "echo hey",
            "output": "hey\n",
            "exitCode": 0,
            "cancelled": False,
            "truncated": False,
            "fullOutputPath": "/tmp/pi-bash-x.log",
            "excludeFromContext": True,
            "timestamp": 1795161044756,
        },
    },
    "model_change": {"type": "model_change", **_TREE, "provider": "fake", "modelId": "m"},
    "thinking_level_change": {"type": "thinking_level_change", **_TREE, "thinkingLevel": "high"},
    "compaction": {
        "type": "compaction",
        **_TREE,
        "summary": "did things",
        "firstKeptEntryId": "01234567",
        "tokensBefore": 12345,
        "details": {"readFiles": ["a"], "modifiedFiles": []},
        "fromHook": False,
    },
    "branch_summary": {"type": "branch_summary", **_TREE, "fromId": "root", "summary": "tried", "fromHook": False},
    "custom": {"type": "custom", **_TREE, "customType": "x", "data": {"n": 1}},
    "custom_message": {
        "type": "custom_message",
        **_TREE,
        "customType": "x",
        "content": "note",
        "display": True,
        "details": [1],
    },
    "context_edit": {
        "type": "context_edit",
        **_TREE,
        "targetId": "01234567",
        "replacement": {"content": [{"type": "text", "text": "shorter"}]},
    },
    "removal": {"type": "context_edit", **_TREE, "targetId": "01234567", "replacement": None},
    "usage": {
        "type": "usage",
        **_TREE,
        "kind": "cache_warm",
        "provider": "p",
        "model": "m",
        "usage": {
            "input": 1,
            "output": 2,
            "cacheRead": 3,
            "cacheWrite": 4,
            "totalTokens": 10,
            "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.5, "cacheWrite": 0.0, "total": 0.5},
        },
        "note": "extension override",
    },
    "system": {
        "type": "message",
        **_TREE,
        "message": {
            "role": "system",
            "content": "You are",
            "sections": {"cwd": "/p", "skills": None},
            "toolsAdded": [{"name": "read"}],
            "toolsRemoved": [{"name": "write"}],
            "timestamp": 1733234400000,
        },
    },
    "label": {"type": "label", **_TREE, "targetId": "01234567", "label": "here"},
    "session_info": {"type": "session_info", **_TREE, "name": "title"},
}


def decode(line: dict[str, Any]) -> AnyEntry | None:
    return decode_entry(json.dumps(line).encode())


def decoded_message(message: dict[str, Any]) -> Any:
    entry = decode({"type": "message", **_TREE, "message": message})
    assert isinstance(entry, MessageEntry)
    return entry.message


@each("kind", _PI_LINES)
def test_what_pi_writes_is_read_and_written_back_the_same(kind: str) -> None:
    entry = decode(_PI_LINES[kind])

    assert entry is not None
    assert json.loads(encode_line(entry)) == _PI_LINES[kind]


def test_every_kind_of_entry_has_its_struct() -> None:
    kinds = {kind: type(decode(line)) for kind, line in _PI_LINES.items()}

    assert kinds == {
        "user": MessageEntry,
        "assistant": MessageEntry,
        "toolResult": MessageEntry,
        "bashExecution": MessageEntry,
        "model_change": ModelChange,
        "thinking_level_change": ThinkingLevelChange,
        "compaction": Compaction,
        "branch_summary": BranchSummary,
        "custom": Custom,
        "custom_message": CustomMessage,
        "context_edit": ContextEdit,
        "removal": ContextEdit,
        "usage": RequestUsage,
        "system": MessageEntry,
        "label": Label,
        "session_info": SessionInfo,
    }


def test_an_unknown_content_block_does_not_cost_the_others() -> None:
    message = _PI_LINES["assistant"]["message"]
    content = [{"type": "video", "url": "x"}, *message["content"], "text", None, {"type": "text"}]

    assert decoded_message({**message, "content": content}) == decoded_message(message)


def test_unknown_fields_are_ignored() -> None:
    message = _PI_LINES["assistant"]["message"]

    newer = {**message, "durationMs": 7, "deferred": {"id": "x"}, "diagnostics": []}

    assert decoded_message(newer) == decoded_message(message)


def test_old_assistant_messages_lack_much() -> None:
    message = decoded_message({"role": "assistant", "content": "ok", "usage": {"input": 3, "cost": None}})

    assert message == AssistantMessage(
        (TextContent("ok"),), "", "", "", Usage(input=3), "stop", timestamp=1795160984384
    )


def test_a_field_of_the_wrong_type_takes_its_default() -> None:
    message = _PI_LINES["assistant"]["message"]

    odd = decoded_message({**message, "usage": 5, "stopReason": "tired", "errorMessage": {"a": 1}, "timestamp": "now"})

    assert isinstance(odd, AssistantMessage)
    assert (odd.usage, odd.stop_reason, odd.error_message) == (Usage(), "stop", None)
    assert odd.timestamp == 1795160984384
    assert odd.content == decoded_message(message).content


@each(
    "odd", [{"usage": {"input": None}}, {"usage": "much"}, {"tokensBefore": 12345.5}, {"fromHook": "yes"}, {"id": None}]
)
@each("kind", ["compaction", "branch_summary"])
def test_a_summary_counts_whatever_else_of_its_entry_is_odd(kind: str, odd: dict[str, Any]) -> None:
    entry = decode({**_PI_LINES[kind], **odd})

    assert isinstance(entry, Compaction | BranchSummary)
    assert entry.summary == _PI_LINES[kind]["summary"]
    assert entry.details == _PI_LINES[kind].get("details")


def test_a_note_of_an_extension_loses_only_the_content_that_nobody_knows() -> None:
    content = [{"type": "audio", "data": "x"}, {"type": "text", "text": "hi"}]

    entry = decode({**_PI_LINES["custom_message"], "content": content})

    assert isinstance(entry, CustomMessage)
    assert entry.content == (TextContent("hi"),)


def test_a_timestamp_with_a_fraction_is_read() -> None:
    assert decoded_message({"role": "user", "content": "hi", "timestamp": 1795160984342.0}).timestamp == 1795160984342


def test_a_plain_string_is_the_content_of_old_user_messages() -> None:
    assert decoded_message({"role": "user", "content": "hi", "timestamp": 5}) == UserMessage("hi", 5)


def test_a_tool_result_without_flag_is_no_error() -> None:
    message = decoded_message({"role": "toolResult", "toolCallId": "c", "content": [], "timestamp": 5})

    assert message == ToolResultMessage("c", "", (), is_error=False, timestamp=5)


def test_a_command_without_output_is_read() -> None:
    message = decoded_message({"role": "bashExecution", "command": "ls", "exitCode": None, "timestamp": 5})

    assert message == BashExecution(command="ls", output="", cancelled=False, truncated=False, timestamp=5)


def test_messages_of_extensions_are_read() -> None:
    content = [{"type": "image", "data": "QUJD", "mimeType": "image/png"}, {"type": "thinking", "thinking": "x"}]

    message = decoded_message({"role": "custom", "customType": "x", "content": content, "timestamp": 5})

    assert message == CustomNote((ImageContent("QUJD", "image/png"),), "x", timestamp=5)


@each(
    "message",
    [
        {"role": "robot", "content": "x"},
        {"content": "x"},
        {"role": "toolResult", "content": []},
        {"role": "user"},
        {"role": ["user"]},
        "hi",
        None,
        [],
    ],
)
def test_messages_that_mean_nothing_to_us_contribute_nothing(message: object) -> None:
    assert decode({"type": "message", **_TREE, "message": message}) is None


@each("line", [b"", b"5", b"[]", b"{", b"\xff", b'{"type":"usage"}', b'{"type":"label"}', b"[" * 9999])
def test_other_lines_contribute_nothing(line: bytes) -> None:
    assert decode_entry(line) is None


def test_unpaired_surrogates_and_broken_utf8_do_not_cost_the_line() -> None:
    surrogate = rb'{"type":"message","id":"a","message":{"role":"user","content":"x\ud83dy","timestamp":1}}'
    broken = b'{"type":"message","id":"a","message":{"role":"user","content":"x\xffy","timestamp":1}}'

    assert decode_entry(surrogate) == MessageEntry(id="a", message=UserMessage("x?y", 1))
    assert decode_entry(broken) == MessageEntry(id="a", message=UserMessage("x\N{REPLACEMENT CHARACTER}y", 1))


def test_entries_that_kaa_writes_carry_no_empty_fields() -> None:
    call = ToolCall("c", "bash", {})
    message = AssistantMessage((ThinkingContent("t"), call), "a", "p", "m", Usage(), "aborted", timestamp=1)

    written = json.loads(encode_line(MessageEntry(id="x", parent_id=None, timestamp="t", message=message)))

    assert list(written) == ["type", "id", "parentId", "timestamp", "message"]
    assert written["parentId"] is None
    assert msgspec.to_builtins(call) == written["message"]["content"][1]
    assert "errorMessage" not in written["message"]
