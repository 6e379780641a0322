"""How long is waited before the next try, and what is told when there is none."""

from hypothesis import given
from hypothesis import strategies as st

from kaa.core.errors import AuthError, OverloadedError, RateLimitError
from kaa.core.retry import RetryPolicy


@given(st.integers(1, 8), st.floats(0, 1), st.floats(0, 1))
def test_chance_only_ever_shortens_a_wait_by_its_part(attempt: int, jitter: float, chance: float) -> None:
    sure = RetryPolicy(max_attempts=8).delay(OverloadedError("busy"), attempt)
    jittered = RetryPolicy(max_attempts=8, jitter=jitter).delay(OverloadedError("busy"), attempt, lambda: chance)

    assert sure is not None
    assert jittered is not None
    assert sure * (1 - jitter) <= jittered + 1e-9
    assert jittered <= sure


def test_what_a_server_asks_for_is_not_cut() -> None:
    policy = RetryPolicy(jitter=0.5)

    assert policy.delay(RateLimitError("wait", retry_after=7), 1, lambda: 1.0) == 7


def test_a_limit_that_lasts_too_long_is_told_with_the_setting() -> None:
    policy = RetryPolicy(max_retry_after=60)

    assert policy.verdict(RateLimitError("Slow down.", retry_after=3600)) == (
        "Slow down. kaa waits 60 s at most (setting retry.provider.maxRetryDelayMs)."
    )


def test_other_verdicts_are_the_errors_own_words() -> None:
    policy = RetryPolicy(max_retry_after=60)

    assert policy.verdict(RateLimitError("Slow down.", retry_after=1)) == "Slow down."
    assert policy.verdict(AuthError("No key.", retry_after=3600)) == "No key."
