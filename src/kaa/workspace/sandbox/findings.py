"""To whom a finding of the guard belongs: to the calls that run when it comes to light, or else to the user.

The guard sees what changed, not who changed it. A call that runs in the foreground is answered soon, so its result
carries what is found meanwhile. What comes to light between calls, or while only background processes and kaa's own
questions run, is in no result: the user is told at once, and the model with the next result, as information.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kaa.hands.below import is_below
from kaa.workspace.blocked import Blocked

Tell: TypeAlias = Callable[[str], None]

_MAX_FOR_MODEL = 8  # more than that is for the user to look at


class Carrier:
    """A call whose result says what was found while it ran.

    Args:
        path: absolute path of the only file that it writes; None: it may write anything.

    Attributes:
        found: what was found so far, each once.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self.found: list[Blocked] = []

    def takes(self, blocked: Blocked) -> bool:
        """Whether the call may have caused this."""
        if self.path is None:
            return True
        real = os.path.realpath(self.path)  # a link may have led there
        return bool(blocked.what) and (is_below(blocked.what, real) or is_below(real, blocked.what))


class Findings:
    """Gives each finding to whom it belongs."""

    def __init__(self) -> None:
        self._carriers: list[Carrier] = []
        self._tell: Tell | None = None
        self._untold: list[Blocked] = []  # while nobody can be told
        self._for_model: list[Blocked] = []

    @contextlib.contextmanager
    def carried(self, carrier: Carrier | None) -> Iterator[None]:
        """Give a call what is found meanwhile. None: the call has no result that anybody reads soon."""
        if carrier is None:
            yield
            return
        self._carriers.append(carrier)
        try:
            yield
        finally:
            self._carriers.remove(carrier)

    def deliver(self, found: Iterable[Blocked]) -> None:
        """Give what was found to the calls that may have caused it; tell the user what belongs to none."""
        for blocked in found:
            carriers = [carrier for carrier in self._carriers if carrier.takes(blocked)]
            for carrier in carriers:
                if blocked not in carrier.found:
                    carrier.found.append(blocked)
            if not carriers:
                self._notify(blocked)

    def tell(self, tell: Tell) -> None:
        """From now on, this is how the user is told; also of what was found before anybody could be."""
        self._tell = tell
        untold, self._untold = self._untold, []
        for blocked in untold:
            tell(blocked.notice)

    def take_for_model(self) -> tuple[Blocked, ...]:
        """What the user was told since the last time, for the model to know."""
        taken, self._for_model = tuple(self._for_model), []
        return taken

    def _notify(self, blocked: Blocked) -> None:
        if blocked not in self._for_model and len(self._for_model) < _MAX_FOR_MODEL:
            self._for_model.append(blocked)
        if self._tell is None:
            self._untold.append(blocked)
        else:
            self._tell(blocked.notice)
