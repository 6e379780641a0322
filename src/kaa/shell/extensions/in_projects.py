"""The user's extensions that lie in projects: kaa loads a copy of each as the user approved it.

Commands of the model write a project, and so an extension of the user's there. The copy is made as those of a project's
own extensions are, so nothing that changes later is executed.
"""

import asyncio
import errno
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from kaa.ext.asking import Asker, NobodyToAskError, confirm
from kaa.ext.distributions import beside_kaa
from kaa.ext.errors import ExtensionError, UnapprovedError
from kaa.ext.linked_code import behind_links
from kaa.ext.places import ExtensionId, entry_file, files_beside, kind_of, package
from kaa.host.hard_links import has_other_name
from kaa.host.known_projects import known_projects
from kaa.host.linked_settings import project_of
from kaa.host.paths import is_below
from kaa.host.private_file import PrivateFile, PrivateFileError
from kaa.host.programs import written
from kaa.host.regular_files import place_of, read_open, regular, size_of
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.extensions.project_copies import copy_of, let_go
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ConfigurationFile, ProjectConfiguration, TrustError
from kaa.shell.trust.store import Changed, Trusted, TrustStore

_MOST_NAMED = 12
_LEFT_OUT = frozenset({".git", "__pycache__"})
_LIBRARY = ".library"  # of an installed extension: see `kaa.ext.distributions`


class _Most(NamedTuple):
    """How much is copied of an extension."""

    bytes: int
    files: int
    folders: int


_MOST = _Most(64 * 1024 * 1024, 20_000, 8_000)


