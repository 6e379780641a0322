import pytest

from kaa.frontends.interactive.sessions.ago import shown_ago, shown_day, shown_moment
from tests.support.tables import each

NOW = 1_700_000_000.0


@each(
    ("seconds", "shown"),
    [(0, "now"), (-30, "now"), (59, "now"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (90_000, "1 d")],
)
def test_short_words_for_what_is_not_long_ago(seconds: int, shown: str) -> None:
    assert shown_ago(int((NOW - seconds) * 1000), NOW) == shown


def test_a_date_for_what_is_older_than_a_week() -> None:
    week = int((NOW - 8 * 86_400) * 1000)

    assert shown_ago(week, NOW) == shown_day(week)
    assert len(shown_day(week)) == len("2023-11-06")


@pytest.mark.parametrize("milliseconds", [10**18, -(10**18)])
def test_times_that_no_calendar_has_are_not_told(milliseconds: int) -> None:
    assert shown_day(milliseconds) == ""
    assert shown_moment(milliseconds) == ""


def test_an_unknown_time_is_not_told() -> None:
    assert shown_ago(0, NOW) == ""
