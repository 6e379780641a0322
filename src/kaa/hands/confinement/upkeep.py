"""Keeps the view true while the host changes: a mount hides what is there, not what comes or is replaced later."""

import contextlib
import os
from collections.abc import Iterable
from io import FileIO
from typing import TYPE_CHECKING

from kaa.hands.confinement.expansion import fits
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.masks import Masks
from kaa.hands.confinement.remembering import RememberedConcealment
from kaa.hands.confinement.view import SlotView, ancestors, host_sockets, is_replaced
from kaa.hands.policy import Policy

if TYPE_CHECKING:
    from kaa.hands.confinement.live_files import LiveFiles
    from kaa.hands.confinement.view_watch import ViewWatch

_NOTHING = (0, 0)
_SHOWS_OTHER = frozenset({"carved", "copy", "empty", "devices", "shared memory", "temporary", "hidden directory"})


class Upkeep:
    """Hides secrets and sockets of the host that appeared since.

    The fork-server's mounts reach the slots, running ones too, since theirs are slaves of its own.

    Args:
        view: as it was built.
        sockets: the host's /proc/net/unix, opened in the host's network namespace.
    """

    def __init__(
        self, policy: Policy, view: SlotView, writable: tuple[str, ...], masks: Masks, sockets: FileIO
    ) -> None:
        self._policy = policy
        self._kinds = {step.target: step.kind for step in view.steps}
        # Nothing of the host is there: it was made to hold what is shown below something that is not listed.
        self._made = {path for target in self._kinds for path in ancestors(target)} - self._kinds.keys()
        self._masks = masks
        self._sockets = sockets
        hidden = [path for path, kind in self._kinds.items() if kind in ("hidden directory", "hidden file")]
        self._masked = {path: _identity(path) for path in hidden}
        self._often_replaced = [path for path in hidden if is_below_any(path, writable)]
        self._concealment = RememberedConcealment(policy)
        awaited = tuple(one for one in policy.hidden if any(_reaches(one, root) for root in writable))
        self._awaited = RememberedConcealment(policy._replace(hidden=awaited)) if awaited else None
        self._behind_links: RememberedConcealment | None = None
        self._patterns_behind_links: tuple[str, ...] = ()

    def await_behind_links(self, patterns: Iterable[str]) -> None:
        """Hide from now on also what links lead to that the view does not have."""
        if (patterns := tuple(patterns)) != self._patterns_behind_links:
            self._patterns_behind_links = patterns
            self._behind_links = RememberedConcealment(self._policy._replace(hidden=patterns)) if patterns else None

    def catch_up(self) -> None:
        """Hide what is there by now.

        Raises:
            OSError: something cannot be hidden.
        """
        behind_links = self._behind_links.hidden() if self._behind_links is not None else ()
        self._hide((*self._concealment.hidden(), *behind_links, *host_sockets(self._sockets)))

    def hide_again(self) -> None:
        """Hide what was replaced in writable directories, or came there. Quick: 2 us for each path.

        Raises:
            OSError: something cannot be hidden.
        """
        came = self._awaited.hidden() if self._awaited is not None else ()
        self._hide((*self._often_replaced, *came))

    def view_watch(self, live: "LiveFiles | None") -> "ViewWatch":
        """What notices that something may have to be hidden, or shown.

        Raises:
            OSError: the system has no inotify, or none left for this user.
        """
        from kaa.hands.confinement.view_watch import ViewWatch  # lazy: commands do not run for long

        return ViewWatch(self._policy.hidden, self._is_seen, live)

    def _is_seen(self, directory: str) -> bool:
        nearest = next((path for path in (directory, *ancestors(directory)) if path in self._kinds), "")
        return self._kinds.get(nearest) not in _SHOWS_OTHER

    def _hide(self, paths: Iterable[str]) -> None:
        for path in paths:
            if (
                path in self._made
                or is_replaced(path, self._kinds)
                or self._masked.get(path, _NOTHING) == _identity(path)
            ):
                continue
            with contextlib.suppress(FileNotFoundError):  # it went as it came
                if os.path.isdir(path):
                    self._masks.hide_directory(path)
                else:
                    self._masks.hide_file(path)
            self._masked[path] = _identity(path)


def _reaches(pattern: str, directory: str) -> bool:
    """Whether a pattern can match something in a directory."""
    parts, above = pattern.split("/"), directory.split("/")
    # The last part first: most patterns have the same beginning, the home.
    return len(parts) > len(above) and all(map(fits, reversed(above), reversed(parts[: len(above)])))


def _identity(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return _NOTHING
    return status.st_dev, status.st_ino
