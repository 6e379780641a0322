"""Moves new protected names at the top of the project away at once, whatever the guard is busy with.

The guard takes its time: it lets events gather, and reads indexes and new trees. Meanwhile an editor that watches the
project could read a `.vscode` that a command has made. A thread with a queue of its own waits for these names alone.
"""

import _thread  # `threading` would load for a millisecond
import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterable
from functools import partial

from kaa.hands.below import RootDirectory
from kaa.hands.inotify import Inotify, WatchLimitError
from kaa.hands.protected import may_be_guarded

# How long the guard's own thread goes on when this one has something to do; Python's default is 5 ms for each step.
_SWITCH_SECONDS = 0.0005
_MAX_BELOW = 1024  # directories in new ones that are watched; others are moved away as a whole
# After other names have appeared: a command that makes files in a loop does not make this one too.
_REST_MILLISECONDS = 2


class Lookout:
    """The thread. It ends with `close`.

    Args:
        move_away: called from the thread with a directory, a name in it that is new, or below which something is new,
            and that may be protected; and with what watches a directory below that name, until it is gone.

    Raises:
        OSError: there is no second queue of inotify, or no thread.
    """

    def __init__(
        self, roots: Iterable[RootDirectory], move_away: Callable[[RootDirectory, str, Callable[[int], bool]], None]
    ) -> None:
        self._inotify = Inotify()
        self._move_away = move_away
        self._roots: dict[int, RootDirectory] = {}
        self._below: dict[int, tuple[RootDirectory, str]] = {}  # of what is watched below which name
        for root in roots:
            with contextlib.suppress(WatchLimitError, OSError):  # the guard sees it too, only later
                self._roots[self._inotify.watch_names(root.descriptor)] = root
        self._closing = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._runs = _thread.allocate_lock()
        self._runs.acquire()
        self._switch_seconds = sys.getswitchinterval()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            self._let_go()
            raise OSError(str(error)) from error
        sys.setswitchinterval(_SWITCH_SECONDS)

    def close(self) -> None:
        os.eventfd_write(self._closing, 1)
        self._runs.acquire()
        sys.setswitchinterval(self._switch_seconds)
        self._let_go()

    def _let_go(self) -> None:
        os.close(self._closing)
        self._inotify.close()

    def _run(self) -> None:
        try:
            poll, poll_at_rest = select.poll(), select.poll()
            poll.register(self._inotify, select.POLLIN)
            for each in (poll, poll_at_rest):
                each.register(self._closing, select.POLLIN)
            resting = False
            while True:
                ready = poll_at_rest.poll(_REST_MILLISECONDS) if resting else poll.poll()
                if self._closing in (descriptor for descriptor, _ in ready):
                    return
                resting = not resting and not self._act()
        finally:
            self._runs.release()

    def _act(self) -> bool:
        """Deal with what has appeared; whether a name of it may be guarded."""
        guarded: dict[tuple[RootDirectory, str], None] = {}
        for happening in self._inotify.take():
            root = self._roots.get(happening.watch)
            if happening.over:
                self._below.pop(happening.watch, None)
            elif root is None:
                guarded.update(dict.fromkeys([self._below[happening.watch]] if happening.watch in self._below else ()))
            elif may_be_guarded(happening.name.casefold()):
                guarded[root, happening.name] = None
        for root, name in guarded:
            self._move_away(root, name, partial(self._watch_below, root, name))
        return bool(guarded)

    def _watch_below(self, root: RootDirectory, name: str, directory: int) -> bool:
        if len(self._below) >= _MAX_BELOW:
            return False
        try:
            self._below[self._inotify.watch_names(directory)] = root, name
        except (WatchLimitError, OSError):
            return False
        return True
