"""What the model is told of a resumed session."""

from pathlib import Path
from typing import Any

import pytest

from kaa.core.messages import AssistantMessage, ToolResultMessage, UserMessage
from kaa.session.context import ModelRef, SessionContext, build_context
from kaa.session.store import MemoryStore
from tests.support.sessions import JsonObject, entry, opened, texts, user_entry, write_session


def context_of(tmp_path: Path, *entries: JsonObject) -> SessionContext:
    with opened(write_session(tmp_path / "s.jsonl", *entries)) as store:
        return build_context(store)


def said(tmp_path: Path, *entries: JsonObject) -> list[str]:
    with opened(write_session(tmp_path / "s.jsonl", *entries)) as store:
        return texts(store)


def assistant_entry(entry_id: str, parent: str | None, text: str, **fields: Any) -> JsonObject:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "a",
        "provider": "p",
        "model": "m1",
        "usage": {},
        "stopReason": "stop",
        "timestamp": 1,
        **fields,
    }
    return entry("message", entry_id, parent, message=message)


def command_entry(**fields: Any) -> JsonObject:
    message = {"role": "bashExecution", "command": "make", "output": "", "timestamp": 7, **fields}
    return entry("message", "c", None, message=message)


def test_an_empty_session_has_an_empty_context() -> None:
    assert build_context(MemoryStore("/p")) == SessionContext((), None, "off")


def test_the_path_to_the_leaf_is_told_and_other_branches_are_not(tmp_path: Path) -> None:
    entries = [
        user_entry("a", None, "one"),
        assistant_entry("b", "a", "two"),
        user_entry("x", "b", "elsewhere"),
        user_entry("c", "b", "three"),
    ]

    assert said(tmp_path, *entries) == ["one", "two", "three"]


def test_messages_keep_their_kind_and_time(tmp_path: Path) -> None:
    result = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "ls",
        "content": [],
        "isError": False,
        "timestamp": 3,
    }

    context = context_of(
        tmp_path,
        user_entry("a", None, "one"),
        assistant_entry("b", "a", "two"),
        entry("message", "c", "b", message=result),
    )

    assert [type(message) for message in context.messages] == [UserMessage, AssistantMessage, ToolResultMessage]
    assert [message.timestamp for message in context.messages] == [1795160984342, 1, 3]


def test_the_last_change_or_reply_names_the_model(tmp_path: Path) -> None:
    change = entry("model_change", "a", None, provider="p", modelId="m0")
    reply = assistant_entry("b", "a", "hi", responseModel="m1-large")
    later = entry("model_change", "c", "b", provider="q", modelId="m2")

    assert context_of(tmp_path, change).model == ModelRef("p", "m0")
    assert context_of(tmp_path, change, reply).model == ModelRef("p", "m1")
    assert context_of(tmp_path, change, reply, later).model == ModelRef("q", "m2")
    assert context_of(tmp_path, user_entry("u", None, "hi")).model is None


def test_the_last_thinking_level_that_is_known_counts(tmp_path: Path) -> None:
    levels = ["low", "xhigh", "titanic"]
    parents = [None, "0", "1"]
    changes = [
        entry("thinking_level_change", str(number), parent, thinkingLevel=level)
        for number, (level, parent) in enumerate(zip(levels, parents, strict=True))
    ]

    assert context_of(tmp_path, *changes).thinking_level == "xhigh"


def _compacted(first_kept: str) -> list[JsonObject]:
    return [
        user_entry("a", None, "one"),
        user_entry("b", "a", "two"),
        entry("compaction", "k", "b", summary="SHORT", firstKeptEntryId=first_kept, tokensBefore=9),
        user_entry("c", "k", "three"),
    ]


def test_a_compaction_stands_for_what_came_before_the_kept_part(tmp_path: Path) -> None:
    summary, *rest = said(tmp_path, *_compacted("b"))

    assert "<summary>\nSHORT\n</summary>" in summary
    assert rest == ["two", "three"]


def test_a_compaction_that_keeps_an_entry_that_is_not_there_keeps_nothing(tmp_path: Path) -> None:
    _, *rest = said(tmp_path, *_compacted("lost"))

    assert rest == ["three"]


def test_of_several_compactions_the_last_counts_and_the_others_are_silent(tmp_path: Path) -> None:
    entries = [
        *_compacted("b"),
        entry("compaction", "k2", "c", summary="SHORTER", firstKeptEntryId="b", tokensBefore=9),
        user_entry("d", "k2", "four"),
    ]

    summary, *rest = said(tmp_path, *entries)

    assert "SHORTER" in summary
    assert rest == ["two", "three", "four"]


def test_a_damaged_compaction_hides_nothing(tmp_path: Path) -> None:
    entries = _compacted("b")
    del entries[2]["summary"]

    assert said(tmp_path, *entries) == ["one", "two", "three"]


def test_the_model_is_known_even_if_it_last_spoke_before_the_compaction(tmp_path: Path) -> None:
    entries = [assistant_entry("z", None, "early"), *_compacted("b")[1:]]
    entries[1]["parentId"] = "z"

    assert context_of(tmp_path, *entries).model == ModelRef("p", "m1")


def test_a_branch_summary_is_told_as_the_users(tmp_path: Path) -> None:
    summary = entry("branch_summary", "b", "a", fromId="x", summary="TRIED")

    context = context_of(tmp_path, user_entry("a", None, "one"), summary)

    message = context.messages[1]
    assert isinstance(message, UserMessage)
    assert "<summary>\nTRIED\n</summary>" in str(message.content)
    assert message.timestamp == 1795160985000


