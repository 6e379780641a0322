"""How often and how long to wait when a model cannot be reached."""

import msgspec

from kaa.core.errors import ProviderError


class RetryPolicy(msgspec.Struct, frozen=True):
    """Exponential backoff.

    Attributes:
        max_attempts: retries after the first try; 0 switches retrying off.
        base_seconds: wait before the first retry; doubles each time.
        max_seconds: the longest wait of our own choice.
        max_retry_after: the longest wait a server may ask for; if it asks for more, we give up and say so.
    """

    max_attempts: int = 5
    base_seconds: float = 0.5
    max_seconds: float = 5.0
    max_retry_after: float = 60.0

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds to wait before retry number `attempt` (from 1), or None to give up."""
        if not error.transient or attempt > self.max_attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_retry_after else None
        return float(min(self.base_seconds * 2 ** (attempt - 1), self.max_seconds))
