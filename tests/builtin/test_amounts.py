import pytest

from kaa.builtin.amounts import dollars, listed


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "?"), (0.0, "$0.0000"), (0.01234, "$0.0123"), (1.0, "$1.00"), (1234.5, "$1,234.50")]
)
def test_money_is_told_as_exactly_as_it_matters(cost: float | None, text: str) -> None:
    assert dollars(cost) == text


@pytest.mark.parametrize(
    ("names", "text"), [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")]
)
def test_of_many_names_the_first_are_listed(names: tuple[str, ...], text: str) -> None:
    assert listed(names, 2) == text
