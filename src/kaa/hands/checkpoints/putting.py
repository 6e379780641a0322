"""Puts files, symlinks and directories back: each only in place of what is expected there, through no symlink."""

import contextlib
import errno
import os
import stat

from kaa.hands.checkpoints.roots import Nearby, Roots
from kaa.hands.checkpoints.states import State, look

_NEW_DIRECTORY_MODE = 0o777  # less the umask
_PERMISSIONS = 0o777
_MOST_SET_ASIDE = 100  # of one name
_SPECIAL_BITS = {stat.S_ISUID: "set-user-ID", stat.S_ISGID: "set-group-ID", stat.S_ISVTX: "sticky"}


class NotAsExpectedError(Exception):
    """Something else is there; nothing was changed."""


class Putter:
    """Puts back one thing after another.

    A file is replaced at once: a new one beside it gets its name, unless that cannot have the same owner and group.
    Nothing is synced to the disk, as with git: after a power failure the same restore can be done again, because the
    contents are kept elsewhere.

    Args:
        token: letters and digits in the names of temporary files, by which `remove_leftovers` finds them.
    """

    def __init__(self, roots: Roots, token: str) -> None:
        self._roots = roots
        self._nearby = Nearby(roots.opened_for_writing)
        self._prefix = _prefix(token)
        self._written = 0

    def put(self, path: str, expected: State | None, target: State | None, content: bytes) -> str:
        """Make a path what it is to be. Returns what the system did not allow of that, as a clause; "" if nothing.

        A directory is only removed if it is empty; otherwise it stays, as somebody else has put something there.
        A file whose special bits cannot be set is put without them.

        Args:
            path: as `Roots.find` takes it.
            expected: what is there; None: nothing. With a stamp, a file is not read if `stat` says that it is the same.
            target: what is to be there; None: nothing.

        Raises:
            NotAsExpectedError: something else is there.
            OSError: the system refused.
        """
        directory, _, name = path.rpartition("/")
        if self._roots.is_root(path) and expected and target and expected.kind == target.kind == "directory":
            self._nearby.forget()  # it may have more rights as long as it is open
            _set_mode_of_root(*self._roots.itself(directory), expected, target)
            return ""
        self._roots.find(path)  # raises where nothing may be changed
        descriptor = self._nearby.opened(directory)
        if descriptor is None and target is not None:
            self._make_directories(directory)
            descriptor = self._nearby.opened(directory)
        if descriptor is None:
            if target is None and expected is None:
                return ""
            raise NotAsExpectedError
        aside, remarks = "", ""
        if expected is not None and expected.kind == "other":  # nobody has its content
            aside, remarks, expected = *_set_aside(descriptor, name), None
        lost = 0
        try:
            if target is None:
                _remove(descriptor, name, expected)
            elif target.kind == "directory":
                _make_directory(descriptor, name, expected, target)
            else:
                lost = self._replace(descriptor, name, expected, target, content)
        except BaseException:
            if aside:
                with contextlib.suppress(OSError):
                    _rename(descriptor, aside, name)
            raise
        if "directory" in (expected and expected.kind, target and target.kind):
            self._nearby.forget()
        return "; ".join(filter(None, (remarks, _without(lost))))

    def close(self) -> None:
        """Let go of the directories."""
        self._nearby.forget()

    def _replace(self, directory: int, name: str, expected: State | None, target: State, content: bytes) -> int:
        """Put the new one beside the old one, then give it the name. Returns the special bits that it did not get."""
        self._written += 1
        lost = 0
        temporary = f"{self._prefix}{self._written:x}.tmp"
        try:
            if target.kind == "symlink":
                os.symlink(os.fsdecode(content), temporary, dir_fd=directory)
            else:
                lost = _write(directory, temporary, target.mode, content)
            _check(directory, name, expected)  # as late as can be
            if _has_owner_of(directory, temporary, name) or not _overwrite(directory, name, target.mode, content):
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            else:
                os.unlink(temporary, dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
        return lost

    def _make_directories(self, path: str) -> None:
        """Make the directories on the way that are missing.

        Raises:
            NotAsExpectedError: something else is in the way.
            OSError: one cannot be made.
        """
        made = start = self._roots.start_of(path)
        for name in path[len(start) :].strip("/").split("/") if path != start else ():
            descriptor = self._nearby.opened(made)
            if descriptor is None:
                raise NotAsExpectedError
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, _NEW_DIRECTORY_MODE, dir_fd=descriptor)
            made = f"{made}/{name}" if made else name


def _prefix(token: str) -> str:
    """With what the names of temporary files begin; `rules.covers_name` knows them."""
    return f".kaa-{token}-"


def remove_leftovers(roots: Roots, token: str, directories: list[str]) -> None:
    """Remove the temporary files that a `Putter` with this token left in directories when it was killed."""
    prefix = _prefix(token)
    for directory in directories:
        with contextlib.suppress(OSError), roots.opened_for_writing(directory) as descriptor:
            for name in os.listdir(descriptor) if descriptor is not None else ():
                if name.startswith(prefix):
                    os.unlink(name, dir_fd=descriptor)


def _check(directory: int, name: str, expected: State | None) -> None:
    state = look(directory, name, expected).state
    if state is not expected and (state is None or not state.same_as(expected)):
        raise NotAsExpectedError


