"""Keeps what is entered while a conversation is being opened, in a file of kaa's home.

Before a session is open nobody knows beside which file its drafts and messages belong. The process whose text it is
holds a lock on the file; if that process is killed, the next kaa in the same directory puts the text into its editor.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.host.process import current_directory
from kaa.host.regular_files import lock, read_open
from kaa.tui.sanitize import sanitize

_FOLDER = "starting"
_ENDING, _UNFINISHED = ".json", ".new"
_UNFINISHED_SECONDS = 3600  # far longer than a file is written
_LARGEST_BYTES = 4 * 1024 * 1024
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700


class _Entered(msgspec.Struct, frozen=True):
    """What stands in the file."""

    directory: str
    text: str


class LeftText(NamedTuple):
    """What was entered while a kaa started that was killed.

    Attributes:
        text: all of it, in the order in which it was entered.
        let_go: remove the files that keep it, because something else does.
    """

    text: str
    let_go: Callable[[], None]


class EarlyText:
    """What this process was given and no session has yet."""

    def __init__(self, home: str | Path) -> None:
        self._path = Path(home) / _FOLDER / f"{os.getpid()}-{os.urandom(4).hex()}{_ENDING}"
        self._held: int | None = None  # the descriptor of the file, which has the lock

    def keep(self, texts: Sequence[str]) -> None:
        """Keep these texts instead of those before.

        Raises:
            OSError: it cannot be written, or is too long.
        """
        text = "\n\n".join(one for one in texts if one.strip())
        if not text:
            self.let_go()
            return
        entered = _Entered(_encodable(current_directory() or ""), _encodable(text))
        data = msgspec.json.encode(entered)
        if len(data) > _LARGEST_BYTES:
            raise OSError("the limit is 4 MiB")
        self._path.parent.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
        new = self._path.with_suffix(_UNFINISHED)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE_FILE)
        try:
            lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            new.replace(self._path)
        except BaseException:
            os.close(descriptor)
            new.unlink(missing_ok=True)
            raise
        self._hold(descriptor)

    def let_go(self) -> None:
        """Keep nothing any more: what was kept is in the session or its draft, or is not wanted."""
        if self._held is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._hold(None)

    def _hold(self, descriptor: int | None) -> None:
        before, self._held = self._held, descriptor
        if before is not None:
            os.close(before)


def left_text(home: str | Path) -> LeftText | None:
    """Find what was entered in this directory while kaa started, and was lost with its process; None for nothing."""
    held: list[tuple[Path, int]] = []
    texts = []
    directory = _encodable(current_directory() or "")
    for path in _files(Path(home) / _FOLDER):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        entered = _unheld(descriptor, path)
        if entered is None or entered.directory != directory:
            os.close(descriptor)
        else:
            held.append((path, descriptor))
            texts.append(sanitize(entered.text))

    def let_go() -> None:
        while held:
            path, descriptor = held.pop()
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(descriptor)

    return LeftText("\n\n".join(texts), let_go) if texts else None


def _files(folder: Path) -> Iterator[Path]:
    """The files in which something is kept, oldest first. What kills left unfinished is removed."""
    found = []
    try:
        names = os.listdir(folder)
    except OSError:  # mostly: nothing was ever kept
        return
    for path in map(folder.joinpath, names):
        with contextlib.suppress(OSError):  # another kaa has removed it
            changed = path.lstat().st_mtime
            if path.suffix == _ENDING:
                found.append((changed, path))
            elif path.suffix == _UNFINISHED and changed < time.time() - _UNFINISHED_SECONDS:
                path.unlink()
    for _, path in sorted(found):
        yield path


def _unheld(descriptor: int, path: Path) -> _Entered | None:
    """What is in an open file whose process has ended, which is locked now; None for another one."""
    try:
        is_locked = lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_locked and path.name.startswith(f"{os.getpid()}-"):  # it is ours, where there are no locks
            return None
        if not os.path.samestat(
            os.fstat(descriptor), os.lstat(path)
        ):  # it was replaced or removed before it was locked
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return msgspec.json.decode(read_open(file, _LARGEST_BYTES), type=_Entered)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
