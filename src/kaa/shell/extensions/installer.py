"""Installs extensions into kaa's home: all of one or nothing, and one after another; says before what one asks for."""

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Permissions
from kaa.ext.places import ONE_ENTRY, ExtensionId, Kind, check_name, fitted, kind_of
from kaa.host.exchange import exchange
from kaa.shell.extensions.digest import files_in, tree_digest
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.extensions.records import (
    ExtensionRecord,
    ExtensionRecords,
    Installation,
    Origin,
)
from kaa.shell.extensions.sources import GitSource, IndexSource, PathSource, Source, recorded_source
from kaa.shell.extensions.staging import HIDDEN, StagedTree, copy_file, copy_folder, preparation_folder
from kaa.shell.home import Home

_FULL = (errno.ENOSPC, errno.EDQUOT)


class ExtensionCandidate(msgspec.Struct, frozen=True):
    """An extension that could be installed.

    Attributes:
        name: as it names itself; empty if it does not.
        version: as it says itself; empty if it does not.
        permissions: what it asks for; None for Python, which runs inside kaa with the user's rights.
        files: of it, sorted; "." for an extension of one file.
    """

    name: str
    version: str
    kind: Kind
    permissions: Permissions | None
    files: tuple[str, ...]


def examine(path: Path) -> ExtensionCandidate:
    """Read what an extension says about itself. Nothing of it is executed.

    Raises:
        InstallationError: it is no extension, or its manifest has a mistake.
    """
    files = tuple(files_in(path))
    kind = kind_of(path)
    match kind:
        case None:
            raise InstallationError(_not_an_extension(path))
        case "python":
            return ExtensionCandidate("", "", kind, None, files)
        case "process":
            from kaa.ext.process.manifest import read_manifest  # lazy: it loads a parser of YAML

            try:
                manifest = read_manifest(ExtensionId.at(path))
            except ExtensionError as error:
                raise InstallationError(str(error)) from error
            return ExtensionCandidate(manifest.name, manifest.version, kind, manifest.requested, files)
        case "component":
            from kaa.ext.wasm.description import find_component  # lazy: few extensions are components

            try:
                return ExtensionCandidate("", "", kind, find_component(ExtensionId.at(path)).requested, files)
            except ExtensionError as error:
                raise InstallationError(str(error)) from error


def _not_an_extension(path: Path) -> str:
    wanted = ONE_ENTRY
    if not path.is_dir():
        return f"{path.name} is no extension: use a .py or .wasm file, a wheel, or a folder with {wanted}"
    inside = sorted(entry.name for entry in path.iterdir() if kind_of(entry) is not None)
    if inside:
        return (
            f"the folder has no {wanted}, but contains extensions: {', '.join(inside[:10])}. Install one of them; of a"
            " git repository with #subdirectory=FOLDER"
        )
    if (path / "pyproject.toml").is_file():
        return (
            f"the folder has no {wanted}. It has a pyproject.toml: build a wheel of it and install that, because kaa"
            " executes nothing at the installation"
        )
    return f"the folder is no extension: it has no {wanted}"


class PreparedExtension(msgspec.Struct, frozen=True):
    """An extension that is ready to be installed.

    Attributes:
        staging: a folder that is removed when the preparation ends.
        staged: its file or folder, in `staging`; for a link, what it leads to.
        replaces: what has the name now; None if nothing has.
        left: data that it would get from an extension of this name and another source; None if there are none.
    """

    name: str
    candidate: ExtensionCandidate
    installation: Installation
    staging: Path
    staged: Path
    replaces: Path | None
    previous: ExtensionRecord
    left: Path | None

    @property
    def is_new(self) -> bool:
        """Whether this differs from what is installed."""
        before, now = self.previous.installation, self.installation
        return before is None or (before.commit, before.wheels, before.tree) != (now.commit, now.wheels, now.tree)


