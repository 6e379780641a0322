"""What a slot says is checked, and what a killed turn did is told from what came later."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.checkpoints.attribution import ChangeRow
from kaa.workspace.checkpoints.contract import StateRow
from kaa.workspace.checkpoints.reports import doing_of, read_report
from kaa.workspace.checkpoints.store import Turn
from kaa.workspace.protocol import WorkspaceUnavailableError

SECOND = 1_000_000_000


def changed_at(nanoseconds: int) -> StateRow:
    return ("file", "00" * 20, 0o644, 1, f"1-{nanoseconds:x}-1")


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", ".git/hooks/pre-commit", "a/.git/config", "a//b", "", "a\0b", "a/.", "/a/../.", "/./."],
)
def test_a_path_that_no_file_to_keep_has_is_dropped_and_counted_and_the_others_are_kept(path: str) -> None:
    body = json.dumps({"changes": [["a", None, None], [path, None, None]], "uncovered": {"large": 1}}).encode()

    report = read_report(body)

    assert [change[0] for change in report.changes] == ["a"]
    assert report.uncovered == {"large": 1, "refused": 1}


def test_of_a_root_only_the_mode_is_kept() -> None:
    directory, file = ["directory", "", 0o755, 0, "1"], ["file", "00", 0o755, 1, "1"]
    changes = [[path, directory, after] for path in (".", "/added/.") for after in (directory, file)]

    report = read_report(json.dumps({"changes": changes, "uncovered": {}}).encode())

    assert [(change[0], change[2] and change[2][0]) for change in report.changes] == [
        (".", "directory"),
        ("/added/.", "directory"),
    ]
    assert report.uncovered == {"refused": 2}


@given(
    st.binary(max_size=64)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_anything_else_than_a_report_is_refused(body: bytes) -> None:
    with pytest.raises(WorkspaceUnavailableError):
        read_report(body)


@pytest.mark.parametrize("digest", ["zz", "0", "00\n", "../x"])
def test_what_is_no_digest_is_refused(digest: str) -> None:
    body = json.dumps({"changes": [["a", None, ["file", digest, 0o644, 1, ""]]], "uncovered": {}}).encode()

    with pytest.raises(WorkspaceUnavailableError):
        read_report(body)


def test_only_what_changed_while_a_turn_lived_is_its_doing() -> None:
    turn = Turn("manifest", began=100 * SECOND, last_sign=200 * SECOND)
    rows: list[ChangeRow] = [
        ("before", None, changed_at(90 * SECOND)),
        ("during", None, changed_at(150 * SECOND)),
        ("at its end", None, changed_at(201 * SECOND)),
        ("later", None, changed_at(210 * SECOND)),
        ("right now", None, ("file", "00" * 20, 0o644, 1, "")),
        ("at no time", None, ("file", "00" * 20, 0o644, 1, "1-x-1")),
        ("deleted", changed_at(1), None),
    ]

    assert [path for path, *_ in doing_of(turn, rows)] == ["during", "at its end", "deleted"]