def test_messages_of_extensions_are_told_and_their_state_is_not(tmp_path: Path) -> None:
    note = entry("custom_message", "a", None, customType="x", content=[{"type": "text", "text": "NOTE"}], display=False)
    state = entry("custom", "b", "a", customType="x", data="STATE")
    migrated = entry("message", "c", "b", message={"role": "custom", "content": "OLD", "timestamp": 5})

    assert said(tmp_path, note, state, migrated) == ["NOTE", "OLD"]


def test_bookkeeping_is_not_told(tmp_path: Path) -> None:
    entries = [
        user_entry("a", None, "one"),
        entry("label", "b", "a", targetId="a", label="here"),
        entry("session_info", "c", "b", name="title"),
        entry("active_tools_change", "d", "c", tools=[]),
    ]

    assert said(tmp_path, *entries) == ["one"]


def test_a_command_of_the_user_is_told_with_its_output(tmp_path: Path) -> None:
    (text,) = said(tmp_path, command_entry(output="all good\n", exitCode=0))

    assert "`make`" in text
    assert "```\nall good\n```" in text
    assert "exit code" not in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"exitCode": 2}, "exit code was 2"),
        ({"cancelled": True}, "stopped it"),
        ({"truncated": True, "output": "x", "fullOutputPath": "/tmp/all.log"}, "/tmp/all.log"),
        ({"truncated": True, "output": "x"}, "shortened"),
        ({}, "printed nothing"),
    ],
)
def test_how_a_command_ended_is_told(tmp_path: Path, fields: JsonObject, words: str) -> None:
    (text,) = said(tmp_path, command_entry(**fields))

    assert words in text


def test_output_cannot_break_out_of_its_fence(tmp_path: Path) -> None:
    (text,) = said(tmp_path, command_entry(output="a\n````\nb"))

    assert "`````\na\n````\nb\n`````" in text


def test_a_command_the_user_kept_to_himself_is_not_told(tmp_path: Path) -> None:
    assert said(tmp_path, command_entry(output="secret", excludeFromContext=True)) == []


def edit(entry_id: str, parent: str, target: str, replacement: Any) -> JsonObject:
    return entry("context_edit", entry_id, parent, targetId=target, replacement=replacement)


def test_the_model_is_not_told_what_pi_removed_and_is_told_what_pi_put_in_its_place(tmp_path: Path) -> None:
    said_so = said(
        tmp_path,
        user_entry("a", None, "the password is swordfish"),
        assistant_entry("b", "a", "noted: swordfish"),
        user_entry("c", "b", "go on"),
        edit("d", "c", "a", {"content": "the password is secret"}),
        edit("e", "d", "b", {"content": [{"type": "text", "text": "first"}]}),
        edit("f", "e", "b", None),
    )

    assert said_so == ["the password is secret", "go on"]


def test_summaries_and_commands_can_be_removed_but_not_reworded(tmp_path: Path) -> None:
    command = command_entry(cancelled=False, truncated=False, exitCode=0)
    summary = entry("branch_summary", "s", "c", fromId="c", summary="elsewhere")
    note = entry("custom_message", "n", "s", customType="x", content="note", display=True)
    entries = [command, summary, note]
    reworded = [edit(f"e{at}", above, at, {"content": "NEW"}) for above, at in (("n", "c"), ("ec", "s"), ("es", "n"))]
    removed = [edit(f"r{at}", above, at, None) for above, at in (("n", "c"), ("rc", "s"), ("rs", "n"))]

    unchanged = said(tmp_path, *entries)

    assert said(tmp_path, *entries, *reworded) == [*unchanged[:2], "NEW"]
    assert said(tmp_path, *entries, *removed) == []


def test_an_edit_holds_on_its_branch_only(tmp_path: Path) -> None:
    said_so = said(
        tmp_path,
        user_entry("a", None, "one"),
        edit("b", "a", "a", None),
        user_entry("c", "b", "on the edited branch"),
        user_entry("d", "a", "two"),
    )

    assert said_so == ["one", "two"]


def test_an_edit_of_the_summary_in_force_removes_it(tmp_path: Path) -> None:
    said_so = said(
        tmp_path,
        user_entry("a", None, "one"),
        user_entry("b", "a", "two"),
        entry("compaction", "c", "b", summary="short", firstKeptEntryId="b", tokensBefore=9),
        edit("d", "c", "c", None),
    )

    assert said_so == ["two"]


@pytest.mark.parametrize("replacement", ["none", 5, [], {}, {"content": 5}])
def test_a_damaged_edit_changes_nothing(tmp_path: Path, replacement: Any) -> None:
    assert said(tmp_path, user_entry("a", None, "one"), edit("b", "a", "a", replacement)) == ["one"]


def test_of_replaced_content_the_blocks_that_kaa_knows_are_told(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "new"}, {"type": "hologram"}]

    assert said(tmp_path, user_entry("a", None, "one"), edit("b", "a", "a", {"content": blocks})) == ["new"]


def test_a_reply_before_an_edit_does_not_measure_the_conversation(tmp_path: Path) -> None:
    usage = {"input": 5000, "output": 1}
    context = context_of(
        tmp_path,
        user_entry("a", None, "one"),
        assistant_entry("b", "a", "yes", usage=usage),
        edit("c", "b", "a", None),
        assistant_entry("d", "c", "no", usage=usage),
    )

    assert [m.usage.input for m in context.messages if isinstance(m, AssistantMessage)] == [0, 5000]


def test_the_instructions_of_pi_are_not_told(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be pi.", "sections": {"cwd": "/p"}, "toolsAdded": [], "timestamp": 1}

    assert said(tmp_path, entry("message", "a", None, message=system), user_entry("b", "a", "one")) == ["one"]
