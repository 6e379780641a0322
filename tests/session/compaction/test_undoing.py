"""Taking compactions back, in files that only grow."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import Usage
from kaa.session.compaction.undoing import WHOLE, in_force, taken_back, undo
from kaa.session.context import build_context
from kaa.session.entries import Compaction, ContextEdit, Label, Leaf, MessageEntry, RequestUsage, SessionInfo
from kaa.session.store import MemoryStore
from tests.support.agents import say
from tests.support.sessions import JsonObject, entry, opened, texts, user_entry, write_session


def take_back(store: MemoryStore) -> Leaf | Compaction:
    """Append what takes the last compaction back."""
    path = store.tree.path()
    undone = undo(path, in_force(store, path))
    store.append(undone)
    return undone


def speak(store: MemoryStore, text: str) -> str:
    (entry_id,) = store.append(MessageEntry(message=say(text)))
    return entry_id


def condense(store: MemoryStore, first_kept: str, summary: str) -> None:
    store.append(Compaction(summary=summary, first_kept_entry_id=first_kept, tokens_before=7))


def test_where_nothing_was_said_since_the_leaf_goes_back_before_it() -> None:
    store = MemoryStore("/p")
    speak(store, "one")
    two = speak(store, "two")
    condense(store, two, "SUMMARY")
    store.append(Label(target_id=two, label="here"))

    undone = take_back(store)

    assert undone == Leaf(target_id=two)
    assert texts(store) == ["one", "two"]


def test_neither_a_name_nor_its_cost_is_something_said() -> None:
    store = MemoryStore("/p")
    one = speak(store, "one")
    condense(store, one, "SUMMARY")
    store.append(SessionInfo(name="a name"), RequestUsage(kind="title", usage=Usage(input=9)))

    assert take_back(store) == Leaf(target_id=one)


def test_an_edit_made_since_is_not_lost() -> None:
    store = MemoryStore("/p")
    one = speak(store, "one")
    condense(store, one, "SUMMARY")
    store.append(ContextEdit(target_id=one, replacement=None))

    assert isinstance(take_back(store), Compaction)
    assert texts(store) == []


def test_what_was_said_since_stays() -> None:
    store = MemoryStore("/p")
    speak(store, "one")
    condense(store, speak(store, "two"), "SUMMARY")
    speak(store, "three")

    take_back(store)
    speak(store, "four")

    assert texts(store) == ["one", "two", "three", "four"]


def test_the_compaction_before_is_in_force_again() -> None:
    store = MemoryStore("/p")
    speak(store, "one")
    condense(store, speak(store, "two"), "FIRST")
    condense(store, speak(store, "three"), "SECOND")
    speak(store, "four")

    undone = take_back(store)

    assert isinstance(undone, Compaction)
    assert (undone.summary, undone.tokens_before) == ("FIRST", 7)
    assert ["FIRST" in text for text in texts(store)] == [True, False, False, False]
    assert texts(store)[1:] == ["two", "three", "four"]


@given(st.lists(st.sampled_from(["say", "condense", "undo"]), max_size=30))
def test_it_is_always_as_if_the_compaction_had_not_been(deeds: list[str]) -> None:
    store = MemoryStore("/p")
    expected: list[tuple[str, list[str]]] = []  # what is told besides the newest words, for each compaction in force
    said: list[str] = []
    for number, deed in enumerate(deeds):
        standing = in_force(store, store.tree.path())
        if deed == "condense" and said:
            kept = speak(store, f"m{number}")
            said.append(f"m{number}")
            condense(store, kept, f"S{number}")
            expected.append((f"S{number}", [f"m{number}"]))
        elif deed == "undo" and standing:
            take_back(store)
            expected.pop()
        else:
            speak(store, f"m{number}")
            said.append(f"m{number}")
    told = texts(store)
    if expected:
        summary, (first,) = expected[-1]
        assert summary in told[0]
        assert told[1:] == said[said.index(first) :]
    else:
        assert told == said


def test_another_program_is_told_that_nothing_is_missing(tmp_path: Path) -> None:
    # pi gives the model the summary of the last compaction and all from its first kept entry on; so must ours read it.
    store = MemoryStore("/p")
    first = speak(store, "one")
    condense(store, speak(store, "two"), "SUMMARY")
    speak(store, "three")

    undone = take_back(store)

    assert isinstance(undone, Compaction)
    assert (undone.summary, undone.first_kept_entry_id, undone.tokens_before) == (WHOLE, first, 7)
    assert taken_back(undone) is not None


@pytest.mark.parametrize("details", [None, [], {"uncompacted": 3}, {"readFiles": []}])
def test_other_details_mean_nothing(tmp_path: Path, details: Any) -> None:
    entries: list[JsonObject] = [
        user_entry("a", None, "one"),
        entry("compaction", "b", "a", summary=WHOLE, firstKeptEntryId="a", tokensBefore=1, details=details),
    ]

    with opened(write_session(tmp_path / "s.jsonl", *entries)) as store:
        assert len(build_context(store).messages) == 2
