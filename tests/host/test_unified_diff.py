import re

from hypothesis import given
from hypothesis import strategies as st

from kaa.host.unified_diff import hunks, patch_hunks

_TEXT = st.lists(st.sampled_from(["a", "b", "c", "@@ -1 +1 @@", ""]), max_size=40).map("\n".join)


@given(_TEXT, _TEXT, st.integers(0, 400))
def test_hunks_lead_from_the_old_lines_to_the_new_ones(before: str, after: str, compared: int) -> None:
    old, new = before.split("\n"), after.split("\n")

    assert _applied(list(hunks(old, new, max_compared=compared)), old) == new


def _applied(diff: list[str], old: list[str]) -> list[str]:
    """What a unified diff makes of a text; each line that stays or goes has to be there."""
    made, at = [], 0
    for line in diff:
        if head := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            first, length = int(head[1]), int(head[2] or 1)
            begin = first - 1 if length else first
            made += old[at:begin]
            at = begin
            assert int(head[3]) == len(made) + (head[4] != "0")
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert line[1:] == old[at]
            made += [line[1:]] if line.startswith(" ") else []
            at += 1
    return made + old[at:]


def test_lines_that_are_often_equal_are_not_compared() -> None:
    old, new = ["x", "y", "x"] * 1_000, ["x"] * 197 + ["z"]

    found = list(hunks(["a", *old, "b"], ["a", *new, "b"]))

    assert [line for line in found if line.startswith(" ")] == [" a", " x", " b"]


def test_a_last_line_without_its_end_is_marked() -> None:
    assert list(patch_hunks("a\nb", "a\nc\n")) == ["@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+c"]


def test_lines_in_no_context_and_nothing_compared_are_those_between_the_equal_ends() -> None:
    assert list(hunks(["a", "b", "c"], ["a", "x", "b", "y", "c"], context_lines=0, max_compared=0)) == [
        "@@ -2 +2,3 @@",
        *("-b", "+x", "+b", "+y"),
    ]
