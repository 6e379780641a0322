"""Brings sessions back from the trash of the system, to where they came from."""

import contextlib
import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from kaa.session.entries import SessionHeader
from kaa.session.errors import RestoreError
from kaa.session.file.append_file import create_private_folders
from kaa.session.file.file_store import HEADER_BYTES, find_header
from kaa.session.file.new_name import give_new_name
from kaa.session.library.trash import Trash, companions, move, trash_for
from kaa.session.naming import folder_name

_SUFFIX = ".jsonl"
_LONGEST_NOTE_BYTES = 64 * 1024


class Trashed(NamedTuple):
    """A session in the trash.

    Attributes:
        deleted: when it was moved there, ISO 8601 without time zone; empty where the system does not say.
        trash: the trash that holds it.
    """

    path: Path
    origin: Path
    deleted: str
    trash: Trash


def trashed_sessions(roots: Iterable[Path], environ: Mapping[str, str]) -> list[Trashed]:
    """The sessions in the trash, the last one that was moved there first.

    Args:
        roots: the folders of sessions; each disk has a trash of its own. The first one is the home of sessions
            of which the system does not say where they came from.
        environ: says where the user's data are (`XDG_DATA_HOME`, `HOME`).
    """
    roots = list(roots)
    trashes: dict[Path, Trash] = {}
    for root in roots:
        with contextlib.suppress(OSError):
            trash = trash_for(root / f"any{_SUFFIX}", environ)
            trashes.setdefault(trash.files, trash)
    found = [one for trash in trashes.values() for one in _sessions_in(trash, roots[0])]
    return sorted(found, key=lambda one: one.deleted, reverse=True)


def restore(trashed: Trashed) -> Path:
    """Move a session, and what belongs to it, back to where it came from. Returns its path.

    Raises:
        RestoreError: there is something in its place, or it cannot be moved. It is still in the trash.
    """
    origin = trashed.origin
    try:
        create_private_folders(origin.parent)
        if os.path.lexists(origin) and not _is_same(trashed.path, origin):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        for beside in companions(origin):
            if (moved := _belonging(trashed, beside)) is not None:
                with contextlib.suppress(FileExistsError):  # what stands there now counts
                    _move(moved, beside)
                    trashed.trash.release(moved.name)
        _move(trashed.path, origin)
    except OSError as error:
        raise RestoreError(trashed.path, origin, error) from error
    trashed.trash.release(trashed.path.name)
    return origin


def _sessions_in(trash: Trash, home: Path) -> list[Trashed]:
    found = []
    try:
        paths = [path for path in trash.files.iterdir() if path.suffix == _SUFFIX]
    except OSError:
        return []  # there is no trash yet
    for path in paths:
        header = _header_of(path)
        if header is None:
            continue
        origin, deleted = _note(trash, path)
        if origin is None or origin.suffix != _SUFFIX:
            origin = home / folder_name(header.cwd) / path.name
        found.append(Trashed(path, origin, deleted, trash))
    return found


def _header_of(path: Path) -> SessionHeader | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return find_header(os.pread(descriptor, HEADER_BYTES, 0))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _note(trash: Trash, path: Path) -> tuple[Path | None, str]:
    """Where a file came from, and when."""
    fields: dict[str, str] = {}
    if (note := trash.note_of(path.name)) is not None:
        with contextlib.suppress(OSError), note.open("rb") as file:
            lines = file.read(_LONGEST_NOTE_BYTES).decode("utf-8", "replace").splitlines()
            fields = dict(line.split("=", 1) for line in lines if "=" in line)
    origin = os.fsdecode(unquote_to_bytes(fields.get("Path", "")))
    if not origin or "\0" in origin or ".." in Path(origin).parts:
        return None, ""
    return trash.origin(origin), fields.get("DeletionDate", "")


def _belonging(trashed: Trashed, beside: Path) -> Path | None:
    """Where in the trash a file is that came from beside the session: what was moved with it, else the last one."""
    found = []
    for path in trashed.trash.files.glob(f"*{beside.suffix}"):
        origin, deleted = _note(trashed.trash, path)
        if origin == beside:
            found.append((deleted == trashed.deleted, deleted, path))
    return max(found, default=(False, "", None))[2]


def _move(path: Path, target: Path) -> None:
    """Move a file or folder, and never replace another one."""
    try:
        give_new_name(path, target)
    except OSError as error:
        if error.errno == errno.EXDEV:
            move(path, target)
            return
        if not _is_same(path, target):
            raise
        path.unlink()  # moved before, but for this


def _is_same(path: Path, target: Path) -> bool:
    try:
        return os.path.samestat(path.lstat(), target.lstat())
    except OSError:
        return False
