"""Ends a server when installed packages change that it may still load: they are seen as they are, and not copied.

A command could move a package away, put its own code there for one call of a server that has secrets, and move the
package back, which leaves no trace in files.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from kaa.hands.inotify import Inotify, WatchLimitError, watches_of_user
from kaa.host.log import LOG
from kaa.shell.mcp.code_files import has_name_of_program
from kaa.shell.mcp.installed import INSTALLED

# Nothing is loaded from them that has no file of its own, and programs write there whenever they run.
_LEFT_OUT = re.compile(r"__pycache__|\.cache|\.vite\w*|\.git")
_BUILT = frozenset({"target"})  # programs that are complete once they run
_CODE = re.compile(r".+\.(?:so|node|pth|egg-link|wasm|jar|json)|.+\.so\.[\d.]+|pyvenv\.cfg")
_MOST_ABOVE = 12  # folders above a package: of a project in a home, there are hardly more
_PART_OF_WATCHES = 4  # of what all programs of the user may watch


class LivePackages:
    """Watches the packages of a server until it is closed. All calls must come from one event loop.

    Args:
        code: of the server, as `code_of` found it.
    """

    def __init__(self, code: Mapping[str, str]) -> None:
        self._what = ""  # what has changed
        self._tell: Callable[[str], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._folders: dict[int, str] = {}
        self._above: dict[int, tuple[str, set[str]]] = {}  # folders on the way, and the names in them that lead on
        self._tops = [path for path, digest in code.items() if digest.startswith(INSTALLED)]
        self._tops = [path for path in self._tops if os.path.basename(path) not in _BUILT]
        self._ends = frozenset(("/", os.path.dirname(os.path.expanduser("~"))))
        self._inotify: Inotify | None = None

    async def open(self) -> None:
        """Begin to watch. What changes from now on is known.

        Raises:
            OSError: the system has no inotify, or none left for this user.
        """
        if not self._tops:
            return
        try:
            self._inotify = Inotify()
            await asyncio.to_thread(self._watch_all, self._inotify)
        except WatchLimitError as error:
            LOG.warning("not all packages of MCP servers are watched: %s", error)
        except OSError as error:
            self.close()
            raise OSError(
                error.errno,
                "it has secrets or hosts, and its installed packages, which commands can write, cannot be watched"
                f" ({error.strerror}): end a program that uses inotify, or raise fs.inotify.max_user_instances",
            ) from error
        if self._inotify is not None:
            self._loop.add_reader(self._inotify.fileno(), self._note)

    def tell(self, changed: Callable[[str], None]) -> None:
        """Have a function called once, with the path of what changes, or has changed."""
        self._tell = changed
        if self._what:
            changed(self._what)

    def close_from_thread(self) -> None:
        """Watch nothing any more, from a thread beside that of the loop."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.close)

    def close(self) -> None:
        """Watch nothing any more."""
        if self._inotify is not None:
            self._loop.remove_reader(self._inotify.fileno())
            self._inotify.close()
            self._inotify = None

    def _watch_all(self, inotify: Inotify) -> None:
        most = watches_of_user() // _PART_OF_WATCHES
        for top in self._tops:  # first: all of a package can be exchanged by one rename
            self._watch_above(inotify, top)
        for top in self._tops:
            for folder, folders, _ in os.walk(top):
                folders[:] = [name for name in folders if not _LEFT_OUT.fullmatch(name)]
                if len(self._folders) >= most:
                    raise WatchLimitError("the system gives no more watches")
                self._folders[_watch(inotify, folder)] = folder

    def _watch_above(self, inotify: Inotify, top: str) -> None:
        path = top
        for _ in range(_MOST_ABOVE):
            folder, name = os.path.split(path)
            if not name or folder in self._ends:
                return
            watch = _watch(inotify, folder)
            self._above.setdefault(watch, (folder, set()))[1].add(name)
            path = folder

    def _note(self) -> None:
        while self._inotify is not None and (happenings := self._inotify.take()):
            for one in happenings:
                folder, names = self._above.get(one.watch, ("", ()))
                if one.name in names:
                    self._what = os.path.join(folder, one.name)
                elif one.watch >= 0 and (
                    one.watch not in self._folders or not _counts(one.name, is_directory=one.directory)
                ):
                    continue
                else:
                    self._what = os.path.join(self._folders.get(one.watch, self._tops[0]), one.name).rstrip("/")
                self.close()
                if self._tell is not None:
                    self._tell(self._what)
                return


def _watch(inotify: Inotify, folder: str) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return inotify.watch_entries(descriptor)
    finally:
        os.close(descriptor)


def _counts(name: str, *, is_directory: bool) -> bool:
    """Whether what happened to a name can change what a program loads."""
    if is_directory:
        return _LEFT_OUT.fullmatch(name) is None
    return has_name_of_program(name) or _CODE.fullmatch(name) is not None
