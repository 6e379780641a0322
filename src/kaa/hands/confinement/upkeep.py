"""Keeps the view true while the host changes: a mount hides what is there, not what comes or is replaced later.

What is hidden is remembered for as long as nothing that decides it has changed, because each command asks again. What
patterns mean depends on the directories that are looked into on the way to what they name, and on nothing else: their
entries, owners and permissions. Whatever changes one of these also sets the time of the directory's last change
(ctime), which the system sets by its own clock and no program can choose.
"""

import contextlib
import os
import stat
import time
from collections.abc import Iterable
from io import FileIO
from typing import TYPE_CHECKING

from kaa.hands.confinement import kernel
from kaa.hands.confinement.contract import ConfinementError
from kaa.hands.confinement.expansion import Expansion, fits
from kaa.hands.confinement.layout import concealment
from kaa.hands.confinement.listing import is_below_any
from kaa.hands.confinement.masks import Masks
from kaa.hands.confinement.view import SlotView, ancestors, host_sockets, is_replaced
from kaa.hands.policy import Policy

if TYPE_CHECKING:
    from kaa.hands.confinement.live_files import LiveFiles
    from kaa.hands.confinement.view_watch import ViewWatch

_NOTHING = (0, 0)
_SHOWS_OTHER = frozenset({"carved", "copy", "empty", "devices", "shared memory", "temporary", "hidden directory"})
# What the kernel sets times of changes by: what changes after a reading has the same time or a later one.
_COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE, linux/time.h
_SECOND_NS = 1_000_000_000
_MAX_LINKS = 40  # on the way to one thing, as the kernel follows them
_State = tuple[int, int, int]


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


class RememberedConcealment:
    """What a policy hides, found anew only where something may have changed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._hidden: tuple[str, ...] = ()
        self._states: dict[str, _State] = {}  # of the directories that decided it; none: nothing is remembered
        self._reliable: dict[int, bool] = {}  # by device

    def hidden(self) -> tuple[str, ...]:
        """What is hidden now, as `concealment` finds it.

        Raises:
            ConfinementError: as there.
        """
        if self._states and all(_state(path) == state for path, state in self._states.items()):
            return self._hidden
        began = time.clock_gettime_ns(_COARSE_CLOCK)
        expansion = Expansion()
        self._states = {}
        self._hidden, _ = concealment(self._policy, expansion)
        policy = self._policy
        self._states = self._settled((*expansion.asked, *policy.writable, policy.cache, *policy.private), began)
        return self._hidden

    def _settled(self, paths: Iterable[str], began: int) -> dict[str, _State]:
        """The directories that decide what is at the paths, as they are.

        None if one may have changed since we looked, or could change without a trace.
        """
        ways = _Ways(paths)
        if ways.are_hidden:
            return {}
        states: dict[str, _State] = {}
        for path in ways.directories:
            state = _state(path)
            if state is None or not _is_before(state[2], began) or not self._is_reliable(state[0], path):
                return {}
            states[path] = state
        return states

    def _is_reliable(self, device: int, path: str) -> bool:
        if device not in self._reliable:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    self._reliable[device] = kernel.has_times_of_this_machine(descriptor)
                finally:
                    os.close(descriptor)
            except (OSError, ConfinementError):
                return False
        return self._reliable[device]


class _Ways:
    """Follows paths as the kernel does.

    Attributes:
        directories: real paths of all directories that were looked into.
        are_hidden: whether one is closed to us, so that we do not know where paths lead from there.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.directories: dict[str, None] = {}
        self.are_hidden = False
        self._ends: dict[str, str | None] = {"": "/", "/": "/"}
        for path in paths:
            self._follow(path, _MAX_LINKS)

    def _follow(self, path: str, links: int) -> str | None:
        """The real path of what is there; None if nothing is."""
        if path not in self._ends:
            above, _, name = path.rpartition("/")
            directory = self._follow(above, links)
            self._ends[path] = None if directory is None else self._below(directory, name, links)
        return self._ends[path]

    def _below(self, directory: str, name: str, links: int) -> str | None:
        self.directories[directory] = None
        if name in ("", "."):
            return directory
        if name == "..":
            return os.path.dirname(directory)
        path = os.path.join(directory, name)
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
            target = os.readlink(path) if is_link else ""
        except PermissionError:
            self.are_hidden = True
            return None
        except (OSError, ValueError):  # ValueError: there is a NUL in it
            return None
        if not is_link:
            return path
        return self._follow(os.path.join(directory, target), links - 1) if links else None


def _state(path: str) -> _State | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _is_before(changed: int, began: int) -> bool:
    """Whether what changed then must have another time if it changed again since `began`.

    Some file systems have whole seconds only, or two of them.
    """
    return changed + (0 if changed % _SECOND_NS else 2 * _SECOND_NS) < began
