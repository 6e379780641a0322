"""Shows slots what the user has in /tmp and /var/tmp, and what appears directly in the home later.

Both directories are replaced in the view, the home by what was in it at the start. Here single files and directories of
the host are mounted into them, read-only, as they come and go; the mounts reach running slots too.

Of /tmp only regular files are shown that belong to the user and that every user of the machine may read: what programs
keep for themselves there (keys, swap files, browser profiles, sockets) has no such permission. Of the home, what is new
is shown unless a secret could have its name or lie in it; a new file must be readable for everybody too, because other
programs write secrets to a temporary name first.
"""

import contextlib
import errno
import glob
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kaa.hands.confinement import mounts
from kaa.hands.confinement.expansion import fits
from kaa.hands.confinement.layout import Layout
from kaa.hands.confinement.listing import HomeList, is_below_any
from kaa.hands.confinement.view import SlotView
from kaa.hands.policy import Policy
from kaa.hands.protected import STUB_MODE, is_stub

_MAX_FILES = 50  # the latest; each is a mount, of which every slot gets a copy
_MAX_ENTRIES = 2000  # looked at in one directory, with those below
_MAX_DEPTH = 3
_RESCAN_SECONDS = 30.0  # a change of permissions does not change the directory
_TICK_NS = 50_000_000  # two changes within one tick of the kernel's clock leave the same time
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HostEntry(NamedTuple):
    """Something of the host: a path relative to a directory, and which file it is."""

    name: str
    identity: tuple[int, int]
    modified_ns: int
    is_link: bool = False


class HostDirectory(Protocol):
    """A directory of the host, and what of it is shown.

    Attributes:
        hidden: patterns for secrets that links lead to which are not shown: nobody finds that out in the view.
    """

    @property
    def hidden(self) -> Sequence[str]: ...

    def wanted(self) -> dict[str, HostEntry] | None:
        """What is to be shown; None if nothing has changed."""

    def open(self, seen: HostEntry) -> int:
        """A descriptor without rights of what was seen.

        Raises:
            OSError: it is not there any more.
        """


class Arrivals:
    """Mounts what a source wants shown below some directories of the view.

    Args:
        targets: directories of the view. Commands may write them, or nobody.
    """

    def __init__(self, source: HostDirectory, targets: Iterable[str], built: Mapping[str, tuple[int, int]]) -> None:
        self._source = source
        self._targets = [_Target(path) for path in targets]
        self._shown: dict[str, tuple[int, int]] = dict(built)

    @property
    def hidden(self) -> Sequence[str]:
        return self._source.hidden

    def catch_up(self) -> bool:
        """Show what is there by now, and take away what is gone. What cannot be shown stays away.

        Returns:
            Whether anything has changed.
        """
        wanted = self._source.wanted()
        if wanted is None:
            return False
        for name, identity in list(self._shown.items()):
            if name not in wanted or wanted[name].identity != identity:
                del self._shown[name]
                for target in self._targets:
                    target.take_away(name)
        for seen in wanted.values():
            if seen.name not in self._shown:
                with contextlib.suppress(OSError):
                    self._show(seen)
        return True

    def leave(self) -> None:
        """In a slot: let go of what is mounted."""
        for target in self._targets:
            target.close()

    def _show(self, seen: HostEntry) -> None:
        handle = self._source.open(seen)
        try:
            if _identity(os.fstat(handle)) != seen.identity:
                return  # exchanged since it was judged
            for target in self._targets:
                target.show(seen.name, handle)
            self._shown[seen.name] = seen.identity
        finally:
            os.close(handle)


