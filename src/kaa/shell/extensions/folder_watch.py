"""Reports that something changed in folders. Nothing runs as long as nothing changes, where the system tells of it."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kaa.hands.inotify import Inotify, WatchLimitError
from kaa.host.log import LOG

# After the last change of a burst, such as a checkout.
_QUIET_SECONDS = 0.2
# Where changes do not cease.
_LONGEST_SECONDS = 2.0
# Where the system does not tell of changes, every so often there may have been one.
_UNTOLD_SECONDS = 2.0


class FolderWatch:
    """Watches folders, but not what is below the folders in them. All calls must come from one event loop.

    The report does not say what changed: the receiver compares files. So no event has to be interpreted, and one that
    the kernel drops in a burst is not missed.

    Args:
        changed: called after files were written, renamed, created or removed; once for changes that follow each other.
            Where the system tells of no changes, or of no more for this user: every two seconds.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._inotify: Inotify | None = None
        self._watches: set[int] = set()
        self._quiet: asyncio.TimerHandle | None = None
        self._latest = 0.0  # when changes are reported that do not cease
        try:
            self._inotify = Inotify()
        except OSError as error:
            LOG.info("extensions are compared every %g s: %s", _UNTOLD_SECONDS, error)
            self._quiet = self._loop.call_later(_UNTOLD_SECONDS, self._report_again)
        else:
            self._loop.add_reader(self._inotify.fileno(), self._note)

    def set(self, folders: Iterable[Path]) -> None:
        """Watch these folders, and no other. One that cannot be read is left out.

        A folder that is new here is reported: it may have changed before.
        """
        if self._inotify is None:
            return
        watches: set[int] = set()
        for folder in folders:
            try:
                watches.add(_watch(self._inotify, folder))
            except OSError:
                continue  # it was removed, for example
            except WatchLimitError:
                LOG.warning(
                    "extensions: %s and other folders are not watched: the system gives no more watches", folder
                )
                break
        for watch in self._watches - watches:
            self._inotify.forget(watch)
        before, self._watches = self._watches, watches
        if watches - before:
            self._plan_report()

    def close(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        if self._inotify is not None:
            self._loop.remove_reader(self._inotify.fileno())
            self._inotify.close()

    def _note(self) -> None:
        while self._inotify is not None and self._inotify.take():
            pass
        self._plan_report()

    def _plan_report(self) -> None:
        now = self._loop.time()
        if self._quiet is None:
            self._latest = now + _LONGEST_SECONDS
        else:
            self._quiet.cancel()
        self._quiet = self._loop.call_at(min(now + _QUIET_SECONDS, self._latest), self._report)

    def _report(self) -> None:
        self._quiet = None
        self._changed()

    def _report_again(self) -> None:
        self._quiet = self._loop.call_later(_UNTOLD_SECONDS, self._report_again)
        self._changed()


def _watch(inotify: Inotify, folder: Path) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return inotify.watch_entries(descriptor)
    finally:
        os.close(descriptor)
