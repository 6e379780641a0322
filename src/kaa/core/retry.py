"""How often and how long to wait when a model cannot be reached."""

from collections.abc import Callable

import msgspec

from kaa.core.errors import ProviderError


class RetryPolicy(msgspec.Struct, frozen=True):
    """Exponential backoff.

    Attributes:
        max_attempts: retries after the first try; 0 switches retrying off.
        base_seconds: wait before the first retry; doubles each time.
        max_seconds: the longest wait of our own choice.
        max_retry_after: the longest wait a server may ask for; if it asks for more, we give up and say so.
        jitter: the part of a wait of our own, from 0 to 1, that chance may take off it, so that not all who met the
            same failure come back at once. What a server asks for is never cut.
    """

    max_attempts: int = 5
    base_seconds: float = 0.5
    max_seconds: float = 5.0
    max_retry_after: float = 60.0
    jitter: float = 0.0

    def delay(self, error: ProviderError, attempt: int, chance: Callable[[], float] | None = None) -> float | None:
        """Seconds to wait before retry number `attempt` (from 1), or None to give up.

        Args:
            error: what happened.
            attempt: which retry it would be.
            chance: a number from 0 to 1, another each time; None for a random one.
        """
        if not error.transient or attempt > self.max_attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_retry_after else None
        seconds = float(min(self.base_seconds * 2 ** (attempt - 1), self.max_seconds))
        return seconds * (1 - self.jitter * (chance or _random)()) if self.jitter else seconds

    def verdict(self, error: ProviderError) -> str:
        """What to tell of an error after which nothing is tried again."""
        asked = error.retry_after
        if error.transient and self.max_attempts and asked is not None and asked > self.max_retry_after:
            return f"{error} kaa waits {self.max_retry_after:g} s at most (setting retry.provider.maxRetryDelayMs)."
        return str(error)


def _random() -> float:
    import random  # lazy: takes some ms, and most runs never wait

    return random.random()  # noqa: S311 - nothing depends on nobody guessing it