class _Target:
    """A directory of the view in which things of the host are shown."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._visible = os.open(path, _DIRECTORY)
        self._is_ours = bool(os.fstatvfs(self._visible).f_flag & os.ST_RDONLY)
        self._writable = mounts.clone(self._visible, writable=True)
        self._mounted: dict[str, int] = {}

    def show(self, name: str, handle: int) -> None:
        mode = os.fstat(handle).st_mode
        with _parent(self._writable, name, create=True) as parent:
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink("", dir_fd=handle), os.path.basename(name), dir_fd=parent)
                return
            self._make_stub(os.path.basename(name), parent, is_directory=stat.S_ISDIR(mode))
        with _parent(self._visible, name) as parent:
            place = os.open(os.path.basename(name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            self._mounted[name] = mounts.attach(handle, place)
        finally:
            os.close(place)

    def take_away(self, name: str) -> None:
        mount = self._mounted.pop(name, None)
        with contextlib.suppress(OSError):
            if mount is not None:
                mounts.uncover(mount)
            else:  # built at the start, in a directory that no command can change
                mounts.uncover_name(os.path.join(self._path, name))
        if mount is not None:
            os.close(mount)
        with contextlib.suppress(OSError), _parent(self._writable, name) as parent:
            self._remove_stub(os.path.basename(name), parent)

    def close(self) -> None:
        for descriptor in (self._visible, self._writable, *self._mounted.values()):
            os.close(descriptor)

    def _make_stub(self, name: str, parent: int, *, is_directory: bool) -> None:
        """Make what is to be mounted over, unless other hands with the same directory did.

        Raises:
            FileExistsError: a command has something of its own there.
        """
        try:
            if is_directory:
                os.mkdir(name, 0o755, dir_fd=parent)
            else:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(name, flags, STUB_MODE, dir_fd=parent))
        except FileExistsError:
            if not self._is_stub(name, parent):
                raise

    def _remove_stub(self, name: str, parent: int) -> None:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            os.rmdir(name, dir_fd=parent)
        elif stat.S_ISLNK(mode) or self._is_stub(name, parent):
            os.unlink(name, dir_fd=parent)

    def _is_stub(self, name: str, parent: int) -> bool:
        """What is in a directory that nobody else may write was made by the builder."""
        return self._is_ours or is_stub(name, parent)


class TemporaryFiles:
    """Regular files of the user in a directory for temporary files, which everybody may read.

    Attributes:
        hidden: no link is shown there.

    Args:
        directory: its descriptor, from before the view covered it.
        excluded: paths below that have a place of their own in the view, or are hidden.
    """

    hidden: Sequence[str] = ()

    def __init__(self, path: str, directory: int, user: int, excluded: Iterable[str]) -> None:
        self._path = path
        self._user = user
        self._excluded = frozenset(one.rstrip("/") for one in excluded)
        self._directory = directory
        self._scanned = float("-inf")
        self._times: dict[str, int] = {}
        self._last: list[HostEntry] = []

    def wanted(self) -> dict[str, HostEntry] | None:
        now = time.monotonic()
        if now - self._scanned < _RESCAN_SECONDS and all(map(self._is_unchanged, self._times)) and self._still_open():
            return None
        self._scanned = now
        self._times = {}
        found = sorted(self._scan(), key=lambda seen: seen.modified_ns, reverse=True)
        self._last = found[:_MAX_FILES]
        return {seen.name: seen for seen in self._last}

    def open(self, seen: HostEntry) -> int:
        """See `HostDirectory.open`.

        The file is judged again, since the directories on the way may have been exchanged.
        """
        with _parent(self._directory, seen.name) as parent:
            handle = os.open(os.path.basename(seen.name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        if self._is_open_to_all(os.fstat(handle)):
            return handle
        os.close(handle)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _is_open_to_all(self, status: os.stat_result) -> bool:
        return stat.S_ISREG(status.st_mode) and status.st_uid == self._user and bool(status.st_mode & stat.S_IROTH)

    def _is_unchanged(self, directory: str) -> bool:
        known = self._times[directory]
        try:
            return os.stat(directory or ".", dir_fd=self._directory, follow_symlinks=False).st_mtime_ns == known
        except OSError:
            return False

    def _still_open(self) -> bool:
        """Whether what is shown may still be shown: its permissions may have changed."""
        try:
            found = (os.stat(seen.name, dir_fd=self._directory, follow_symlinks=False) for seen in self._last)
            return all(map(self._is_open_to_all, found))
        except OSError:
            return False

    def _scan(self) -> Iterator[HostEntry]:
        # What is below something excluded is not entered, so that a path itself decides.
        ahead, left = [""] if self._path not in self._excluded else [], _MAX_ENTRIES
        while ahead and left > 0:
            directory = ahead.pop(0)
            inside = f"{directory}/" if directory else ""
            goes_on = not directory or directory.count("/") < _MAX_DEPTH - 2
            with contextlib.suppress(OSError), _listable(self._directory, directory) as descriptor:
                self._remember(directory, os.fstat(descriptor))
                for entry in os.scandir(descriptor):
                    left -= 1
                    if entry.name.startswith("."):
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    is_file = self._is_open_to_all(status)
                    if not is_file and not (goes_on and self._is_open_directory(status)):
                        continue  # most of them
                    name = inside + entry.name
                    if f"{self._path}/{name}" in self._excluded:
                        continue
                    if is_file:
                        yield HostEntry(name, _identity(status), status.st_mtime_ns)
                    else:
                        ahead.append(name)

    def _is_open_directory(self, status: os.stat_result) -> bool:
        everybody = stat.S_IROTH | stat.S_IXOTH
        return stat.S_ISDIR(status.st_mode) and status.st_uid == self._user and status.st_mode & everybody == everybody

    def _remember(self, directory: str, status: os.stat_result) -> None:
        settled = time.time_ns() - status.st_mtime_ns > _TICK_NS
        self._times[directory] = status.st_mtime_ns if settled else -1


class HomeEntries:
    """Entries of the home: those from the start, and new ones that no secret can be or lie in.

    Args:
        path: the real path of the home.
        directory: its descriptor, from before the view covered it.
        kept: names of the entries that were there at the start, and that slots may see.
        fixed: names of entries that have a place of their own in the view, or are hidden.
        listing: says which dot entries may be seen.
    """

    def __init__(
        self,
        path: str,
        directory: int,
        home: str,
        policy: Policy,
        kept: Iterable[str],
        fixed: Iterable[str],
        listing: HomeList,
    ) -> None:
        self._path = path
        self._kept = frozenset(kept)
        self._fixed = frozenset(fixed)
        self._listing = listing
        self._directory = directory
        self._patterns = tuple(dict.fromkeys(_first_names((*policy.hidden, *policy.unlisted), (path, home))))
        self._secrets = tuple(dict.fromkeys(_parts_below(policy.hidden, (path, home))))
        self._behind_links: tuple[str, ...] = ()
        self._time = -1

    @property
    def hidden(self) -> Sequence[str]:
        """See `HostDirectory`: `~/.docker -> dk` makes `~/dk/config.json` a secret."""
        return self._behind_links

    def wanted(self) -> dict[str, HostEntry] | None:
        status = os.fstat(self._directory)
        if status.st_mtime_ns == self._time:
            return None
        settled = time.time_ns() - status.st_mtime_ns > _TICK_NS
        self._time = status.st_mtime_ns if settled else -1
        links: list[str] = []
        found = {seen.name: seen for seen in self._scan(links)}
        self._behind_links = tuple(pattern for name in links for pattern in self._secrets_behind(name))
        return found

    def open(self, seen: HostEntry) -> int:
        return os.open(seen.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._directory)

    def _scan(self, hidden_links: list[str]) -> Iterator[HostEntry]:
        for entry in os.scandir(self._directory):
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if self._may_be_seen(entry.name, status):
                    yield HostEntry(entry.name, _identity(status), status.st_mtime_ns, stat.S_ISLNK(status.st_mode))
                elif stat.S_ISLNK(status.st_mode):
                    hidden_links.append(entry.name)

    def _secrets_behind(self, link: str) -> Iterator[str]:
        with contextlib.suppress(OSError):
            target = os.path.normpath(os.path.join(self._path, os.readlink(link, dir_fd=self._directory)))
            for name, _, below in self._secrets:
                if fits(link, name):
                    yield f"{glob.escape(target)}/{below}" if below else glob.escape(target)

    def _may_be_seen(self, name: str, status: os.stat_result) -> bool:
        mode = status.st_mode
        if name in self._fixed or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            return False
        if name in self._kept:
            return True
        if self._listing.leaves_out(os.path.join(self._path, name)) or any(
            fits(name, pattern) for pattern in self._patterns if pattern != ".*"
        ):
            return False
        return stat.S_ISLNK(mode) or bool(mode & stat.S_IROTH)


def _first_names(patterns: Iterable[str], homes: Iterable[str]) -> Iterator[str]:
    """The first part below the home of each pattern: what it hides is that, or lies in that."""
    return (name for name, _, _ in _parts_below(patterns, homes))


def _parts_below(patterns: Iterable[str], homes: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The first part below the home of each pattern, and the others."""
    beginnings = tuple(f"{glob.escape(home)}/" for home in homes)
    for pattern in patterns:
        for beginning in beginnings:
            if pattern.startswith(beginning):
                yield pattern[len(beginning) :].partition("/")