class ExtensionsInProjects:
    """Decides from where extensions are loaded.

    Args:
        report: told, in a sentence, of what the user should know.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        asker: Asker,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._home = home
        self._environ = environ
        self._asker = asker
        self._report = report
        self._given: dict[ExtensionId, str] = {}  # digests of what was loaded first; empty for what was no copy
        self._asking = asyncio.Lock()
        self._loaded: dict[ExtensionId, Path] = {}  # copies
        self._tried: dict[ExtensionId, set[Path]] = {}  # copies that were made since then

    def note_loaded(self, extension: ExtensionId, code: Path) -> None:
        """Note from where an extension is loaded now: other copies of it are not needed any more."""
        former = self._loaded.pop(extension, None)
        copies = {*self._tried.pop(extension, ()), *filter(None, (former,))}
        used = next((copy for copy in copies if code.is_relative_to(copy)), None)
        if used is not None:
            self._loaded[extension] = used
        for copy in copies - {used}:
            let_go(copy)

    def close(self) -> None:
        """Need no copies any more."""
        for copy in {*self._loaded.values(), *chain.from_iterable(self._tried.values())}:
            let_go(copy)

    async def source(self, extension: ExtensionId, *, is_given: bool, may_ask: bool) -> Path:
        """Return the file or folder from which an extension is loaded: its own, or that of a copy.

        Args:
            is_given: the user named it on the command line: that is a yes to what it is now, in this process.
            may_ask: whether the person may be asked.

        Raises:
            ExtensionError: it must not be loaded as it is.
        """
        for copy in self._tried.pop(extension, set()) - {self._loaded.get(extension)}:  # it was not loaded
            let_go(copy)
        path = Path(extension.path)
        project = self._unheld(path) if is_given else self._project_of(path)
        if is_given and not project and not self._is_held_here(path):  # another kaa may let its commands write it
            project = self._project_of(path)
        if not project:
            self._given.setdefault(extension, "")
            if is_given:
                return path
            try:
                code = await asyncio.to_thread(self._settled, extension, path)
            except (OSError, InstallationError) as error:
                raise ExtensionError(
                    f"Extension {extension} is not loaded: a kaa that starts in its folder would let commands change"
                    f" what it loads later, so it is loaded from a copy. {error}. `-e` loads it from where it is"
                ) from error
            if not (project := self._project_of(path)):  # no kaa started there while it was read
                return code
        whole = path.parent if package(path) is not None else path
        try:
            files = await asyncio.to_thread(lambda: tuple(_files(whole, self._is_written, _MOST)))
            approved = ProjectConfiguration(f"extension {path}", files)
            make_copy = partial(self._copy, extension, whole, files)
            if is_given:
                if self._given.setdefault(extension, approved.digest) != approved.digest:
                    raise ExtensionError(_refusal(extension, project, "Start kaa again with the changed one"))
            else:
                await self._require_approval(extension, project, approved, make_copy, may_ask=may_ask)
            copy = await asyncio.to_thread(make_copy)
            if not is_given:
                self._tell_of_copy(extension, files, copy)
            return copy / path.relative_to(whole)
        except (OSError, InstallationError, TrustError) as error:
            raise ExtensionError(_refusal(extension, project, str(error))) from error

    def _settled(self, extension: ExtensionId, path: Path) -> Path:
        """A copy of an extension in Python whose folder could become a project while this kaa runs, elsewhere.

        It imports modules later, too.

        Raises:
            OSError: something cannot be read.
            InstallationError: it is too much for a copy.
        """
        real = os.path.realpath(entry_file(path.absolute()))
        if kind_of(path) != "python" or is_below(real, (os.path.realpath(self._home.path),)) or path in beside_kaa():
            return path
        whole = path.parent if package(path) is not None else path
        files = tuple(_files(whole, self._is_written, _MOST))
        copy = self._copy(extension, whole, files)
        self._tell_of_copy(extension, files, copy)
        return copy / path.relative_to(whole)

    def _copy(self, extension: ExtensionId, whole: Path, files: Sequence[ConfigurationFile]) -> Path:
        copy = copy_of(whole.name, files, str(whole), self._home)
        self._tried.setdefault(extension, set()).add(copy)
        return copy

    def _tell_of_copy(self, extension: ExtensionId, files: Sequence[ConfigurationFile], copy: Path) -> None:
        """Say once that an extension which looks for files by its own place finds those of its copy."""
        if not any(file.path.endswith(".py") and b"__file__" in file.data for file in files):
            return
        told = PrivateFile(self._home.path / "copied-extensions.json")
        with suppress(PrivateFileError, msgspec.DecodeError):  # it works without that
            if extension.key in msgspec.json.decode(told.read() or b"[]", type=list[str]):
                return
            with told.rewriting() as content:
                keys = msgspec.json.decode(content or b"[]", type=list[str])
                told.replace(msgspec.json.encode([*keys, extension.key]))
            self._report(
                f"Extension {extension.name} is loaded from a copy, {copy}, and uses `__file__`: what it finds there is"
                " as it was at the start, without folders with a dot, and what it writes there is lost with the next"
                f" change of its files. `-e {shlex.quote(extension.path)}` loads it from where it is"
            )

    def _project_of(self, path: Path) -> str:
        """The project whose commands could write some of the code of an extension; empty for none."""
        file = entry_file(path.absolute())  # not normalized: `..` behind a link leads elsewhere
        project = project_of(str(file), self._home.path)
        if not project and (folder := package(Path(os.path.realpath(file)))) is not None:
            inside = (
                one
                for one in (*written(), *known_projects(self._environ, "", added=True))
                if is_below(one, (str(folder),))
            )
            linked = behind_links(str(folder), lambda place: bool(project_of(place, self._home.path)))
            project = next(inside, "") or next(linked, "")
        project = project or _other_place(path)
        return "" if project and path in beside_kaa() else project  # commands cannot write what kaa runs from

    def _unheld(self, path: Path) -> str:
        """What commands of this run can write of an extension although it is mounted read-only; empty for nothing."""
        real = os.path.realpath(package(file := entry_file(path)) or file)
        return next((one for one in written() if is_below(one, (real,))), "") or _other_place(path)

    def _is_written(self, path: str) -> bool:
        """Whether commands can write what is at a real path, or could."""
        return is_below(path, written()) or bool(project_of(path, self._home.path))

    def _is_held_here(self, path: Path) -> bool:
        """Whether an extension lies where commands of this process write: its own sandbox holds it there."""
        return is_below(os.path.realpath(entry_file(path)), written())

    async def _require_approval(
        self,
        extension: ExtensionId,
        project: str,
        files: ProjectConfiguration,
        make_copy: Callable[[], Path],
        *,
        may_ask: bool,
    ) -> None:
        """Ask about what would be loaded: a copy that nobody changes while the person looks at it.

        Raises:
            ExtensionError: it is not approved.
        """
        store = TrustStore(self._home)
        async with self._asking:
            state = await asyncio.to_thread(store.state, files)
            if isinstance(state, Trusted):
                return
            remedy = "kaa asks in the terminal at the next start, and after /reload"
            unapproved = UnapprovedError(
                _refusal(extension, project, f"You have not approved it as it is: {remedy}"), remedy
            )
            if not may_ask or not self._asker.can_ask:
                raise unapproved
            copy = await asyncio.to_thread(make_copy)
            lines = [
                f"Commands of the model could write {extension.path} in {project}. It runs with your rights. kaa loads"
                " a copy of it as it is now, and asks again when it has changed."
            ]
            diff = ""
            if isinstance(state, Changed):
                lines.append(f"What changed since you said yes (it is in {copy} as a whole):")
                diff = state.difference.diff
            else:
                names = [one.path for one in files.files]
                more = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
                named = ", ".join((*names[:_MOST_NAMED], *more))
                lines.append(f"Its files: {named}. Look at them in {copy} before you say yes: that is what is loaded.")
            title = f"Load extension {extension.name} as it is now?"
            try:
                if not await confirm(self._asker, title, "\n".join(lines), only_person=True, diff=diff):
                    raise unapproved
            except NobodyToAskError as error:
                raise unapproved from error
            if store.state(files) != state:
                meanwhile = "It was approved in another window meanwhile: /reload loads it as it is now"
                raise ExtensionError(_refusal(extension, project, meanwhile))
            store.trust(files)


def _other_place(path: Path) -> str:
    """Where commands could write a file of an extension by another name that it has; empty for nowhere."""
    shared = next(filter(has_other_name, files_beside(path.absolute())), "")
    return f"another folder, of which {shared} is a hard link" if shared else ""


def _refusal(extension: ExtensionId, project: str, why: str) -> str:
    return f"Extension {extension} is not loaded: commands could write it in {project}. {why}"


def _files(path: Path, is_written: Callable[[str], bool], most: _Most) -> Iterator[ConfigurationFile]:
    """What an extension is made of, also behind links; the name of its file or folder comes first in each path.

    A link that a command may have made is followed only to what commands can write: others it may not be able to read.

    Raises:
        OSError: something cannot be read.
        InstallationError: it is too much for a copy.
    """
    if not path.is_dir():
        yield ConfigurationFile(path.name, "file", _content(str(path), most.bytes, None) or b"")
        return
    top = os.path.realpath(path)

    def may_be_copied(real: str) -> bool:
        return is_below(real, (top,)) or is_written(real)

    pending, seen, files, size = [(path.name, top, False)], set[str](), 0, 0
    while pending:
        name, folder, is_of_commands = pending.pop()
        real = os.path.realpath(folder)
        if real in seen or (is_of_commands and not may_be_copied(real)):
            continue
        seen.add(real)
        is_of_commands = is_written(real)
        for entry in _entries(real, may_be_copied if is_of_commands else None):
            kind = _kind(entry)
            if kind == "folder":
                if (not entry.name.startswith(".") or entry.name == _LIBRARY) and os.access(
                    entry.path, os.R_OK | os.X_OK
                ):
                    pending.append((f"{name}/{entry.name}", entry.path, is_of_commands))
            elif kind == "file":
                try:
                    data = _content(entry.path, most.bytes - size, may_be_copied if is_of_commands else None)
                except (PermissionError, FileNotFoundError):  # the extension could not read it, either
                    continue
                if data is None:
                    continue
                files, size = files + 1, size + len(data)
                executable = os.access(entry.path, os.X_OK)
                yield ConfigurationFile(f"{name}/{entry.name}", "file", data, executable)
            if files > most.files or len(seen) > most.folders:
                raise InstallationError(
                    f"It has too many files for a copy at each start ({most.files:,} files, {most.folders:,} folders):"
                    f" install it with `kaa ext install {path}`"
                )


def _kind(entry: "os.DirEntry[str]") -> Literal["folder", "file", "other"]:
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
    except OSError:  # a link in a circle, or to where the user may not look
        return "other"


def _entries(folder: str, may_be_copied: Callable[[str], bool] | None) -> "list[os.DirEntry[str]]":
    """What of a folder is copied, sorted by name. `may_be_copied`: says that of what links lead to."""
    with os.scandir(folder) as entries:
        found = sorted((one for one in entries if one.name not in _LEFT_OUT), key=lambda one: one.name)
    if may_be_copied is None:
        return found
    return [one for one in found if not one.is_symlink() or may_be_copied(os.path.realpath(one.path))]


def _content(path: str, most_bytes: int, may_be_copied: Callable[[str], bool] | None) -> bytes | None:
    """The content of a file; None if it may not be copied from where it is by the time that it is open.

    Raises:
        InstallationError: it has more than `most_bytes`.
    """
    with open(path, "rb", opener=regular) as file:
        if may_be_copied is not None and not may_be_copied(place_of(file.fileno(), path)):
            return None
        try:
            return read_open(file, most_bytes)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            size = size_of(os.fstat(file.fileno()).st_size)
            raise InstallationError(
                f"It is too large for a copy at each start ({size_of(_MOST.bytes)}): {path} has {size}. Remove what is"
                " no part of it from its folder, or install it with `kaa ext install FOLDER`"
            ) from error
