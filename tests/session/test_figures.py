"""A session is counted by who said what, on the current branch and on all of them."""

from pathlib import Path

from kaa.session.figures import SessionFigures, figures
from tests.support.sessions import HEADER, JsonObject, entry, opened, user_entry, write_session


def counted(path: Path, *entries: JsonObject, header: JsonObject = HEADER) -> SessionFigures:
    with opened(write_session(path / "s.jsonl", *entries, header=header)) as store:
        return figures(store, tuple(store.tree.nodes), store.tree.leaf)


def test_branches_are_ends_where_something_was_said(tmp_path: Path) -> None:
    bookkeeping = [
        entry("model_change", "m", "b", provider="p", modelId="m"),
        entry("label", "l", "m", targetId="a", label="here"),
        entry("leaf", "f", "a", targetId="a"),
    ]

    found = counted(
        tmp_path, user_entry("a", None, "1"), user_entry("b", "a", "2"), *bookkeeping, user_entry("c", "a", "3")
    )

    assert (found.branches, found.here, found.everywhere) == (2, {"user": 2}, {"user": 3})


def test_what_hangs_below_bookkeeping_goes_on_with_its_branch(tmp_path: Path) -> None:
    change = entry("model_change", "m", "a", provider="p", modelId="m")

    found = counted(tmp_path, user_entry("a", None, "1"), change, user_entry("b", "m", "2"))

    assert found.branches == 1


def test_the_header_and_the_name_are_told(tmp_path: Path) -> None:
    named = entry("session_info", "n", "a", name="lunch")

    found = counted(tmp_path, user_entry("a", None, "1"), named, header={**HEADER, "parentSession": "/old.jsonl"})

    assert (found.name, found.parent, found.created) == ("lunch", "/old.jsonl", HEADER["timestamp"])


def test_an_empty_session_has_no_branch(tmp_path: Path) -> None:
    assert counted(tmp_path).branches == 0
