"""Where a session was before it went elsewhere: told by its file alone."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.messages import UserMessage
from kaa.session.entries import Label, Leaf, MessageEntry
from kaa.session.store import MemoryStore, SessionStore
from kaa.session.trail import trail
from tests.support.sessions import entry, opened, user_entry, write_session


def ids(store: SessionStore) -> list[str | None]:
    """The ids of the leaves that were left."""
    return [node.id if node is not None else None for node in trail(store)]


def say(store: SessionStore) -> str:
    """Add a message; its id."""
    return store.append(MessageEntry(message=UserMessage("x")))[0]


def test_going_back_twice_leaves_two_places_to_return_to() -> None:
    store = MemoryStore("/p")
    first, second = say(store), say(store)

    store.append(Leaf(target_id=first))
    store.append(Leaf(target_id=None))

    assert ids(store) == [second, first]


def test_returning_takes_a_place_off() -> None:
    store = MemoryStore("/p")
    first, second = say(store), say(store)
    store.append(Leaf(target_id=first))
    store.append(Leaf(target_id=None))

    store.append(Leaf(target_id=first))

    assert ids(store) == [second]


def test_what_is_said_ends_the_trail() -> None:
    store = MemoryStore("/p")
    first, _ = say(store), say(store)
    store.append(Leaf(target_id=first))

    say(store)

    assert ids(store) == []


def test_a_label_does_not_end_it() -> None:
    store = MemoryStore("/p")
    first, second = say(store), say(store)
    store.append(Leaf(target_id=first))

    store.append(Label(target_id=first, label="here"))

    assert ids(store) == [second]


def test_nothing_was_left_in_a_new_session() -> None:
    assert ids(MemoryStore("/p")) == []


def test_a_leaf_entry_that_points_nowhere_leaves_its_parent(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "two"),
        entry("leaf", "l", "a", targetId="gone"),
    )

    with opened(path) as store:
        assert ids(store) == ["b"]
        assert store.tree.leaf is store.tree.get("a")


@given(st.lists(st.integers(0, 4), max_size=12))
def test_one_can_always_return_step_by_step_to_where_one_began(moves: list[int]) -> None:
    store = MemoryStore("/p")
    places: list[str | None] = [None, *(say(store) for _ in range(4))]
    start = store.tree.leaf
    for move in moves:
        store.append(Leaf(target_id=places[move]))

    while left := trail(store):
        node = left[-1]
        store.append(Leaf(target_id=node.id if node is not None else None))

    assert store.tree.leaf is start