class Installer:
    """Puts extensions into the folder of a home."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._folder = home.extensions
        self._data = home.extension_data
        self._records = ExtensionRecords(home)
        self._environ = environ

    @contextmanager
    def prepare(self, source: Source, *, link: bool = False) -> Iterator[PreparedExtension]:
        """Get an extension and look at it. Nothing is installed yet; what is not installed is removed at the end.

        Args:
            link: use the path itself instead of a copy.

        Raises:
            InstallationError: it cannot be had, or is no extension.
        """
        with ExitStack() as ending:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                staging = ending.enter_context(preparation_folder(self._folder, HIDDEN))
            except OSError as error:
                raise InstallationError(f"{self._folder} cannot be written ({error.strerror})") from error
            yield self._examined(source, staging, link=link)

    def install(self, prepared: PreparedExtension, granted: Permissions | None) -> None:
        """Install what was prepared, in place of what has its name.

        Raises:
            InstallationError: another process has just installed something of this name.
        """
        target = self._folder / prepared.installation.entry
        with ExitStack() as undoing:
            with self._records.rewriting() as records:
                previous = records.get(prepared.name, ExtensionRecord())
                if self._of_name(prepared.name) != prepared.replaces or previous != prepared.previous:
                    raise InstallationError(f"extension {prepared.name} was changed meanwhile: try again")
                _place(prepared, target, undoing)
                records[prepared.name] = ExtensionRecord(prepared.installation, previous.enabled, granted)
            undoing.pop_all()

    def _examined(self, source: Source, staging: Path, *, link: bool) -> PreparedExtension:
        try:
            return self._prepared(source, staging, link=link)
        except OSError as error:
            place = staging.parent if error.errno in _FULL else error.filename or source
            raise InstallationError(f"{place}: {error.strerror or error}") from error

    def _prepared(self, source: Source, staging: Path, *, link: bool) -> PreparedExtension:
        staged, origin, facts = self._staged(source, staging, link=link)
        candidate = examine(staged)
        name = _valid_name(candidate.name or facts.name)
        installation = Installation(
            source=str(source),
            origin=origin,
            kind=candidate.kind,
            entry=name if staged.is_dir() else name + staged.suffix,
            version=facts.version or candidate.version,
            commit=facts.commit,
            wheels=facts.wheels,
            tree="" if link else tree_digest(staged),
            since=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        )
        version = facts.version or candidate.version
        previous, data = self._records.read().get(name, ExtensionRecord()), self._data / name
        return PreparedExtension(
            name,
            msgspec.structs.replace(candidate, version=version),
            installation,
            staging,
            staged,
            self._of_name(name),
            previous,
            data if os.path.lexists(data) and not _is_same(previous.installation, source) else None,
        )

    def _staged(self, source: Source, staging: Path, *, link: bool) -> "tuple[Path, Origin, _Facts]":
        if link and not isinstance(source, PathSource):
            raise UnknownNameError(f"{source}: --link needs a path")
        match source:
            case PathSource(path=path):
                facts = _Facts(ExtensionId.at(path).name)
                return (path.resolve(), "link", facts) if link else (self._of_path(path, staging), "path", facts)
            case GitSource():
                tree, facts = self._of_git(source, staging)
                return tree, "git", facts
            case IndexSource():
                tree, facts = self._of_index(source, staging)
                return tree, "index", facts

    def _of_path(self, path: Path, staging: Path) -> Path:
        if not path.exists():
            raise UnknownNameError(f"{path} does not exist")
        if kind_of(path) is None:
            examine(path)  # says what is missing, before anything is copied
        staged = staging / path.name
        if path.is_dir():
            copy_folder(path, StagedTree(staged))
        else:
            copy_file(path, staged)
        return staged

    def _of_git(self, source: GitSource, staging: Path) -> "tuple[Path, _Facts]":
        from kaa.shell.extensions.git import (
            FetchedRepository,  # lazy, as `download`: each source brings its own program
        )

        repository = FetchedRepository(staging / "repository", self._environ)
        commit = repository.fetch(source)
        tree = StagedTree(staging / "files")
        repository.write(commit, source, tree)
        return tree.top, _Facts(source.name, commit=commit)

    def _of_index(self, source: IndexSource, staging: Path) -> "tuple[Path, _Facts]":
        from kaa.shell.extensions.index import download
        from kaa.shell.extensions.wheels import stage_wheels

        downloads = staging / "downloads"
        downloads.mkdir()
        wheels = download(source, downloads, self._environ)
        tree = StagedTree(staging / "files")
        stage_wheels(wheels, staging / "unpacked", tree)
        pins = {wheel.file.name: wheel.sha256 for wheel in wheels}
        return tree.top, _Facts(wheels[0].name, wheels[0].version, wheels=pins)

    def _of_name(self, name: str) -> Path | None:
        """The file or folder of an extension, or the remains of a link; None if there is nothing."""
        entries = (self._folder / f"{name}{suffix}" for suffix in ("", ".py", ".wasm"))
        return next((entry for entry in entries if os.path.lexists(entry)), None)


class _Facts(msgspec.Struct, frozen=True):
    """What the source of an extension says about it, before its own files do."""

    name: str
    version: str = ""
    commit: str = ""
    wheels: dict[str, str] = {}


def _is_same(before: Installation | None, source: Source) -> bool:
    """Whether an extension was installed from this source, whatever the version."""
    return before is not None and recorded_source(before).place == source.place


def _place(prepared: PreparedExtension, target: Path, undoing: ExitStack) -> None:
    """Put what was prepared in its place. At no moment does the user have neither the old nor the new version."""
    new = prepared.staged
    if prepared.installation.origin == "link":
        new = prepared.staging / "link"
        new.symlink_to(prepared.staged)
    if prepared.replaces == target:
        exchange(new, target)
        undoing.callback(exchange, new, target)
        return
    new.rename(target)
    undoing.callback(target.rename, new)
    if prepared.replaces is not None:  # a folder in place of a file
        old = prepared.staging / "old"
        prepared.replaces.rename(old)
        undoing.callback(old.rename, prepared.replaces)


def _valid_name(name: str) -> str:
    name = fitted(name)
    try:
        check_name(name)
    except ValueError as error:
        raise InstallationError(str(error)) from error
    return name
