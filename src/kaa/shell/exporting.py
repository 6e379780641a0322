"""Writes sessions into files of the user's, and takes such files in. What does that is loaded when it is used.

Files are written by the brain and with the user's rights, because the user asked; no tool of the model's gets here.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kaa.host.paths import is_below, trail
from kaa.host.programs import written
from kaa.session.file.append_file import create_private_folders
from kaa.session.file.file_store import agents_folder
from kaa.session.naming import folder_name
from kaa.session.store import SessionStore
from kaa.shell.home import Home

if TYPE_CHECKING:
    from typing import BinaryIO

    from kaa.llm.redaction import Redactor
    from kaa.session.export.request import Exported, ExportRequest, Format
    from kaa.session.export.selection import ExportSelection
    from kaa.session.export.source import SessionSource
    from kaa.session.export.totals import Totals
    from kaa.session.library.importing import Imported

_MOST_NAMES = 1000
_LONGEST_NAME = 60
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


class Exporting:
    """Exports the session of a conversation, and imports into its library.

    Args:
        cwd: the project's directory; relative paths of the user's begin there.
        session_dir: one folder for the sessions of all projects, None where each project has its own.
    """

    def __init__(
        self, store: SessionStore, cwd: str, environ: Mapping[str, str], home: Home, session_dir: Path | None
    ) -> None:
        self.environ = environ
        self._store = store
        self._cwd = cwd
        self._home = home
        self._session_dir = session_dir

    async def export(self, request: "ExportRequest") -> "Exported":
        return await asyncio.to_thread(self._export, request)

    async def write_text(self, name: str, text: str, *, force: bool = False) -> str:

        def write() -> str:
            target = Path(self._cwd, os.path.expanduser(name))
            with _writing(target, Path(self._cwd), force=force) as out:
                out.write(text.encode("utf-8", "replace"))
            return str(target)

        return await asyncio.to_thread(write)

    async def import_file(self, name: str) -> "Imported":
        return await asyncio.to_thread(import_file, name, self._cwd, self._home, self._session_dir)

    def _export(self, request: "ExportRequest") -> "Exported":
        with self.source() as source:
            return export_session(source, request, Path(self._cwd), self.redactor)

    def redactor(self) -> "Redactor":
        """Knows the secrets in use. Reads a file."""
        return redactor_of(self.environ, self._home)

    @contextlib.contextmanager
    def source(self) -> "Iterator[SessionSource]":
        """The session as it is in its file; the store itself may change while another thread reads it."""
        from kaa.session.export.source import SnapshotFile

        path = self._store.path
        if path is None or not path.exists():
            yield self._store
            return
        with SnapshotFile.open(path) as snapshot:
            yield snapshot


def redactor_of(environ: Mapping[str, str], home: Home) -> "Redactor":
    """Knows the secrets in use. Reads a file."""
    from kaa.llm.redaction import Redactor
    from kaa.shell.known_secrets import known_secrets

    return Redactor(known_secrets(environ, home))


def import_file(name: str, cwd: str, home: Home, session_dir: Path | None) -> "Imported":
    """Take a session file into the library. Blocks.

    Args:
        name: of the file, as the user wrote it.
        cwd: where relative paths begin, and what the session is about if its own directory does not exist.
        session_dir: one folder for the sessions of all projects, None where each project has its own.

    Raises:
        SessionError: it is no session, or cannot be read or copied.
    """
    from kaa.session.library.importing import import_session

    def folder_of(directory: str) -> Path:
        return session_dir if session_dir is not None else home.sessions / folder_name(directory)

    return import_session(Path(cwd, os.path.expanduser(name)), folder_of, cwd)


def export_session(
    source: "SessionSource", request: "ExportRequest", cwd: Path, redactor: "Callable[[], Redactor]"
) -> "Exported":
    """Write a session into a file. Blocks.

    Args:
        cwd: where relative paths begin.
        redactor: makes one that knows the secrets in use.

    Raises:
        ExportError: the target cannot be used.
        SessionError: the session cannot be read.
    """
    from kaa.session.export.agents import problems_of_agents
    from kaa.session.export.request import Exported
    from kaa.session.export.selection import ExportSelection

    wanted = _format_of(request, cwd)
    selection = ExportSelection(
        all_branches=wanted == "html" if request.all_branches is None else request.all_branches,
        thinking=request.thinking,
        tools=request.tools,
        redactor=redactor() if request.redact else None,
    )
    target = _target(request, wanted, source, selection, cwd)
    with _writing(target, cwd, force=request.force) as out:
        totals = write_session(source, selection, wanted, out)
        size = out.tell()
        if wanted == "jsonl":
            _write_agents(source, selection, target, cwd, totals, force=request.force)
    secrets = count_secrets(source, selection, redactor())
    removed, suspicious = (secrets, {}) if request.redact else ({}, secrets)
    return Exported(target, wanted, size, totals, removed, suspicious, problems_of_agents(source, selection))


def _write_agents(
    source: "SessionSource", selection: "ExportSelection", target: Path, cwd: Path, totals: "Totals", *, force: bool
) -> None:
    """Write the sessions of agents into the folder beside the file, where an import finds them."""
    from kaa.session.export.lines import write_agent_lines
    from kaa.session.export.request import ExportError

    folder = agents_folder(target)
    is_new = not os.path.lexists(folder)
    if not is_new and not force:
        raise ExportError(f"{folder} exists already; choose another name, or replace it with --force")

    def create(name: str) -> "contextlib.AbstractContextManager[BinaryIO]":
        create_private_folders(folder)
        return _writing(folder / name, cwd, force=force)

    try:
        for counted in write_agent_lines(source, selection, create):
            totals.add_agent(counted)
    except BaseException:
        if is_new:
            import shutil  # lazy: most exports succeed

            shutil.rmtree(folder, ignore_errors=True)
        raise


def count_secrets(source: "SessionSource", selection: "ExportSelection", redactor: "Redactor") -> Mapping[str, int]:
    """How many secrets of which kind are in what is selected. Each counts once, however often a format repeats it."""
    from kaa.session.export.agents import agent_session, agents_in
    from kaa.session.export.selection import pick

    searched = msgspec.structs.replace(selection, redactor=redactor)
    for _ in pick(source, searched):
        pass
    for agent in agents_in(source, searched):
        with agent_session(source, agent.id) as (session, _):
            for _ in pick(session, searched) if session is not None else ():
                pass
    return dict(redactor.kinds)


def write_session(source: "SessionSource", selection: "ExportSelection", wanted: "Format", out: "BinaryIO") -> "Totals":
    match wanted:
        case "html":
            from kaa.session.export.page import write_page

            return write_page(source, selection, out)
        case "markdown":
            from kaa.session.export.markdown import write_markdown

            return write_markdown(source, selection, out)
        case "jsonl":
            from kaa.session.export.lines import write_lines

            return write_lines(source, selection, out)


def _format_of(request: "ExportRequest", cwd: Path) -> "Format":
    from kaa.session.export.request import SUFFIXES, ExportError

    if request.format is not None:
        return request.format
    target = cwd / os.path.expanduser(request.target) if request.target else cwd
    suffix = target.suffix.lower()
    if not suffix or target.is_dir():
        return "html"
    if suffix not in SUFFIXES:
        raise ExportError(f"unknown export format {suffix}: end the name with .html, .md or .jsonl")
    return SUFFIXES[suffix]


def _target(
    request: "ExportRequest", wanted: "Format", source: "SessionSource", selection: "ExportSelection", cwd: Path
) -> Path:
    """The file to be: as the user wrote it, or one that is not there yet."""
    from kaa.session.export.request import suffix_of

    given = cwd / os.path.expanduser(request.target) if request.target else cwd
    if not given.is_dir():
        return given if given.suffix else given.with_name(given.name + suffix_of(wanted))
    stem = export_name(source, selection)
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, _MOST_NAMES))
    paths = (given / f"{name}{suffix_of(wanted)}" for name in names)
    return next((path for path in paths if request.force or not path.exists()), given / f"{stem}{suffix_of(wanted)}")


def export_name(source: "SessionSource", selection: "ExportSelection") -> str:
    """A file name of a session, without suffix: of its title, and of its id, so that no two sessions share it."""
    from kaa.session.export.page import title_of

    title = _NOT_IN_NAMES.sub("-", title_of(source, selection)).strip("-.")[:_LONGEST_NAME].rstrip("-.")
    identity = _NOT_IN_NAMES.sub("-", source.header.id)[-8:]
    return f"{title or 'session'}-{identity}"


@contextlib.contextmanager
def _writing(target: Path, cwd: Path, *, force: bool) -> "Iterator[BinaryIO]":
    """A new file, which is there when the block has ended, as `whole_file`.

    Raises:
        ExportError: it cannot be written.
    """
    from kaa.session.export.request import ExportError
    from kaa.session.file.whole_file import whole_file

    if not _is_path(target):
        raise ExportError(f"invalid file name {str(target)!r}: it has a character that file names cannot have")
    try:
        with _folder_of(target, cwd) as folder, whole_file(target.name, folder, replace=force) as out:
            yield out
    except FileExistsError as error:
        raise ExportError(f"{target} exists already; choose another name, or replace it with --force") from error
    except OSError as error:
        raise ExportError(f"cannot write {target}: {error.strerror or error}; choose another place") from error


def _is_path(target: Path) -> bool:
    """Whether the system takes a path: clients of rpc mode can send NUL and halves of characters."""
    try:
        return b"\0" not in os.fsencode(target)
    except UnicodeEncodeError:
        return False


@contextlib.contextmanager
def _folder_of(target: Path, cwd: Path) -> Iterator[int]:
    """An open descriptor of a target's folder. No link leads there from where commands can write: they can make links.

    Raises:
        ExportError: one does.
        OSError: the folder cannot be opened.
    """
    from kaa.session.export.request import ExportError

    *links, real = trail(os.path.abspath(target.parent))
    writable = (os.path.realpath(cwd), *written())
    for link in links:
        if is_below(os.path.dirname(link), writable):
            raise ExportError(
                f"{link} is a link, which a command of the model may have made: name the place it leads to"
            )
    top = min((path for path in writable if is_below(real, (path,))), key=len, default=real)
    below = Path(real).relative_to(top).parts
    here = Path(top)
    descriptor = os.open(here, _FOLDER)
    try:
        for name in below:
            here /= name
            try:
                opened = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            except NotADirectoryError as error:
                if not here.is_symlink():
                    raise
                raise ExportError(
                    f"{here} is a link, which a command of the model may have made: name the place it leads to"
                ) from error
            os.close(descriptor)
            descriptor = opened
        yield descriptor
    finally:
        os.close(descriptor)
