"""The tree as people look at it: what each entry is in a few words, and what a filter shows."""

from pathlib import Path
from typing import Any

import pytest

from kaa.session.outline import Outline, OutlineRow, RowFilter, outline
from kaa.session.store import MemoryStore
from tests.support.sessions import entry, opened, user_entry, write_session


def reply(entry_id: str, parent: str | None, *content: dict[str, Any], stop: str = "stop") -> dict[str, Any]:
    """A line with a message of the model's."""
    message = {
        "role": "assistant",
        "content": list(content),
        "api": "openai-completions",
        "provider": "p",
        "model": "m",
        "usage": {},
        "stopReason": stop,
        "timestamp": 5,
    }
    return entry("message", entry_id, parent, message=message)


def result(entry_id: str, parent: str, call: str, *, is_error: bool = False) -> dict[str, Any]:
    """A line with what a tool answered."""
    message = {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": "bash",
        "content": [],
        "isError": is_error,
        "timestamp": 5,
    }
    return entry("message", entry_id, parent, message=message)


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def read(folder: Path, *lines: dict[str, Any]) -> Outline:
    """The outline of a session with these lines."""
    with opened(write_session(folder / "s.jsonl", *lines)) as store:
        return outline(store, list(store.tree.nodes), store.tree.leaf)


def row(found: Outline, entry_id: str) -> OutlineRow:
    """The row of one entry."""
    return next(row for row in found.rows if row.entry_id == entry_id)


def shown(found: Outline, chosen: RowFilter) -> list[str]:
    """The entries that a filter shows."""
    return [row.entry_id for row in found.rows if found.shows(row, chosen)]


def test_each_entry_is_told_in_a_few_words(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        entry("model_change", "m", None, provider="p", modelId="x"),
        user_entry("u", "m", "do\n\n  it " + "now " * 500),
        reply("a", "u", call("c1", "bash", command="make test", timeout=3)),
        result("t", "a", "c1", is_error=True),
        reply("s", "t", text("half"), stop="aborted"),
        entry("compaction", "c", "s", summary="sum", firstKeptEntryId="u", tokensBefore=1),
        entry("message", "?", "c", message={"role": "of the future"}),
    )

    rows = [(row.kind, row.text[:30], row.failed) for row in found.rows]

    assert rows == [
        ("model", "p/x", False),
        ("user", "do it now now now now now now ", False),
        ("assistant", "", False),
        ("tool", "bash make test", True),
        ("assistant", "half", True),
        ("compaction", "sum", False),
        ("unreadable", "", False),
    ]
    assert all(len(row.text) <= 200 for row in found.rows)


def test_parents_and_the_way_to_the_leaf_are_told(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user_entry("u", None, "one"),
        user_entry("left", "u", "two"),
        user_entry("now", "u", "three"),
    )

    assert [(row.parent_id, row.is_current) for row in found.rows] == [(None, True), ("u", False), ("u", True)]
    assert found.leaf_id == "now"


def test_the_last_label_counts_and_an_empty_one_takes_it_away(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        user_entry("u", None, "one"),
        entry("label", "l1", "u", targetId="u", label="first"),
        entry("label", "l2", "l1", targetId="u", label="second"),
        user_entry("v", "l2", "two"),
        entry("label", "l3", "v", targetId="v", label="gone"),
        entry("label", "l4", "l3", targetId="v"),
    )

    assert row(found, "u").label == "second"
    assert row(found, "u").labelled > 0
    assert row(found, "v").label is None


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("default", ["u", "t", "end"]),
        ("no-tools", ["u", "end"]),
        ("user-only", ["u"]),
        ("labeled-only", ["t"]),
        ("all", ["m", "u", "a", "t", "l", "end", "k"]),
    ],
)
def test_filters(tmp_path: Path, chosen: RowFilter, expected: list[str]) -> None:
    found = read(
        tmp_path,
        entry("model_change", "m", None, provider="p", modelId="x"),
        user_entry("u", "m", "do it"),
        reply("a", "u", call("c1", "bash", command="ls")),
        result("t", "a", "c1"),
        entry("label", "l", "t", targetId="t", label="here"),
        reply("end", "l", text("done")),
        entry("custom", "k", "end", customType="kept", data={}),
    )

    assert shown(found, chosen) == expected


def test_a_reply_without_words_is_shown_where_the_conversation_goes_on(tmp_path: Path) -> None:
    found = read(tmp_path, user_entry("u", None, "do it"), reply("a", "u", call("c1", "bash", command="ls")))

    assert shown(found, "default") == ["u", "a"]


def test_a_session_without_entries_has_no_rows() -> None:
    store = MemoryStore("/p")

    assert outline(store, [], None) == Outline((), None)
