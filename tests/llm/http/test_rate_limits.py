"""When a server wants to be asked again."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kaa.llm.http.rate_limits import moment_in_words, wait_asked_for
from kaa.llm.http.transport import Headers
from tests.support.tables import each

NOW = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC).timestamp()


def wait(status: int = 429, /, **headers: str) -> float | None:
    return wait_asked_for(status, Headers(tuple((n.replace("_", "-"), v) for n, v in headers.items())), NOW)


@each(
    ("value", "seconds"),
    [
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("20ms", 0.02),
        ("7", 7.0),
        (str(int(NOW) + 9), 9.0),
        (str(int(NOW + 9) * 1000), 9.0),
        ("2026-01-02T03:05:00Z", 60.0),
        ("2026-01-02T03:03:00Z", 0.0),
        ("soon", None),
        ("", None),
        ("-4", None),
        ("9" * 400 + "s", None),
    ],
)
def test_the_end_of_a_limit_in_all_its_spellings(value: str, seconds: float | None) -> None:
    assert wait(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens=value) == seconds


def test_only_limits_that_are_used_up_count() -> None:
    assert (
        wait(
            X_RateLimit_Remaining_Requests="59",
            X_RateLimit_Reset_Requests="1h",
            X_RateLimit_Remaining_Tokens="0",
            X_RateLimit_Reset_Tokens="2s",
        )
        == 2.0
    )


def test_of_several_the_last_to_be_lifted_counts() -> None:
    limits = {
        "anthropic_ratelimit_requests_remaining": "0",
        "anthropic_ratelimit_requests_reset": "2026-01-02T03:04:05Z",
        "anthropic_ratelimit_input_tokens_remaining": "0",
        "anthropic_ratelimit_input_tokens_reset": "2026-01-02T03:04:30Z",
        "anthropic_ratelimit_output_tokens_remaining": "8000",
        "anthropic_ratelimit_output_tokens_reset": "2026-01-02T09:00:00Z",
    }

    assert wait(429, **limits) == 30.0


def test_a_limit_without_a_rest_is_taken_for_used_up() -> None:
    assert wait(x_ratelimit_reset="4") == 4.0


def test_what_asks_to_come_back_counts_first() -> None:
    assert wait(retry_after="3", x_ratelimit_remaining="0", x_ratelimit_reset="900") == 3.0


def test_limits_say_nothing_of_other_failures() -> None:
    assert wait(503, x_ratelimit_remaining="0", x_ratelimit_reset="900") is None
    assert wait(503, retry_after="5") == 5.0


@given(st.text(max_size=40))
def test_any_value_is_a_wait_or_none(value: str) -> None:
    asked = wait(x_ratelimit_reset=value)

    assert asked is None or asked >= 0


@given(st.floats(0, 1e300))
def test_any_wait_can_be_told(seconds: float) -> None:
    assert moment_in_words(seconds, NOW).startswith("in ")


def test_long_waits_are_told_with_the_time_of_day() -> None:
    assert moment_in_words(5, NOW) == "in 5 s"
    assert moment_in_words(3900, NOW).startswith("in 65 min, at ")
