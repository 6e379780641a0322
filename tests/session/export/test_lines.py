"""Sessions as lines for other programs."""

import io
import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.redaction import Redactor
from kaa.session.export.lines import write_lines
from kaa.session.export.selection import ExportSelection
from kaa.session.export.source import SnapshotFile
from kaa.session.store import session_name
from tests.support.rich_session import write_rich_session
from tests.support.sessions import HEADER, JsonObject, entry, opened, texts, user_entry, write_session

ALL_OF_A_BRANCH = ExportSelection()


def written(path: Path, selection: ExportSelection = ALL_OF_A_BRANCH) -> bytes:
    out = io.BytesIO()
    with SnapshotFile.open(path) as source:
        write_lines(source, selection, out)
    return out.getvalue()


def exported(path: Path, selection: ExportSelection = ALL_OF_A_BRANCH) -> Path:
    copy = path.with_name("export.jsonl")
    copy.write_bytes(written(path, selection))
    return copy


def test_all_branches_are_the_entries_byte_for_byte(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    assert written(path, ExportSelection(all_branches=True)).split(b"\n")[1:] == path.read_bytes().split(b"\n")[1:]


def test_the_current_branch_says_the_same_to_the_model(tmp_path: Path) -> None:
    path = write_rich_session(tmp_path)

    copy = exported(path)

    with opened(path) as before, opened(copy) as after:
        assert texts(after) == texts(before)
        assert len(after.tree) < len(before.tree)


def test_name_and_labels_come_along_from_other_branches(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        entry("label", "l", "a", targetId="a", label="begin"),
        entry("session_info", "n", "l", name="Called so"),
        entry("leaf", "x", "a", targetId="a"),
        user_entry("b", "a", "two"),
    )

    copy = exported(path)

    with opened(copy) as store:
        assert texts(store) == ["one", "two"]
        assert session_name(store) == "Called so"
        assert store.tree.get("l") is not None


def test_an_entry_whose_parent_is_lost_hangs_below_the_one_before(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "one"), user_entry("b", "lost", "two"))

    assert b'"parentId":"a"' in written(path).replace(b'": "', b'":"')


def test_redacted_lines_are_a_session_still(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_entry("a", None, "my-own-secret"))

    copy = exported(path, ExportSelection(redactor=Redactor(["my-own-secret"])))

    with opened(copy) as store:
        assert texts(store) == ["[redacted]"]


def test_of_an_entrys_labels_the_last_one_counts_wherever_it_was_given(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        user_entry("a", None, "one"),
        user_entry("b", "a", "left"),
        entry("label", "l1", "b", targetId="a", label="early, elsewhere"),
        user_entry("c", "a", "two"),
        entry("label", "l2", "c", targetId="a", label="late, here"),
        user_entry("d", "l2", "three"),
        entry("label", "l3", "b", targetId="c", label="late, elsewhere"),
        entry("label", "l4", "b", targetId="b", label="of what is left out"),
        entry("leaf", "g", "d", targetId="d"),
    )

    labels = [line["label"] for line in map(json.loads, written(path).splitlines()) if line["type"] == "label"]

    assert labels == ["late, here", "late, elsewhere"]


ENTRIES = st.lists(st.tuples(st.integers(0, 30), st.text(max_size=20)), max_size=30)


@given(ENTRIES)
def test_whatever_the_tree_the_branch_opens_with_the_same_messages(entries: list[tuple[int, str]]) -> None:
    lines: list[JsonObject] = []
    for number, (above, said) in enumerate(entries):
        parent = None if not number else f"e{above % number}"
        lines.append(user_entry(f"e{number}", parent, said))
    with tempfile.TemporaryDirectory() as folder:
        path = write_session(Path(folder) / "s.jsonl", *lines, header=HEADER)
        copy = exported(path)

        with opened(path) as before, opened(copy) as after:
            assert texts(after) == texts(before)
