"""Notices when commands begin to be able to write code that a running program loads from where it is.

A program of the user's may import a module at any time, so also after its folder has become a project of another kaa,
or was added to a project. What commands could write before is copied, and not watched here.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from kaa.hands.inotify import Inotify, WatchLimitError
from kaa.host.known_projects import in_known_project, known_projects
from kaa.host.log import LOG
from kaa.host.paths import is_below, list_of_added, list_of_projects
from kaa.host.programs import written

_LOOK_SECONDS = 1.0


class CodeInPlace:
    """Watches which projects there are, until it is closed. All calls must come from one event loop.

    Args:
        places: files and folders of code: absolute paths, also behind links.
        environ: the user's variables.
        known: directories that commands can write already, as far as nobody has noted that.
    """

    def __init__(self, places: Iterable[str], environ: Mapping[str, str], known: Sequence[str] = ()) -> None:
        self._environ = environ
        known = tuple(_with_real(known))
        self._places = [
            place
            for place in dict.fromkeys(_with_real(places))
            if not is_below(place, known)
            and not any(_has(place, one) for one in known)
            and not _writer_of(place, environ)
        ]
        self._tell: Callable[[str, str], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._inotify: Inotify | None = None
        projects = list_of_projects(environ, environ.get("HOME") or os.path.expanduser("~"))
        self._folder = os.path.dirname(projects)
        self._names = frozenset(map(os.path.basename, (projects, list_of_added(projects))))

    @property
    def is_needed(self) -> bool:
        """Whether there is a place that no command could write so far."""
        return bool(self._places)

    def open(self) -> None:
        """Begin to watch. What commands begin to write from now on is told."""
        if not self.is_needed:
            return
        try:
            self._inotify = Inotify()
            os.makedirs(self._folder, 0o700, exist_ok=True)
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._inotify.watch_entries(descriptor)
            finally:
                os.close(descriptor)
        except (OSError, WatchLimitError) as error:
            LOG.warning("kaa looks every second which projects there are, because it cannot watch: %s", error)
            if self._inotify is not None:
                self._inotify.close()
                self._inotify = None
            self._look_again()
        else:
            self._loop.add_reader(self._inotify.fileno(), self._note)

    def tell(self, begins: Callable[[str, str], None]) -> None:
        """Have a function called once, with a place and the folder in which commands can write it."""
        self._tell = begins
        self.look()

    def look(self) -> None:
        """Find out whether commands can write one of the places by now."""
        found = ((place, project) for place in self._places if (project := _writer_of(place, self._environ)))
        if self._tell is not None and (first := next(found, None)) is not None:
            self.close()
            self._tell(*first)

    def close(self) -> None:
        """Watch nothing any more."""
        self._places.clear()
        if self._inotify is not None:
            self._loop.remove_reader(self._inotify.fileno())
            self._inotify.close()
            self._inotify = None

    def close_from_thread(self) -> None:
        """The same, from a thread beside that of the loop."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.close)

    def _look_again(self) -> None:
        self.look()
        if self.is_needed:
            self._loop.call_later(_LOOK_SECONDS, self._look_again)

    def _note(self) -> None:
        happened = False
        while self._inotify is not None and (happenings := self._inotify.take()):
            happened = happened or any(one.watch < 0 or one.name in self._names for one in happenings)
        if happened:
            self.look()


def writer_of(places: Iterable[str], environ: Mapping[str, str]) -> str:
    """The folder in which commands can write one of some places, or could in any run of kaa; empty for none."""
    return next(filter(None, (_writer_of(place, environ) for place in _with_real(places))), "")


def _with_real(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        yield place
        yield os.path.realpath(place)


def _writer_of(place: str, environ: Mapping[str, str]) -> str:
    if now := next((one for one in written() if is_below(place, (one,)) or _has(place, one)), ""):
        return now
    if known := in_known_project(place, environ, "", added=True):
        return known
    return next((one for one in known_projects(environ, "", added=True) if _has(place, one)), "")


def _has(place: str, project: str) -> bool:
    """Whether a project lies in a folder of code."""
    return is_below(project, (place,))
