"""What an extension costs: the time to load it, the time of its hooks, and its failures."""

from collections.abc import Callable

# After so many, kaa does without the extension.
MOST_FAILURES = 3
_MOST_REFUSALS = 20


class Costs:
    """Measured from the time at which an extension, or a new version of it, is loaded.

    Attributes:
        load_seconds: how long it took to start: for a process, with its handshake.
        calls: how often hooks and observers ran.
        seconds: how long that took, without questions to the user.
        slowest: the hook that took longest once.
        slowest_seconds: how long.
        failures: how often something failed.
        last_failure: what was said of the last one; empty if there is none.
        refusals: why some of what it registered has no effect, in sentences; the first ones.
        on_failure: called after each failure.
    """

    def __init__(self) -> None:
        self.load_seconds = 0.0
        self.calls = 0
        self.seconds = 0.0
        self.slowest = ""
        self.slowest_seconds = 0.0
        self.failures = 0
        self.last_failure = ""
        self.refusals: list[str] = []
        self.on_failure: Callable[[], None] = lambda: None

    def called(self, what: str, seconds: float) -> None:
        """Count a call of a hook."""
        self.calls += 1
        self.seconds += seconds
        if seconds > self.slowest_seconds:
            self.slowest, self.slowest_seconds = what, seconds

    def refused(self, problem: str) -> None:
        """Keep why something that it registered has no effect."""
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.append(problem)

    def failed(self, failure: str) -> None:
        """Count a failure."""
        self.failures += 1
        self.last_failure = failure
        self.on_failure()
