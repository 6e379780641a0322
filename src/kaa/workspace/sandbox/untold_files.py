"""Notes in kaa's home what the guard moved away, for the case that kaa is killed before it could tell anybody.

Each kaa writes a file of its own, which it removes when it ends: whatever lies there without its writer was not told,
or not settled. The next kaa in the project tells it, once.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from kaa.host import regular_files
from kaa.host.paths import is_below
from kaa.workspace.blocked import Blocked

_ENDING = ".moved"
_FILE_MODE, _FOLDER_MODE = 0o600, 0o700


class _Note(msgspec.Struct, frozen=True):
    """One file, and the project of who noted it."""

    root: str
    moved: Blocked


class UntoldFiles:
    """What this kaa moved away in a project."""

    def __init__(self, folder: str, root: str) -> None:
        self._folder = folder
        self._root = root
        self._path = ""
        self._descriptor: int | None = None

    def add(self, found: Iterable[Blocked]) -> None:
        """Note what was moved away, or written there since. On a disk that takes nothing, only this kaa knows it."""
        moved = [one for one in found if one.kept_as]
        with suppress(OSError):
            for one in moved:
                if self._descriptor is None:
                    self._descriptor = self._opened()
                os.write(self._descriptor, _encoded(_Note(self._root, one)))

    def close(self) -> None:
        """Forget all: whoever is there was told."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        os.makedirs(self._folder, _FOLDER_MODE, exist_ok=True)
        self._path = os.path.join(self._folder, f"{os.getpid()}-{os.urandom(6).hex()}{_ENDING}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, _FILE_MODE)
        regular_files.lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor


def _encoded(note: _Note) -> bytes:
    """A line of ASCII: names may have bytes that are no UTF-8, which Python has as lone surrogates."""
    return json.dumps(msgspec.to_builtins(note)).encode("ascii") + b"\n"


def take_untold(folder: str, names: Iterable[str], root: str) -> Iterator[Blocked]:
    """Yield what was moved away in a project by a kaa that was killed, and is not back. It is not told again."""
    for name in names:
        if name.endswith(_ENDING):
            with suppress(OSError):
                yield from _taken(os.path.join(folder, name), root)


def _taken(path: str, root: str) -> Iterator[Blocked]:
    with open(path, "rb", opener=regular_files.regular) as file:
        if _is_in_use(file.fileno(), os.path.basename(path)):
            return
        notes = []
        for line in file:
            with suppress(ValueError, msgspec.ValidationError):  # it was killed while it wrote
                notes.append(msgspec.convert(json.loads(line), _Note))
        if notes and not (is_below(root, [notes[0].root]) or is_below(notes[0].root, [root])):
            return
        os.unlink(path)
    moved: list[Blocked] = []
    for note in notes:
        _join(moved, note.moved)
    yield from filter(_is_away, dict.fromkeys(moved))


def _join(moved: list[Blocked], noted: Blocked) -> None:
    """Add what was moved away, or to the last one what was written there since."""
    for at, one in reversed(tuple(enumerate(moved))):
        is_same = (one.what, one.kept_as) == (noted.what, noted.kept_as)
        if is_same and (noted.later or not one.saved or noted.includes(one)):
            moved[at] = one.with_later(noted)
            return
    moved.append(noted)


def _is_in_use(descriptor: int, name: str) -> bool:
    """Return True if the kaa that writes a file lives."""
    try:
        if regular_files.lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return False
        os.kill(int(name.partition("-")[0]), 0)  # a file system without locks
    except (ProcessLookupError, ValueError):
        return False
    except (BlockingIOError, PermissionError):
        pass
    return True


def _is_away(moved: Blocked) -> bool:
    """Return True if somebody may miss what was moved away."""
    if not os.path.lexists(moved.kept_as):
        return False
    with suppress(OSError):
        return regular_files.read_regular(moved.what) != regular_files.read_regular(moved.saved or moved.kept_as)
    return True
