"""Diffs of edits in pi's format."""

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.diff import changed_lines, diff_of_changes
from kaa.builtin.replacement import Replacement
from kaa.builtin.text_edit import Substitution, edit_bytes


def diff(text: str, *pairs: tuple[str, str]) -> str:
    edited = edit_bytes(text.encode(), [Replacement(old, new) for old, new in pairs])
    return diff_of_changes(text, edited.changes).diff


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def test_a_change_is_shown_with_four_lines_around() -> None:
    assert diff(numbered(1, 20), ("line 10\n", "ten\nand more\n")).splitlines() == [
        "    ...",
        "  6 line 6",
        "  7 line 7",
        "  8 line 8",
        "  9 line 9",
        "-10 line 10",
        "+10 ten",
        "+11 and more",
        " 11 line 11",
        " 12 line 12",
        " 13 line 13",
        " 14 line 14",
        "    ...",
    ]


def test_changes_close_together_share_their_context() -> None:
    assert diff(numbered(1, 8), ("line 1\n", ""), ("line 8", "eight")).splitlines() == [
        "-1 line 1",
        " 2 line 2",
        " 3 line 3",
        " 4 line 4",
        " 5 line 5",
        " 6 line 6",
        " 7 line 7",
        "-8 line 8",
        "+7 eight",
    ]


def test_lines_between_distant_changes_are_left_out() -> None:
    shown = diff(numbered(1, 30), ("line 1\n", "one\n"), ("line 30", "thirty")).splitlines()

    assert shown[1:11] == [
        "+ 1 one",
        *(f"  {n} line {n}" for n in range(2, 6)),
        "    ...",
        *(f" {n} line {n}" for n in range(26, 30)),
    ]


def test_two_edits_in_one_line_are_one_change() -> None:
    assert diff("a b c\n", ("a", "1"), ("c", "3")).splitlines() == ["-1 a b c", "+1 1 b 3"]


def test_text_without_final_line_break() -> None:
    assert diff("one\ntwo", ("two", "2")).splitlines() == [" 1 one", "-2 two", "+2 2"]
    assert diff("one", ("one", "one\n")).splitlines() == ["-1 one", "+1 one"]


def test_removing_everything() -> None:
    assert diff("one\ntwo\n", ("one\ntwo\n", "")).splitlines() == ["-1 one", "-2 two"]


def test_line_endings_are_not_shown() -> None:
    assert diff("one\r\ntwo\r\n", ("two", "2")).splitlines() == [" 1 one", "-2 two", "+2 2"]
    assert diff("one\rtwo\r", ("two", "2")).splitlines() == [" 1 one", "-2 two", "+2 2"]


def test_very_long_lines_are_cut() -> None:
    assert max(map(len, diff("x" * 5000 + "y\n", ("y", "z")).splitlines())) < 1010


@pytest.mark.parametrize(("old", "line"), [("line 1\n", 1), ("line 5", 5), ("4\nline 5\n", 4)])
def test_the_first_changed_line_counts_in_the_new_text(old: str, line: int) -> None:
    text = numbered(1, 9)
    edited = edit_bytes(text.encode(), [Replacement(old, "new\n")])

    assert diff_of_changes(text, edited.changes).first_changed_line == line


TEXT = st.text(alphabet="ab\n", min_size=1, max_size=30)


@given(TEXT, st.data())
def test_added_and_removed_lines_are_those_of_the_new_and_old_text(text: str, choice: st.DataObject) -> None:
    cuts = sorted(choice.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    changes = [Substitution(start, end, choice.draw(TEXT)) for start, end in pairs]
    new = text
    for change in reversed(changes):
        new = new[: change.start] + change.new + new[change.end :]

    shown = diff_of_changes(text, changes).diff.splitlines()

    # Applying the diff to the old lines gives the new lines: every number and text is right.
    old_lines, new_lines = text.split("\n"), new.split("\n")
    parsed = [re.fullmatch(r"([-+]) *(\d+) (.*)", line) for line in shown]
    removed = {int(line[2]): line[3] for line in parsed if line and line[1] == "-"}
    added = {int(line[2]): line[3] for line in parsed if line and line[1] == "+"}
    assert all(old_lines[number - 1] == body for number, body in removed.items())
    assert all(new_lines[number - 1] == body for number, body in added.items())
    kept_old = [line for number, line in enumerate(old_lines, 1) if number not in removed]
    kept_new = [line for number, line in enumerate(new_lines, 1) if number not in added]
    assert [line for line in kept_old if line] == [line for line in kept_new if line]


def test_the_diff_says_the_same_as_difflib() -> None:
    text = numbered(1, 50)
    edited = edit_bytes(text.encode(), [Replacement("line 7\n", "seven\n"), Replacement("line 40\n", "")])
    new = edited.data.decode()

    shown = diff_of_changes(text, edited.changes).diff.splitlines()

    unified = [
        line for line in difflib.unified_diff(text.splitlines(), new.splitlines(), n=4, lineterm="") if line[0] in " +-"
    ][2:]
    assert [line[0] + line[4:] for line in shown if not line.endswith("...")] == unified


def test_changed_lines_are_those_of_the_file_to_the_letter() -> None:
    text = "".join(f"{number}\n" for number in range(20))
    start = text.index("10\n")

    shown = changed_lines(text, [Substitution(start, start + 3, "\n…\n")])

    assert shown == "7\n8\n9\n\n…\n11\n12\n13"
    assert changed_lines("a\nb\n", [Substitution(0, 2, "\n…c\n")]) == "\n…c\nb"
