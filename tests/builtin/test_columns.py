"""Columns stand one below the other."""

from kaa.builtin.columns import aligned


def test_words_begin_on_the_left_and_figures_end_on_the_right() -> None:
    table = aligned([("model", "cost"), ("a", "$10"), ("longer", "?")])

    assert table == ["model   cost", "a        $10", "longer     ?"]


def test_no_line_ends_in_blanks() -> None:
    assert aligned([("a", "b"), ("c", "")]) == ["a  b", "c"]
