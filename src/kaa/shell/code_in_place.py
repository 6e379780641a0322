"""Notices when commands begin to be able to write code that a running program loads from where it is.

A program of the user's may import a module at any time, so also after its folder has become a project of another kaa,
or was added to a project. What commands could write before is copied, and not watched here.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from kaa.hands.inotify import Inotify, WatchLimitError
from kaa.host.log import LOG
from kaa.host.paths import is_below, list_of_added, list_of_projects
from kaa.host.writers import writers_around

_LOOK_SECONDS = 1.0


class UnwrittenCode:
    """Files and folders of code that no command could write when this was made.

    What is decided because of that before a wait, such as for the user's permission, holds as long as `writer` says so.

    Args:
        places: files and folders of code: absolute paths, also behind links.
        known: directories that commands can write already, as far as nobody has noted that.
        toolchains: whether commands count as able to write a directory that was added in an earlier run and is searched
            for programs.
    """

    def __init__(
        self, places: Iterable[str], environ: Mapping[str, str], known: Sequence[str] = (), *, toolchains: bool
    ) -> None:
        self.environ = environ
        self._toolchains = toolchains
        known = tuple(_with_real(known))
        self._places: dict[str, frozenset[str]] = {}  # with directories in them that commands could write before
        for place in dict.fromkeys(_with_real(places)):
            whole, within = writers_around(place, environ, toolchains=toolchains)
            if not whole and not is_below(place, known):
                self._places[place] = within.union(one for one in known if is_below(one, (place,)))

    def __bool__(self) -> bool:
        return bool(self._places)

    def writer(self) -> tuple[str, str] | None:
        """Return a place that commands can write by now, and the directory in which they can; None for none."""
        for place, before in self._places.items():
            whole, within = writers_around(place, self.environ, toolchains=self._toolchains)
            if project := whole or next((one for one in sorted(within) if not is_below(one, before)), ""):
                return place, project
        return None


class CodeInPlace:
    """Watches which projects there are, until it is closed. All calls must come from one event loop."""

    def __init__(self, code: UnwrittenCode) -> None:
        self._code: UnwrittenCode | None = code or None
        self._tell: Callable[[str, str], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._inotify: Inotify | None = None
        projects = list_of_projects(code.environ, code.environ.get("HOME") or os.path.expanduser("~"))
        self._folder = os.path.dirname(projects)
        self._names = frozenset(map(os.path.basename, (projects, list_of_added(projects))))

    def open(self) -> None:
        """Begin to watch. What commands begin to write from now on is told."""
        if self._code is None:
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
        """Have a function called once, with a place and the directory in which commands can write it."""
        self._tell = begins
        self.look()

    def look(self) -> None:
        """Find out whether commands can write one of the places by now."""
        if self._code is not None and self._tell is not None and (found := self._code.writer()) is not None:
            self.close()
            self._tell(*found)

    def close(self) -> None:
        self._code = None
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
        if self._code is not None:
            self._loop.call_later(_LOOK_SECONDS, self._look_again)

    def _note(self) -> None:
        happened = False
        while self._inotify is not None and (happenings := self._inotify.take()):
            happened = happened or any(one.watch < 0 or one.name in self._names for one in happenings)
        if happened:
            self.look()


def _with_real(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        yield place
        yield os.path.realpath(place)