@contextlib.contextmanager
def _parent(root: int, name: str, *, create: bool = False) -> Iterator[int]:
    """The directory of something below a root, on a way without symlinks."""
    descriptor = os.dup(root)
    try:
        for part in name.split("/")[:-1]:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
            below = os.open(part, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _listable(root: int, directory: str) -> Iterator[int]:
    with _parent(root, directory) as parent:
        name = os.path.basename(directory) or "."
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def arrivals(
    policy: Policy, home: str, view: SlotView, layout: Layout, directories: Mapping[str, int]
) -> list[Arrivals]:
    """What shows things of some directories.

    Args:
        view: as it was built.
        layout: likewise.
        directories: descriptors of the host's directories, which the view covers, by their paths.
    """
    kinds = {step.target: step for step in view.steps}
    top = os.path.realpath(home)
    temporary = [path for path in directories if path != top]
    excluded = (*kinds.keys() - set(temporary), *layout.hidden)
    found: list[Arrivals] = []
    for path in temporary:
        below = [other for other in excluded if is_below_any(other, [path])]
        found.append(Arrivals(TemporaryFiles(path, directories[path], os.geteuid(), below), temporary, {}))
    if top in directories:
        inside = {os.path.basename(path): step for path, step in kinds.items() if os.path.dirname(path) == top}
        kept = [name for name, step in inside.items() if step.kind in ("readable", "link") and not step.has_more]
        fixed = inside.keys() - set(kept)
        source = HomeEntries(top, directories[top], home, policy, kept, fixed, HomeList(policy, layout.writable))
        found.append(Arrivals(source, [top], _identities(top, kept)))
    return found


def _identities(directory: str, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """What is mounted at the start. Of a link, its copy: it is made again."""
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        with contextlib.suppress(OSError):
            found[name] = _identity(os.lstat(os.path.join(directory, name)))
    return found
