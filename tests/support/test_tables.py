"""Tables that a test goes through: all rows are tried, and those that fail are named."""

import inspect

import pytest

from tests.support.tables import each


def test_all_rows_are_tried_with_what_fixtures_give() -> None:
    tried = []

    @each(("left", "right"), [(1, "a"), pytest.param(2, "b", id="second")])
    def test(fixture: str, left: int, right: str) -> None:
        tried.append((fixture, left, right))

    assert list(inspect.signature(test).parameters) == ["fixture"]
    test(fixture="given")
    assert tried == [("given", 1, "a"), ("given", 2, "b")]


def test_several_tables_are_tried_in_all_combinations() -> None:
    tried = []

    @each("left", [1, 2])
    @each("right", "ab")
    def test(left: int, right: str) -> None:
        tried.append((left, right))

    test()
    assert tried == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_a_row_that_fails_is_named_and_stops_no_other() -> None:
    tried = []

    @each("value", [1, 2, 3])
    def test(value: int) -> None:
        tried.append(value)
        assert value == 3, "not three"

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows fail") as failed:
        test()

    assert tried == [1, 2, 3]
    assert [error.__notes__ for error in failed.value.exceptions] == [["with value=1"], ["with value=2"]]


@pytest.mark.parametrize("ids", [["one", "two"], {1: "one", 2: "two"}.__getitem__])
def test_one_failure_is_raised_as_it_is(ids: list[str]) -> None:
    @each("value", [1, 2], ids)
    def test(value: int) -> None:
        if value == 2:
            pytest.fail("it is two")

    with pytest.raises(pytest.fail.Exception, match="it is two") as failed:
        test()

    assert failed.value.__notes__ == ["with two"]
