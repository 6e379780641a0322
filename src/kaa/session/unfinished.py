"""Work that a kaa leaves unfinished when it ends: noted while it is under way, in a folder that exists only then.

The folder is beside the session files, with a file for each session that has such work.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from kaa.host.log import LOG
from kaa.host.regular_files import read_regular
from kaa.session.file.file_store import unfinished_folder

_LONGEST_BYTES: Final = 64 * 1024


class UnfinishedWork(msgspec.Struct, omit_defaults=True, frozen=True):
    """What is under way in a session.

    Attributes:
        cwd: the project.
        session: the name of the session's file.
        pid: the process that works.
        works: a sentence or more for each kind of work, for people.
        for_model: what the model of the session is to be told, by kind of work.
        in_order: the conversation was closed, and not killed.
        is_told: somebody who opened another session of the project was told of it, or nobody needs to be.
    """

    cwd: str
    session: str
    pid: int
    works: dict[str, str]
    for_model: dict[str, str] = {}
    in_order: bool = False
    is_told: bool = False


def note_work(session: Path | None, cwd: str, kind: str, about: str, for_model: str = "") -> None:
    """Note work that is under way, or with an empty text that it has ended. A disk that fails loses only the note.

    Args:
        session: the session's file; None for a session that is not kept: then nothing is noted.
        cwd: the project.
        kind: of the work: a session has one of each kind.
        about: what it is, where it is, and how to go on with it.
        for_model: what the model is told when the session is opened again; empty if it learns of it otherwise.
    """
    if session is None:
        return
    place = _place(session)
    before = _read(place)
    is_ours = before is not None and before.pid == os.getpid()
    works = dict(before.works) if before is not None and is_ours else {}
    told = dict(before.for_model) if before is not None and is_ours else {}
    works.pop(kind, None)
    told.pop(kind, None)
    if about:
        works[kind] = about
    if about and for_model:
        told[kind] = for_model
    try:
        if not works:
            _remove(place)
            return
        place.parent.mkdir(0o700, exist_ok=True, parents=True)
        _write(place, UnfinishedWork(cwd, session.name, os.getpid(), works, told))
    except OSError as error:
        LOG.warning("cannot note running work in %s: %s", place, error.strerror)


def unfinished_work(session: Path) -> Iterator[UnfinishedWork]:
    """Give what is noted for a session and those beside it, also what living processes work at."""
    folder = unfinished_folder(session)
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            work = _read(folder / name)
            if work is not None and name == f"{work.session}.json":
                yield work


def closed_in_order(session: Path | None, *, is_told: bool) -> None:
    """Note that a conversation was closed, whose work may end with this process; nothing if it has none.

    Args:
        session: the session's file.
        is_told: nobody who opens another session needs to know.
    """
    if session is not None and (work := _read(_place(session))) is not None and work.pid == os.getpid():
        with suppress(OSError):
            _write(_place(session), msgspec.structs.replace(work, in_order=True, is_told=is_told))


def told_of(session: Path, work: UnfinishedWork) -> None:
    """Note that somebody who opened another session knows of it: `unfinished_work` says so from now on."""
    with suppress(OSError):
        _write(_place(session), msgspec.structs.replace(work, is_told=True))


def forget_work(session: Path) -> None:
    """Forget what is noted for a session."""
    with suppress(OSError):
        _remove(_place(session))


def _place(session: Path) -> Path:
    return unfinished_folder(session) / f"{session.name}.json"


def _read(place: Path) -> UnfinishedWork | None:
    try:
        return msgspec.json.decode(read_regular(place)[:_LONGEST_BYTES], type=UnfinishedWork)
    except (OSError, msgspec.DecodeError):
        return None


def _write(place: Path, work: UnfinishedWork) -> None:
    part = place.with_suffix(f".{os.getpid()}.part")
    try:
        part.write_bytes(msgspec.json.encode(work))
        part.replace(place)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def _remove(place: Path) -> None:
    place.unlink(missing_ok=True)
    with suppress(OSError):  # others have notes there
        place.parent.rmdir()
