"""Finds what patterns mean, before each command again: most of them mean nothing, and one system call says so."""

import contextlib
import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate

from kaa.hands.below import reach

_MAGIC = re.compile("[*?[]")
_EFFECTIVE = os.access in os.supports_effective_ids  # rights of a user namespace count only so


class Expansion:
    """What patterns mean now, as `glob` has it, with hidden names and without `**`.

    Each directory is read once, and the links that lead to it are followed once: what changed, another one sees.

    Attributes:
        closed: real paths of directories in which nobody knows what a pattern means: they cannot be read or entered,
            but a command that runs as the same user can change that, or need not list what it knows the name of.
        asked: paths that it has looked for, and `/.` behind directories that it has listed.
    """

    def __init__(self) -> None:
        self.closed: dict[str, None] = {}
        self.asked: dict[str, None] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._real: dict[str, str] = {}
        self._ways: dict[str, str | None] = {}

    def existing(self, patterns: Iterable[str], untrusted: Sequence[str] = ()) -> Iterator[str]:
        """Real paths of what exists, in the order of the patterns. What several mean comes several times.

        Args:
            patterns: absolute.
            untrusted: real directories in which commands may have made links: none that leads out of one counts.
        """
        for pattern in patterns:
            is_path = _parts(pattern) is None
            if is_path and self._way_to(_parent(pattern)) is None:
                self.asked[pattern] = None
                continue  # most of them: the directory is not there, as that of the pattern before
            for path in (pattern,) if is_path else self._candidates(pattern):
                self.asked[path] = None
                if not exists(path):
                    if closed := self._way_to(os.path.dirname(path)):
                        self.closed[os.path.realpath(closed)] = None
                elif (real := self._real_path(path)) and not (
                    untrusted and real != path and _leads_out(path, real, untrusted)
                ):
                    yield real

    def directories(self, pattern: str) -> Iterator[str]:
        """Real paths of the directories that a pattern means."""
        return filter(os.path.isdir, self.existing([pattern]))

    def _candidates(self, pattern: str) -> Iterator[str]:
        """Paths that fit a pattern. The last part exists if it comes from a listing."""
        magic = _parts(pattern)
        if magic is None:
            yield pattern
            return
        parent, name, test = magic
        for directory in self._candidates(parent):
            if test is None:
                yield os.path.join(directory, name)
            else:
                yield from (os.path.join(directory, entry) for entry in filter(test, self._listed(directory)))

    def _listed(self, directory: str) -> tuple[str, ...]:
        if (names := self._names.get(directory)) is None:
            self.asked[f"{directory}/."] = None
            if self._way_to(directory) is None:
                return ()
            try:
                names = tuple(os.listdir(directory))
            except PermissionError:
                names = self._names_in_closed(directory)
            except (OSError, ValueError):
                names = ()
            self._names[directory] = names
        return names

    def _names_in_closed(self, directory: str) -> tuple[str, ...]:
        with contextlib.suppress(OSError), reach(directory) as descriptor:
            if descriptor is not None:
                return tuple(os.listdir(descriptor))
        if closed := self._way_to(directory) or (directory if _may_enter(directory) else ""):
            self.closed[os.path.realpath(closed)] = None
        return ()

    def _way_to(self, directory: str) -> str | None:
        """The directory of this user that is closed on the way to one; "" if none is, None if it does not exist."""
        try:
            return self._ways[directory]
        except KeyError:
            unknown = []
        while directory.strip("/") and directory not in self._ways:
            unknown.append(directory)
            directory = os.path.dirname(directory)
        way = self._ways.get(directory, "")
        for below in reversed(unknown):
            if way == "" and not _may_enter(below):
                way = below if _is_own_directory(below) else None
            self._ways[below] = way
        return way

    def _real_path(self, path: str) -> str | None:
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            return None
        parent, _, name = path.rpartition("/")
        if stat.S_ISLNK(mode) or name in ("", ".", ".."):
            return os.path.realpath(path)
        if (real := self._real.get(parent)) is None:
            real = self._real[parent] = os.path.realpath(parent or "/").rstrip("/")
        return f"{real}/{name}"


def _leads_out(path: str, real: str, untrusted: Sequence[str]) -> bool:
    from kaa.hands.link_ways import leads_out  # lazy: little of what is shown is behind links

    return leads_out(path, real, untrusted)


@functools.cache
def _parent(path: str) -> str:
    """Of a path that is no pattern. What ends with a slash is looked for in itself, which need not be entered."""
    return os.path.dirname(path.rstrip("/"))


@functools.cache
def _parts(pattern: str) -> tuple[str, str, Callable[[str], object] | None] | None:
    """The parent of a pattern, its last part, and what fits that if it is a pattern itself; None if nothing is."""
    if not _MAGIC.search(pattern):
        return None
    parent, name = os.path.split(pattern)
    return parent, name, _test(name) if _MAGIC.search(name) else None


def fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern, as `fnmatchcase` has it. Most patterns are tried a few times in a process."""
    return name == pattern if _MAGIC.search(pattern) is None else bool(_test(pattern)(name))


def _may_enter(directory: str) -> bool:
    try:
        return os.access(directory, os.X_OK, effective_ids=_EFFECTIVE)
    except ValueError:  # there is a NUL in it
        return False


def _is_own_directory(path: str) -> bool:
    if not exists(path):
        return False
    status = os.stat(path)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def exists(path: str) -> bool:
    """As `os.path.exists`, in a third of the time: most of what is looked for is not there, and nothing is raised."""
    try:
        return os.access(path, os.F_OK, effective_ids=_EFFECTIVE)
    except ValueError:  # there is a NUL in it
        return False


@functools.cache
def _test(pattern: str) -> Callable[[str], object]:
    """What says whether a name fits. Most patterns have stars only: to compile an expression would take longer."""
    if "?" in pattern or "[" in pattern:
        return re.compile(translate(pattern)).match
    first, *inner, last = pattern.split("*")

    def is_fitting(name: str) -> bool:
        if not name.startswith(first):  # most do not
            return False
        at, end = len(first), len(name) - len(last)
        if at > end or not name.endswith(last):
            return False
        for part in inner:
            found = name.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    return is_fitting
