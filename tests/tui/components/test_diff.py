import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kaa.tui.components.diff import DiffView
from kaa.tui.width import plain
from tests.support.painted import assert_well_formed, make_context, visible

EDIT = """\
  9 import os
-10 def old(a, b):
-11     return a + b
+10 def new(a, b, c):
+11     # added
+12     return a + b + c
    ...
 99 end"""

PATCH = """\
diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -8,3 +8,3 @@ def f
 a
-b c d
+b X d

@@ -20 +20,0 @@
-gone
\\ No newline at end of file
"""


def marked(lines: list[str]) -> list[list[str]]:
    """What is inverse in each line."""
    return [[plain(text) for text in re.findall(r"\x1b\[[0-9;]*7m([^\x1b]*)", line)] for line in lines]


def test_edits_are_shown_with_their_numbers() -> None:
    assert visible(DiffView(make_context(), EDIT).render(40)) == EDIT.split("\n")


def test_patches_are_shown_with_their_numbers() -> None:
    assert visible(DiffView(make_context(), PATCH).render(40)) == [
        "    diff --git a/x.py b/x.py",
        "    --- a/x.py",
        "    +++ b/x.py",
        "    @@ -8,3 +8,3 @@ def f",
        "  8 a",
        "- 9 b c d",
        "+ 9 b X d",
        " 10",
        "    @@ -20 +20,0 @@",
        "-20 gone",
        "    \\ No newline at end of file",
    ]


def test_lines_have_the_colour_of_what_happened_to_them() -> None:
    lines = DiffView(make_context(), "-1 a\n+1 b\n 2 c").render(40)

    assert lines == ["\x1b[31m-1 a\x1b[0m", "\x1b[32m+1 b\x1b[0m", "\x1b[90m 2 c\x1b[0m"]


def test_changed_words_are_marked_in_lines_that_belong_together() -> None:
    assert marked(DiffView(make_context(), EDIT).render(40)) == [[], ["old"], [], ["new", ", c"], [], [" + c"], [], []]


def test_lines_that_have_little_in_common_are_not_marked() -> None:
    assert marked(DiffView(make_context(), "-1 one two three\n+1 something else here").render(60)) == [[], []]


def test_lines_are_paired_by_what_they_have_in_common() -> None:
    diff = "-1 alpha beta gamma\n-2 one two three\n+1 zero\n+2 one two four\n+3 other"

    assert marked(DiffView(make_context(), diff).render(60)) == [[], ["three"], [], ["four"], []]


def test_long_lines_go_on_under_their_text() -> None:
    assert visible(DiffView(make_context(), "+1 " + "abcdefghij" * 3).render(18)) == [
        "+1 abcdefghijabcde",
        "   fghijabcdefghij",
    ]


def test_numbers_give_way_where_it_is_narrow() -> None:
    assert visible(DiffView(make_context(), "+100 abc").render(10)) == ["+abc"]


def test_left_out_lines_are_counted() -> None:
    assert visible(DiffView(make_context(), EDIT, max_lines=2).render(40)) == [*EDIT.split("\n")[:2], "… 6 more lines"]
    assert visible(DiffView(make_context(), "+1 a\n+2 b", max_lines=1).render(40)) == ["+1 a", "… 1 more line"]


def test_huge_diffs_are_shown() -> None:
    many = "".join(f"-{number} line {number}\n" for number in range(500)) + "+1 x\n" * 600
    long = "-1 " + "a b " * 5000 + "\n+1 " + "a c " * 5000

    for diff in (many, long):
        assert_well_formed(DiffView(make_context(), diff).render(80), 80)


def test_no_diff_shows_nothing() -> None:
    assert DiffView(make_context(), "").render(40) == []


_lines = st.builds(
    str.__add__, st.sampled_from(["+1 ", "-1 ", " 1 ", "@@ -1 +1 @@", "+", "-", "", "   ... "]), st.text(max_size=30)
)


@given(st.lists(_lines, max_size=12), st.integers(0, 60))
@settings(deadline=None)
def test_any_diff_keeps_to_the_width(lines: list[str], width: int) -> None:
    assert_well_formed(DiffView(make_context(), "\n".join(lines)).render(width), max(1, width))


@given(st.lists(st.text("ab (", max_size=8), max_size=6), st.lists(st.text("ab (", max_size=8), max_size=6))
@settings(deadline=None)
def test_marks_change_no_text(removed: list[str], added: list[str]) -> None:
    diff = "\n".join([*(f"-1 {line}" for line in removed), *(f"+1 {line}" for line in added)])

    assert visible(DiffView(make_context(), diff).render(80)) == [line.rstrip() for line in diff.split("\n") if diff]
