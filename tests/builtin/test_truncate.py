"""Limits on lines and bytes, at whole lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.builtin.truncate import cut_line, format_size, keep_head, keep_tail

LINES = st.lists(st.text(alphabet="aé→\U0001f600 ", max_size=5), max_size=12)
LIMITS = st.tuples(st.integers(0, 14), st.integers(0, 40))


@given(LINES, LIMITS)
def test_the_head_is_the_longest_beginning_within_both_limits(lines: list[str], limits: tuple[int, int]) -> None:
    max_lines, max_bytes = limits

    kept = keep_head(lines, max_lines, max_bytes)

    count = len(kept.lines)
    assert kept.lines == tuple(lines[:count])
    assert count <= max_lines
    assert kept.size == len(kept.text.encode()) <= max_bytes or not kept.lines
    assert (kept.cut_by is None) == (count == len(lines))
    if kept.cut_by == "lines":
        assert count == max_lines
    if kept.cut_by == "bytes":
        assert len("\n".join(lines[: count + 1]).encode()) > max_bytes


@given(LINES, LIMITS)
def test_the_tail_is_the_longest_end_within_both_limits(lines: list[str], limits: tuple[int, int]) -> None:
    max_lines, max_bytes = limits

    kept = keep_tail(lines, max_lines, max_bytes)

    if kept.partial:
        assert len(lines[-1].encode()) > max_bytes
        assert lines[-1].endswith(kept.text)
        assert kept.size == len(kept.text.encode()) <= max_bytes
    else:
        mirrored = keep_head(lines[::-1], max_lines, max_bytes)
        assert kept.lines == mirrored.lines[::-1]
        assert kept.cut_by == mirrored.cut_by


def test_a_last_line_that_is_too_long_is_cut_between_characters() -> None:
    kept = keep_tail(["first", "éééé"], max_lines=10, max_bytes=5)

    assert (kept.text, kept.size, kept.cut_by, kept.partial) == ("éé", 4, "bytes", True)


def test_long_lines_are_cut_with_a_visible_mark() -> None:
    assert cut_line("x" * 500, 500) == "x" * 500
    assert cut_line("x" * 501, 500) == "x" * 500 + "... [cut]"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (51_200, "50.0 KB"), (3 * 1024 * 1024, "3.0 MB")]
)
def test_sizes_are_for_people(size: int, text: str) -> None:
    assert format_size(size) == text
