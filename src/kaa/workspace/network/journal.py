"""What was reached and what was not, so that the result of a command can say it."""

from typing import NamedTuple, TypeVar

from kaa.workspace.network.destinations import Destination

Entry = TypeVar("Entry")

_MAX_DESTINATIONS = 256  # of each kind; the oldest are forgotten


class BlockedDestination(NamedTuple):
    """A destination that a command was kept from.

    Attributes:
        rule: the rule that would allow it, as the user writes it; None if none can.
        private: its name is permitted, but not its address, which is not public.
        waited: nobody said no: the command waited for an answer, and ended or gave up before there was one.
    """

    destination: Destination
    rule: str | None
    private: bool = False
    waited: bool = False


class NetworkJournal:
    """Remembers destinations with the time at which each was last asked for.

    Time is a count of entries. Commands share the journal: of two that run at once nobody can tell who asked.
    """

    def __init__(self) -> None:
        self._clock = 0
        self._blocked: dict[Destination, tuple[int, BlockedDestination]] = {}
        self._allowed: dict[Destination, int] = {}

    def mark(self) -> int:
        """The present, for `blocked_since` and `allowed_since`."""
        return self._clock

    def block(self, destination: Destination, rule: str | None, *, private: bool = False) -> None:
        """Note that a command was kept from a destination."""
        _put_last(self._blocked, destination, (self._tick(), BlockedDestination(destination, rule, private)))

    def hold(self, destination: Destination, rule: str, *, private: bool = False) -> None:
        """Note that a command waits for an answer about a destination: it is blocked until there is one."""
        entry = BlockedDestination(destination, rule, private, waited=True)
        _put_last(self._blocked, destination, (self._tick(), entry))

    def release(self, destination: Destination) -> None:
        """Note that a destination that a command waited for is permitted."""
        known = self._blocked.get(destination)
        if known is not None and known[1].waited:
            del self._blocked[destination]

    def allow(self, destination: Destination) -> None:
        """Note that a command was connected to a destination."""
        _put_last(self._allowed, destination, self._tick())

    def blocked_since(self, mark: int) -> tuple[BlockedDestination, ...]:
        """What commands were kept from since, each once."""
        return tuple(entry for time, entry in self._blocked.values() if time > mark)

    def allowed_since(self, mark: int) -> tuple[Destination, ...]:
        """What commands were connected to since, each once."""
        return tuple(where for where, time in self._allowed.items() if time > mark)

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _put_last(entries: dict[Destination, Entry], destination: Destination, entry: Entry) -> None:
    entries.pop(destination, None)
    entries[destination] = entry
    if len(entries) > _MAX_DESTINATIONS:
        del entries[next(iter(entries))]
