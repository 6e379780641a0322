"""Work that a kaa leaves unfinished when it ends: noted while it is under way, in a folder that exists only then.

The folder is beside the session files, with a file for each session that has such work. A session may lie where
commands can write, such as in the project: so neither the folder nor a file in it may be a link of theirs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from kaa.host.log import LOG
from kaa.host.regular_files import regular
from kaa.session.file.file_store import unfinished_folder

_LONGEST_BYTES: Final = 64 * 1024
_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_MARK_BYTES: Final = 8  # of the names of files that are still written


class UnfinishedWork(msgspec.Struct, omit_defaults=True, frozen=True):
    """What is under way in a session.

    Attributes:
        session: the name of the session's file.
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
        kind: of the work: a session has one of each kind.
        about: what it is, where it is, and how to go on with it.
        for_model: what the model is told when the session is opened again; empty if it learns of it otherwise.
    """
    if session is None:
        return
    before = _read(session)
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
            _remove(session)
            return
        with suppress(FileExistsError):
            unfinished_folder(session).mkdir(_PRIVATE_FOLDER, parents=True)
        _write(session, UnfinishedWork(cwd, session.name, os.getpid(), works, told))
    except OSError as error:
        LOG.warning("cannot note running work in %s: %s", unfinished_folder(session), error.strerror)


def unfinished_work(session: Path) -> Iterator[UnfinishedWork]:
    """Give what is noted for a session and those beside it, also what living processes work at."""
    with suppress(OSError), _opened(session) as folder:
        for name in sorted(os.listdir(folder)):
            work = _read_at(folder, name)
            if work is not None and name == f"{work.session}.json":
                yield work


def closed_in_order(session: Path | None, *, is_told: bool) -> None:
    """Note that a conversation was closed, whose work may end with this process; nothing if it has none.

    Args:
        is_told: nobody who opens another session needs to know.
    """
    if session is not None and (work := _read(session)) is not None and work.pid == os.getpid():
        with suppress(OSError):
            _write(session, msgspec.structs.replace(work, in_order=True, is_told=is_told))


def told_of(session: Path, work: UnfinishedWork) -> None:
    """Note that somebody who opened another session knows of it: `unfinished_work` says so from now on."""
    with suppress(OSError):
        _write(session, msgspec.structs.replace(work, is_told=True))


def forget_work(session: Path) -> None:
    """Forget what is noted for a session."""
    with suppress(OSError):
        _remove(session)


@contextmanager
def _opened(session: Path) -> Iterator[int]:
    """Open the folder, which is none if it is a link.

    Raises:
        OSError: it is not there, or a link.
    """
    folder = os.open(unfinished_folder(session), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _read(session: Path) -> UnfinishedWork | None:
    try:
        with _opened(session) as folder:
            return _read_at(folder, _name(session))
    except OSError:
        return None


def _read_at(folder: int, name: str) -> UnfinishedWork | None:
    def opener(path: str, flags: int) -> int:
        return regular(path, flags | os.O_NOFOLLOW, dir_fd=folder)

    try:
        with open(name, "rb", opener=opener) as file:
            return msgspec.json.decode(file.read(_LONGEST_BYTES), type=UnfinishedWork)
    except (OSError, msgspec.DecodeError):
        return None


def _write(session: Path, work: UnfinishedWork) -> None:
    with _opened(session) as folder:
        part = f".{os.urandom(_MARK_BYTES).hex()}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(part, flags, _PRIVATE_FILE, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.encode(work))
            os.replace(part, _name(session), src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise


def _remove(session: Path) -> None:
    with suppress(FileNotFoundError), _opened(session) as folder:
        os.unlink(_name(session), dir_fd=folder)
    with suppress(OSError):  # others have notes there
        unfinished_folder(session).rmdir()


def _name(session: Path) -> str:
    return f"{session.name}.json"
