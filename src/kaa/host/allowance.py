"""Limits how fast something may come."""

import time


class RateLimiter:
    """So many at once, and so many more a second.

    Args:
        a_second: how many come back each second.
    """

    def __init__(self, a_second: float, burst: float) -> None:
        self._a_second = a_second
        self._burst = burst
        self._left = burst
        self._at = time.monotonic()

    def take(self, number: float) -> bool:
        """Take some. False if there are not as many."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._a_second)
        self._at = now
        if number > self._left:
            return False
        self._left -= number
        return True