def _set_aside(directory: int, name: str) -> tuple[str, str]:
    """Give a file whose content is not kept another name beside it. Returns that, and what people are told.

    Raises:
        NotAsExpectedError: something else is there.
        OSError: the system refused.
    """
    state = look(directory, name).state
    if state is None or state.kind != "other":
        raise NotAsExpectedError
    for number in range(1, _MOST_SET_ASIDE):
        aside = f"{name}.kaa-replaced" if number == 1 else f"{name}.kaa-replaced-{number}"
        with contextlib.suppress(FileExistsError):
            _rename(directory, name, aside)
            return aside, f"what was there is {aside} now, as it is too large to be kept or cannot be read"
    raise FileExistsError(errno.EEXIST, "there are too many files that were replaced", name)


def _rename(directory: int, name: str, other: str) -> None:
    """Rename a file, but over no other one."""
    os.link(name, other, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(name, dir_fd=directory)


def _remove(directory: int, name: str, expected: State | None) -> None:
    if expected is not None and expected.kind == "directory":
        _remove_directory(directory, name)
        return
    _check(directory, name, expected)
    if expected is not None:
        os.unlink(name, dir_fd=directory)


def _remove_directory(directory: int, name: str) -> None:
    """Remove a directory of whatever mode, if it is empty."""
    try:
        os.rmdir(name, dir_fd=directory)
    except (FileNotFoundError, NotADirectoryError):
        raise NotAsExpectedError from None
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _make_directory(directory: int, name: str, expected: State | None, target: State) -> None:
    """Make a directory, or give one that is there its mode.

    Raises:
        NotAsExpectedError: something else is there.
        OSError: it cannot be made, or cannot have this mode: the system drops bits without an error.
    """
    _check(directory, name, expected)
    mode = stat.S_IMODE(target.mode)
    if expected is None:
        os.mkdir(name, mode, dir_fd=directory)
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, os.O_RDONLY | flags, dir_fd=directory)
        place: int | str = descriptor
    except PermissionError:  # its owner may not read it, but may change that
        descriptor = os.open(name, os.O_PATH | flags, dir_fd=directory)
        place = _by_number(descriptor)
    try:
        _set_mode_of_directory(descriptor, place, mode)
    finally:
        os.close(descriptor)


def _set_mode_of_root(descriptor: int, now: State, expected: State, target: State) -> None:
    if not now.same_as(expected):
        raise NotAsExpectedError
    _set_mode_of_directory(descriptor, _by_number(descriptor), stat.S_IMODE(target.mode))


def _set_mode_of_directory(descriptor: int, place: int | str, mode: int) -> None:
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.chmod(place, mode)
    if (now := stat.S_IMODE(os.fstat(descriptor).st_mode)) != mode:
        raise PermissionError(errno.EPERM, f"the system set the mode {now:04o} instead of {mode:04o}")


def _by_number(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"  # fchmod(2) takes no descriptor of O_PATH


def _write(directory: int, name: str, mode: int, content: bytes) -> int:
    """Write a new file. Returns the special bits that it did not get."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    mode = stat.S_IMODE(mode)
    descriptor = os.open(name, flags, mode & _PERMISSIONS, dir_fd=directory)
    try:
        remaining = memoryview(content)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # the umask, or special bits
            _set_mode(descriptor, mode)
        return mode & ~os.fstat(descriptor).st_mode & ~_PERMISSIONS
    finally:
        os.close(descriptor)


def _has_owner_of(directory: int, new: str, name: str) -> bool:
    """Give a new file the owner and the group of what it replaces. False if it cannot have them; a link needs none."""
    new_state = os.lstat(new, dir_fd=directory)
    try:
        old = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    if (old.st_uid, old.st_gid) == (new_state.st_uid, new_state.st_gid) or not stat.S_ISREG(new_state.st_mode):
        return True
    if new_state.st_mode & ~_PERMISSIONS & 0o7777 or not stat.S_ISREG(old.st_mode):
        return True  # it must not run as somebody else
    from kaa.hands.in_place import take_owner  # lazy: few files have other owners and groups

    return take_owner(old, lambda user, group: os.chown(new, user, group, dir_fd=directory, follow_symlinks=False))


def _overwrite(directory: int, name: str, mode: int, content: bytes) -> bool:
    """Write into the file that is there, and give it a mode; False if that is not possible."""
    from kaa.hands.in_place import overwrite  # lazy: few files have other owners and groups

    def give_mode(descriptor: int) -> None:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != stat.S_IMODE(mode):
            with contextlib.suppress(PermissionError):  # whose it is decides
                os.fchmod(descriptor, stat.S_IMODE(mode))

    return overwrite(directory, name, content, give_mode)


def _set_mode(descriptor: int, mode: int) -> None:
    """Give a file its mode, or as much of it as the system allows: sandboxes do not allow the set-user-ID bit."""
    for refused in (0, stat.S_ISUID, stat.S_ISUID | stat.S_ISGID):
        try:
            os.fchmod(descriptor, mode & ~refused)
        except OSError:
            continue
        return
    os.fchmod(descriptor, mode & _PERMISSIONS)


def _without(bits: int) -> str:
    """What people are told of special bits that a file did not get."""
    names = [name for bit, name in _SPECIAL_BITS.items() if bits & bit]
    return f"restored without its {' and '.join(names)} bit{'s' if len(names) > 1 else ''}" if names else ""
