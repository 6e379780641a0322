"""Removes directories that commands have filled: however deep, whatever the names, never through a symlink.

Not `shutil.rmtree`: up to Python 3.12 it recurses and opens one descriptor per level, so a deep tree ends it. Here a
directory that lies deeper than one level is first moved up, so two descriptors are enough for any depth.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

_OPENED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALL_RIGHTS = 0o700


def remove_tree(name: str, parent: int) -> None:
    """Remove a directory with all that is in it; what resists stays, without an error.

    Args:
        name: of the directory, without `/`.
        parent: descriptor of the directory that it is in.
    """
    with contextlib.suppress(OSError), _opened(name, parent) as top:
        names = _moved_names()
        while _empty_one_level(top, names):
            pass
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=parent)


def _empty_one_level(top: int, names: Iterator[str]) -> bool:
    """Remove what is in a directory, and move what lies two levels below it up. Returns whether to go on."""
    removed = 0
    directories = _unlink_files(top)
    for directory in directories:
        with contextlib.suppress(OSError):
            with _opened(directory, top) as inside:
                for deeper in _unlink_files(inside):
                    _move_up(deeper, inside, top, next(names))
            os.rmdir(directory, dir_fd=top)
            removed += 1
    return removed > 0


def _unlink_files(directory: int) -> list[str]:
    """Remove all that is no directory; the names of those that are."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append(entry.name)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.name, dir_fd=directory)
    return found


def _move_up(name: str, source: int, target: int, new_name: str) -> None:
    with contextlib.suppress(OSError):
        with _opened(name, source):  # its `..` changes, for which it has to be writable
            pass
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)


@contextlib.contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    """A directory that can be listed and changed, also if a command took its owner's rights away."""
    try:
        descriptor = os.open(name, _OPENED, dir_fd=parent)
    except PermissionError:
        _permit(name, parent)
        descriptor = os.open(name, _OPENED, dir_fd=parent)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & _ALL_RIGHTS != _ALL_RIGHTS:
            os.fchmod(descriptor, _ALL_RIGHTS)
        yield descriptor
    finally:
        os.close(descriptor)


def _permit(name: str, parent: int) -> None:
    """Give the owner all rights to a directory that cannot even be opened. Only Linux can do that without a path."""
    handle = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | _OPENED, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _ALL_RIGHTS)
    finally:
        os.close(handle)


def _moved_names() -> Iterator[str]:
    """Names that nothing in the directory has."""
    prefix = os.urandom(8).hex()
    number = 0
    while True:
        number += 1
        yield f"{prefix}-{number}"
