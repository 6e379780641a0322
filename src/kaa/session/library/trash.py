"""Moves sessions into the trash of the system, from where file managers and `trash-restore` bring them back.

Follows the trash specification of freedesktop.org, version 1.0; on macOS the file goes to `~/.Trash`. What cannot be
moved there stays where it is: nothing is deleted for good.
"""

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from kaa.session.errors import NotASessionError, SessionReadError, TrashError
from kaa.session.file.file_store import (
    HEADER_BYTES,
    agents_folder,
    draft_images_path,
    draft_path,
    find_header,
    journal_path,
    waiting_path,
)
from kaa.session.file.lock import lock

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_NAMES_TRIED = 10_000


def trash_session(path: Path, environ: Mapping[str, str]) -> Path:
    """Move a session, with all that belongs to it, into the trash.

    The session goes first, and comes back last (`restoring.restore`): where it stands, all that belongs to it stands.
    If kaa is killed in between, what belongs to it may be in either place, and restoring the session completes it.

    Args:
        environ: says where the user's data are (`XDG_DATA_HOME`, `HOME`).

    Returns:
        Where the file is now.

    Raises:
        SessionReadError: there is no such file.
        NotASessionError: it is something else; it was not touched.
        SessionBusyError: somebody has the session open.
        TrashError: it cannot be moved. It is where it was.
    """
    path = path.absolute()
    with _held(path):
        trash = trash_for(path, environ)
        deleted = time.strftime("%Y-%m-%dT%H:%M:%S")
        moved = [(path, _move(path, trash, deleted))]
        try:
            # A generator: what it yields before it fails is in the list.
            moved.extend((each, _move(each, trash, deleted)) for each in companions(path) if os.path.lexists(each))
        except TrashError:
            for each, trashed in reversed(moved):
                _put_back(trashed, each, trash)
            raise
        return moved[0][1]


def companions(session: Path) -> Sequence[Path]:
    """What belongs to a session file: its journal, what is typed, what waits, and the sessions of its agents."""
    typed = draft_path(session), draft_images_path(session)
    return journal_path(session), *typed, waiting_path(session), agents_folder(session)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep others from opening a session."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SessionReadError(path, error) from error
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if not is_file or find_header(os.pread(descriptor, HEADER_BYTES, 0)) is None:
            raise NotASessionError(path, "it does not begin with a session header")
        lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


class Trash:
    """A folder that files are moved to.

    Args:
        folder: with `files` and `info` in it; on macOS the files themselves.
        top: the mount's top directory, to which paths in it are relative; None in the user's own trash.
    """

    def __init__(self, folder: Path, top: Path | None = None, *, has_info: bool = True) -> None:
        self.files = folder / "files" if has_info else folder
        self.info = folder / "info" if has_info else None
        self._top = top

    def create(self) -> None:
        """Make the folders that are missing."""
        for folder in (self.files, self.info):
            if folder is not None:
                folder.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)

    def claim(self, path: Path, deleted: str) -> str:
        """A name that nothing in the trash has, taken with the note of where the file came from, and when."""
        for number in range(_NAMES_TRIED):
            name = path.name if number == 0 else f"{path.stem}.{number + 1}{path.suffix}"
            if (self.files / name).exists() or (self.files / name).is_symlink():
                continue
            if self.info is None:
                return name
            with contextlib.suppress(FileExistsError):
                note = self.info / f"{name}.trashinfo"
                descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
                with open(descriptor, "w", encoding="ascii") as file:
                    file.write(self._note(path, deleted))
                return name
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def release(self, name: str) -> None:
        """Give a name back."""
        if self.info is not None:
            with contextlib.suppress(OSError):
                (self.info / f"{name}.trashinfo").unlink()

    def note_of(self, name: str) -> Path | None:
        """The note of where a file came from; None where the system keeps none."""
        return self.info / f"{name}.trashinfo" if self.info is not None else None

    def origin(self, noted: str) -> Path:
        """The path that a note means."""
        return Path(noted) if self._top is None else self._top / noted

    def _note(self, path: Path, deleted: str) -> str:
        origin = path if self._top is None else path.relative_to(self._top)
        return f"[Trash Info]\nPath={quote(os.fsencode(origin), safe='/')}\nDeletionDate={deleted}\n"


def trash_for(path: Path, environ: Mapping[str, str]) -> Trash:
    """The trash that is on the disk of a file, or of a folder of files.

    Raises:
        OSError: the path cannot be examined.
    """
    if sys.platform == "darwin":
        return Trash(Path(os.path.expanduser("~/.Trash")), has_info=False)
    data = environ.get("XDG_DATA_HOME", "")
    own = Path(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "Trash")
    # Of the folder: in an overlay, a file of the lower layer has the device of that layer, and is moved like others.
    device = _folder_of(path).stat().st_dev
    if _existing(own).stat().st_dev == device:
        return Trash(own)
    top = path.parent.resolve()
    while not os.path.ismount(top):
        top = top.parent
    shared = top / ".Trash"
    if _is_sound(shared):
        return Trash(shared / str(os.getuid()), top)
    return Trash(top / f".Trash-{os.getuid()}", top)


def _folder_of(path: Path) -> Path:
    found = _existing(path)
    return found if found.is_dir() and not found.is_symlink() else found.parent


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _is_sound(shared: Path) -> bool:
    """Whether a trash for all users is what the specification demands: a real directory with the sticky bit."""
    try:
        mode = shared.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and bool(mode & stat.S_ISVTX)


def _move(path: Path, trash: Trash, deleted: str) -> Path:
    name = ""
    try:
        trash.create()
        name = trash.claim(path.parent.resolve() / path.name, deleted)
        move(path, trash.files / name)
    except OSError as error:
        if name:
            trash.release(name)
        raise TrashError(path, error) from error
    return trash.files / name


def _put_back(moved: Path, path: Path, trash: Trash) -> None:
    with contextlib.suppress(OSError):
        move(moved, path)
        trash.release(moved.name)


def move(path: Path, target: Path) -> None:
    """Give a file or folder another path. A folder of an overlay's lower layer cannot be renamed: it is copied.

    Raises:
        OSError: it is where it was, and nothing is at the other path.
    """
    try:
        path.rename(target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV or not path.is_dir() or path.is_symlink():
            raise
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copytree(path, unfinished, symlinks=True)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)  # what stays is a second copy
