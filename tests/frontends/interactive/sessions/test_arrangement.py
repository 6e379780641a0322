from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kaa.frontends.interactive.sessions.session_list import SessionRow, arranged
from tests.frontends.interactive.sessions.summaries import path_of, summary


def shown(rows: Sequence[SessionRow]) -> list[str]:
    return ["  " * depth + session.id for session, depth in rows]


def test_copies_stand_below_what_they_came_from_where_the_newest_of_them_is() -> None:
    sessions = [summary("copy", parent="old"), summary("other"), summary("old"), summary("copy of copy", parent="copy")]

    assert shown(arranged(sessions, "recent")) == ["old", "  copy", "    copy of copy", "other"]


def test_a_copy_of_a_session_that_is_not_listed_stands_alone() -> None:
    sessions = [summary("copy", parent="gone"), summary("other")]

    assert shown(arranged(sessions, "recent")) == ["copy", "other"]


def test_what_is_found_is_sorted_by_how_well_it_fits_and_not_threaded() -> None:
    sessions = [summary("copy", parent="old"), summary("none"), summary("old")]
    scores = {"copy": 1.0, "old": 2.0}

    found = arranged(sessions, "relevance", score=lambda session: scores.get(session.id))

    assert shown(found) == ["old", "copy"]


def test_what_is_found_keeps_its_order_if_that_is_wanted() -> None:
    sessions = [summary("first"), summary("second")]
    scores = {"first": 1.0, "second": 2.0}

    found = arranged(sessions, "recent", score=lambda session: scores[session.id])

    assert shown(found) == ["first", "second"]


def test_names_are_sorted_without_regard_to_case() -> None:
    sessions = [summary("1", title="beta"), summary("2", title="Alpha"), summary("3", said="charlie")]

    assert shown(arranged(sessions, "name")) == ["2", "1", "3"]


def test_those_without_a_name_can_be_left_out() -> None:
    sessions = [summary("1", title="beta"), summary("2"), summary("3", title="")]

    assert shown(arranged(sessions, "recent", named_only=True)) == ["1"]


@given(st.lists(st.integers(0, 7) | st.none(), max_size=8))
def test_every_session_is_listed_once_whatever_files_claim_to_have_come_from(parents: list[int | None]) -> None:
    names = [str(number) for number in range(len(parents))]
    sessions = [
        summary(name, parent=None if parent is None else str(parent))
        for name, parent in zip(names, parents, strict=True)
    ]

    rows = arranged(sessions, "recent")

    assert sorted(row.session.path for row in rows) == sorted(map(path_of, names))
