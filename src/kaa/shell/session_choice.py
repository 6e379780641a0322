"""The session a conversation goes on in: the user's choice, made into an open store."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from kaa.session.errors import SessionError
from kaa.session.file.file_store import FileStore, agents_folder
from kaa.session.library.finding import SessionLibrary, pi_sessions
from kaa.session.store import MemoryStore, SessionStore
from kaa.shell.home import Home
from kaa.shell.naming import Naming, clean_name
from kaa.shell.options import (
    CloneSession,
    ContinueSession,
    ForkSession,
    NewSession,
    ResumeSession,
    SessionChoice,
    UnkeptSession,
    ViewSession,
)


def open_session(
    choice: SessionChoice, cwd: str, home: Home, folder: Path | None, environ: Mapping[str, str]
) -> SessionStore:
    """Find, begin or copy the session that was chosen, and take hold of it.

    Args:
        cwd: the project's directory, absolute.
        folder: where the sessions of all projects are; None where each project has a folder of its own.
        environ: the user's environment, which may say where pi's sessions are.

    Raises:
        SessionError: it cannot be found, read or written, or somebody else has it; or a link in the project leads to
            the folder.
    """
    if isinstance(choice, UnkeptSession):
        return MemoryStore(cwd)
    if folder is not None and (link := _link_in_project(folder, cwd)) is not None:
        raise SessionError(
            f"{link} on the way to the sessions is a link, which a command of the model may have made: name the place"
            " it leads to, or a folder outside the project"
        )
    library = SessionLibrary(cwd, home.sessions, folder, others=(pi_sessions(environ),))
    match choice:
        case NewSession(session_id=session_id, parent=parent):
            return library.create(None, parent) if session_id is None else library.open_or_create(session_id, parent)
        case ContinueSession():
            recent = library.most_recent()
            return library.create() if recent is None else FileStore.open(recent)
        case ResumeSession(query=query):
            return FileStore.open(library.resolve(query))
        case ViewSession(query=query):
            from kaa.session.viewed import ViewedStore  # lazy: few sessions are only looked at

            return ViewedStore.open(library.resolve(query))
        case ForkSession(query=query, entry_id=None):
            return library.fork(library.resolve(query))
        case ForkSession(query=query, entry_id=entry_id):
            return library.fork_path(library.resolve(query), entry_id, inclusive=False)
        case CloneSession(query=query):
            return library.fork_path(library.resolve(query))


def _link_in_project(folder: Path, project: str) -> Path | None:
    """The first link below the project that leads to a folder."""
    path = Path(os.path.abspath(os.path.join(project, folder)))
    way = [at for at in (path, *path.parents) if at.is_relative_to(project) and at != Path(project)]
    return next((at for at in reversed(way) if at.is_symlink()), None)


def discard_copy(choice: SessionChoice, store: SessionStore) -> None:
    """Take back a copy that was made for a conversation which then could not be opened. Nothing was said in it."""
    if isinstance(choice, ForkSession | CloneSession) and store.path is not None:
        import shutil  # lazy: few conversations cannot be opened

        with contextlib.suppress(OSError):
            store.path.unlink(missing_ok=True)
            shutil.rmtree(agents_folder(store.path), ignore_errors=True)


def name_session(choice: SessionChoice, naming: Naming) -> None:
    """Call the session what was chosen with it, if anything was."""
    if (
        not isinstance(choice, UnkeptSession | ViewSession)
        and choice.name is not None
        and (name := clean_name(choice.name))
    ):
        naming.set_name(name)
