import pytest

from kaa.builtin.amounts import dollars


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "?"), (0.0, "$0.0000"), (0.01234, "$0.0123"), (1.0, "$1.00"), (1234.5, "$1,234.50")]
)
def test_money_is_told_as_exactly_as_it_matters(cost: float | None, text: str) -> None:
    assert dollars(cost) == text
