"""Columns stand one below the other."""

from kaa.builtin.columns import aligned, fitted


def test_words_begin_on_the_left_and_figures_end_on_the_right() -> None:
    table = aligned([("model", "cost"), ("a", "$10"), ("longer", "?")])

    assert table == ["model   cost", "a        $10", "longer     ?"]


def test_no_line_ends_in_blanks() -> None:
    assert aligned([("a", "b"), ("c", "")]) == ["a  b", "c"]


_MODELS = [("model", "in", "out"), ("a", "1", "2"), ("a-long-name", "3", "4")]


def test_what_has_room_is_left_as_it_is() -> None:
    assert fitted(_MODELS, None, ["in"]) == fitted(_MODELS, 20, ["in"]) == aligned(_MODELS)


def test_a_long_name_stands_on_a_line_of_its_own() -> None:
    assert fitted(_MODELS, 16) == ["model  in  out", "a       1    2", "a-long-name", "        3    4"]


def test_columns_that_are_not_needed_are_left_out_where_there_is_no_room() -> None:
    assert fitted(_MODELS, 12, ["in", "out"]) == ["model  out", "a        2", "a-long-name", "         4"]
