"""The extensions of a process: kaa's own and the user's, each loaded once for all conversations."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kaa.builtin import (
    adaptive_thinking,
    background,
    briefing,
    completion_check,
    diagnostics,
    edit_format,
    goal,
    loop_detection,
    masking,
    plan,
    prompt,
    slash_commands,
    tools,
)
from kaa.builtin.agents import agents_extension
from kaa.ext.asking import NOBODY, Asker
from kaa.ext.distributions import beside_kaa
from kaa.ext.errors import ExtensionError, NameTakenError, UnapprovedError
from kaa.ext.extensions import Extensions
from kaa.ext.places import (
    ExtensionId,
    Fingerprint,
    discover,
    entry_file,
    fingerprint,
    folders_of,
    last_change,
    nearest_folder,
)
from kaa.shell.home import Home, expanded
from kaa.shell.options import HostOptions
from kaa.shell.settings import Settings

if TYPE_CHECKING:
    from kaa.components.agent_definition import ModelRole
    from kaa.ext.loading import Loading
    from kaa.ext.process.host import ProcessHost
    from kaa.shell.extensions.folder_watch import FolderWatch
    from kaa.shell.extensions.in_projects import ExtensionsInProjects

# First, so that the user's extensions can replace prompt sections and see every hook after them.
_BUILT_IN = (
    prompt,
    tools,
    edit_format,
    adaptive_thinking,
    briefing,
    slash_commands,
    background,
    goal,
    plan,
    completion_check,
    loop_detection,
    masking,
    diagnostics,
)

_UNPROTECTED = (
    "commands of the model could have changed it, because kaa has not protected it since its start. Check the file, and"
    " start kaa again with the extension in your settings or with -e"
)
# A person wonders after about this time.
_SLOW_SECONDS = 1.0
# An extension that writes its files while it is loaded, or so long after, seems to change itself.
_OWN_CHANGE_SECONDS = 0.5
# After so many in a row it is loaded again by `reload` only.
_MOST_OWN_CHANGES = 5
# Imports of large libraries take seconds; after that, something hangs.
_LOAD_SECONDS = 20.0


class KnownExtension(NamedTuple):
    """An extension that the user has.

    Attributes:
        source: where kaa knows it from.
        is_enabled: whether it is to be loaded.
        is_required: kaa opens no conversation without it.
        problem: why it is not loaded; empty if there is no problem.
        obstacle: why it must not be loaded, whatever is in its files; empty if nothing forbids it.
    """

    extension: ExtensionId
    source: str
    is_enabled: bool
    is_required: bool
    problem: str
    obstacle: str = ""


def load_built_in(extensions: Extensions) -> list[ExtensionId]:
    """Load kaa's own extensions, as far as they are not loaded yet. Returns which these are."""
    names: list[ExtensionId] = []
    for module in _BUILT_IN:
        extension = ExtensionId.built_in(module.__name__)
        if extension not in extensions.names:
            extensions.load(extension, module.extend, built_in=True, beside=names)
        names.append(extension)
    return names


class LoadedExtensions:
    """Loads what conversations need and keeps it until the process ends.

    Args:
        options: which extensions the user gave besides those in the settings.
        report: told, in a sentence, of what goes wrong where nothing can be raised.
        protected: whether commands cannot change an extension, and could not before. No other one is executed.
        asker: asks the person about extensions that commands could write in a project.
    """

    def __init__(
        self,
        options: HostOptions,
        home: Home,
        report: Callable[[str], None],
        protected: Callable[[Path], bool],
        process_host: "Callable[[], ProcessHost]",
        asker: Asker = NOBODY,
    ) -> None:
        self._options = options
        self._home = home
        self._report = report
        self._protected = protected
        self._process_host = process_host
        self._asker = asker
        self._in_projects: ExtensionsInProjects | None = None
        self.loaded = Extensions(report, options.flags)
        self._code: dict[ExtensionId, Path] = {}  # from where each was loaded last, or was tried to
        self._fingerprints: dict[ExtensionId, Fingerprint] = {}  # of the user's own, as they were when they were loaded
        self._problems: dict[ExtensionId, str] = {}  # why some are not loaded, which was reported
        self._conflicts: dict[ExtensionId, str] = {}  # the problems that end when another extension is not used
        self._switched: dict[ExtensionId, bool] = {}  # on or off, by the user in this process, whatever the records say
        self._outdated: dict[ExtensionId, str] = {}  # why newer versions of loaded extensions are not used
        self._load_ends: dict[ExtensionId, float] = {}  # when extensions were loaded, in Unix time
        self._own_changes: dict[ExtensionId, int] = {}  # how often in a row extensions seemed to change themselves
        self._settled: set[ExtensionId] = set()  # those that only `reload` loads again
        self._watch: FolderWatch | None = None
        self._agents: dict[tuple[tuple[ModelRole, str], ...], ExtensionId] = {}
        self._slow: list[Loading] = []  # those that were announced
        self._one_at_a_time = asyncio.Lock()

    def load_agents(self, models: "tuple[tuple[ModelRole, str], ...]") -> ExtensionId:
        """The extension with kaa's own agents, for conversations without others. `models`: see `Settings`."""
        if models not in self._agents:
            name = ExtensionId.built_in(f"kaa.builtin.agents{len(self._agents) or ''}")
            self.loaded.load(name, agents_extension((), dict(models)), built_in=True, beside=())
            self._agents[models] = name
        return self._agents[models]

    async def load(self, settings: Settings, project: Sequence[ExtensionId] = ()) -> tuple[ExtensionId, ...]:
        """Load what a conversation uses and is not loaded yet. Returns the names of all that it uses.

        An extension that cannot be loaded, or is not protected, is left out, with a notice. It is not tried again
        before `reload`.

        Args:
            settings: of the conversation: which extensions it has, and which are required.
            project: those of its project: copies that the user trusts, and its MCP servers.

        Raises:
            ExtensionError: one cannot be loaded that was given on the command line or is required.
        """
        async with self._one_at_a_time:
            names = [*load_built_in(self.loaded), *(one for one in project if one.is_built_in)]
            wanted = [one for one in self.known(settings, project) if one.is_enabled]
            begun = [(one, await self._begin(one)) for one in wanted]
            missing: ExtensionError | None = None
            for one, loading in begun:
                name = one.extension
                try:
                    if one.obstacle and name not in self._problems:
                        raise ExtensionError(f"Extension {name} is not loaded: {one.obstacle}")
                    if isinstance(loading, ExtensionError):
                        raise loading
                    if loading is not None:
                        await self._finish(loading, names)
                    elif name in self.loaded.names and not one.obstacle:
                        self.loaded.check(name, beside=names)
                    else:
                        continue
                    names.append(name)
                except ExtensionError as error:
                    self._problems[name] = str(error)
                    told = self._conflicts.pop(name, "") == str(error)
                    if isinstance(error, NameTakenError):
                        self._conflicts[name] = str(error)
                    if one.is_required:
                        missing = missing or error
                    elif not told:
                        corrected = "" if isinstance(error, UnapprovedError) else ": correct it and enter /reload"
                        self._report(f"{error}. kaa continues without it{corrected}")
            for sentence in await self._modifications(
                [Path(one.extension.path) for one, loading in begun if not isinstance(loading, ExtensionError | None)]
            ):
                self._report(sentence)
            missing = missing or self._absent(settings, wanted)
            if missing is not None:
                self._problems.clear()  # the next conversation is told again
                raise missing
            self.loaded.check_flags(names)
            self._watch_folders()
            return tuple(names)

    async def reload(
        self, names: Sequence[ExtensionId], settings: Settings, project: Sequence[ExtensionId] = ()
    ) -> tuple[tuple[ExtensionId, ...], list[str]]:
        """Load changed extensions again and new ones, and unload those whose files were removed.

        Args:
            settings: as `load` takes them.
            project: as `load` takes them.

        Returns:
            The names of the extensions that the conversation uses now, and what that did, a line for each.
        """
        self._settled.clear()
        self._own_changes.clear()
        self._problems.clear()
        for name in filter(self._has_failed, names):
            self._fingerprints[name] = ()  # tries it again
        return await self.refresh(names, settings, project, asks=True)

    async def refresh(
        self,
        names: Sequence[ExtensionId],
        settings: Settings,
        project: Sequence[ExtensionId] = (),
        *,
        asks: bool = False,
    ) -> tuple[tuple[ExtensionId, ...], list[str]]:
        """Follow what changed on the disk: as `reload`, but what failed before is tried again only if it changed.

        An extension that is required stays loaded if its file was removed. `asks`: the person waits for this, and may
        be asked about changed ones.
        """
        for name in [name for name in self._problems if self._has_changed(name)]:
            del self._problems[name]
        lines = await self.follow(names, asks=asks)
        kept: list[ExtensionId] = []
        for name in names:
            if name not in self._fingerprints or entry_file(Path(name.path)).is_file():
                continue
            if self._is_required(name, settings):
                kept.append(name)
                continue
            await self.loaded.say_farewell(name)
            self.loaded.unload(name)
            self._outdated.pop(name, None)
            self._fingerprints.pop(name, None)
            lines.append(f"extension {name} was unloaded: its file was removed")
        if lines:
            self._try_conflicts_again()
        try:
            used = await self.load(settings, project)
        except ExtensionError as error:
            return tuple(name for name in names if name in self.loaded.names), [*lines, str(error)]
        used = (*used, *(name for name in kept if name not in used))
        lines += [f"extension {name} was loaded" for name in used if name not in names]
        gone = (name for name in names if name not in used and name in self.loaded.names)
        return used, [*lines, *(f"extension {name} is not used any more" for name in gone)]

    async def follow(self, names: Sequence[ExtensionId], *, asks: bool = False) -> list[str]:
        """Load extensions again that changed. See `_renew`.

        One that seems to change itself is left to `reload`.

        Args:
            asks: whether the person may be asked about them.

        Returns:
            What that did, a line for each.
        """
        lines: list[str] = []
        renewed: list[Path] = []
        async with self._one_at_a_time:
            for name in names:
                if name in self._settled or not self._has_changed(name):
                    continue
                is_own = last_change(Path(name.path)) <= self._load_ends.get(name, 0.0) + _OWN_CHANGE_SECONDS
                self._own_changes[name] = self._own_changes.get(name, 0) + 1 if is_own else 0
                if self._own_changes[name] <= _MOST_OWN_CHANGES:
                    lines.append(await self._renew(name, names, asks=asks))
                    renewed.append(Path(name.path))
                    continue
                self._settled.add(name)
                lines.append(
                    f"extension {name} changed each of the last {_MOST_OWN_CHANGES} times when it was loaded: it is"
                    " loaded again by /reload only. Check whether it writes its own files"
                )
            return lines + await self._modifications(renewed)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` when extensions may have changed, until `close`.

        Only the first call counts.
        """
        if self._watch is not None:
            return
        # Lazy: a run without a user ends soon.
        from kaa.shell.extensions.folder_watch import FolderWatch

        self._watch = FolderWatch(changed)
        self._watch_folders()

    def known(self, settings: Settings, project: Sequence[ExtensionId] = ()) -> list[KnownExtension]:
        """All extensions of the user and of a project, as `load` takes them, in the order in which they are loaded."""
        options = self._options
        disabled, unreadable = self._disabled()
        found: dict[ExtensionId, KnownExtension] = {}

        def add(one: ExtensionId, source: str, *, explicit: bool = False) -> None:
            enabled = self._switched.get(one, explicit or one.key not in disabled)
            required = self._is_required(one, settings)
            twin = next((other for other in found if other.key == one.key and other != one), None)
            obstacle = f"{twin} has the same name. Rename or remove one" if twin is not None else ""
            if unreadable and source == "extensions folder" and one not in self._switched | self._fingerprints:
                obstacle = f"kaa cannot read whether it is disabled: {unreadable}"
            found[one] = KnownExtension(one, source, enabled, required, self._problem_of(one), obstacle)

        if options.discover_extensions:
            for path in discover(self._home.extensions):
                add(self._at(path), "extensions folder")
            for path in beside_kaa():
                add(self._at(path), "kaa's environment")
            for path in map(expanded, settings.extensions):
                add(self._at(path), "settings")
            for one in project:
                if not one.is_built_in:
                    add(one, "project")
        for path in options.extensions:
            add(self._at(path), "-e", explicit=True)
        return list(found.values())

    def _at(self, path: Path) -> ExtensionId:
        return ExtensionId.at(path, self._home.extensions)

    def switch(self, name: ExtensionId, *, on: bool) -> None:
        """Use an extension, or do without it, until the process ends. One that is not loaded comes with `load`.

        Raises:
            NameTakenError: another one has registered one of its names since it was disabled.
        """
        if name in self.loaded.names:
            (self.loaded.enable if on else self.loaded.disable)(name)
        self._switched[name] = on
        self._problems.pop(name, None)
        self._try_conflicts_again()

    def _try_conflicts_again(self) -> None:
        """Have `load` try those whose names were taken: another extension may not have them any more."""
        for name in self._conflicts:
            self._problems.pop(name, None)

    def stop_loading(self) -> bool:
        """Do without the extensions that take long to load. Returns whether there are any."""
        stopped = tuple(self._slow)
        for loading in stopped:
            loading.give_up("you stopped it")
        return bool(stopped)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self.stop_loading()
        self.loaded.close()
        if self._in_projects is not None:
            self._in_projects.close()

    def _is_required(self, name: ExtensionId, settings: Settings) -> bool:
        if name in map(self._at, self._options.extensions):
            return True
        return not {name.key, name.path}.isdisjoint(settings.required_extensions)

    def _absent(self, settings: Settings, wanted: Sequence[KnownExtension]) -> ExtensionError | None:
        """The error of a required extension that is not there, or that the records disable; None if there is none."""
        if not self._options.discover_extensions:
            return None
        there = {*(one.extension for one in wanted), *self._switched}
        found = {text for one in there for text in (one.key, one.path)}
        for name in settings.required_extensions:
            if name not in found:
                return ExtensionError(
                    f"requiredExtensions names {name!r}: there is no such extension, or it is disabled. Install it, run"
                    f" `kaa ext enable {name}`, or remove the name from {self._home.settings}"
                )
        return None

    def _problem_of(self, name: ExtensionId) -> str:
        return self._problems.get(name) or self._outdated.get(name, "")

    def _has_failed(self, name: ExtensionId) -> bool:
        """Whether a loaded extension of the user's, or its next version, does not work."""
        if name not in self._fingerprints or name not in self.loaded.names:
            return False
        return name in self._outdated or bool(self.loaded.scope(name).problem)

    def _has_changed(self, name: ExtensionId) -> bool:
        return name in self._fingerprints and fingerprint(Path(name.path)) not in (self._fingerprints[name], ())

    async def _renew(self, name: ExtensionId, names: Sequence[ExtensionId], *, asks: bool) -> str:
        """Load an extension again. One that fails to load, or is not protected, stays as it was.

        Args:
            asks: whether the person may be asked about it.

        Returns:
            What that did, in a line.
        """
        try:
            code = await self._source(name, may_ask=asks)
        except UnapprovedError as error:
            self._settled.add(name)  # said once
            return f"extension {name} changed. The version that you approved stays loaded: {error.remedy}"
        except ExtensionError as error:
            self._settled.add(name)  # said once
            return f"{error}. Its previous version stays loaded"
        if code is None:
            self._settled.add(name)
            return f"extension {name} is not loaded again: {_UNPROTECTED}"
        try:
            await self._finish(await self._begun(name, code), names)
        except ExtensionError as error:
            self._outdated[name] = f"{error}. Its previous version stays loaded"
            return self._outdated[name]
        self._outdated.pop(name, None)
        return f"extension {name} was loaded again"

    def _watch_folders(self) -> None:
        if self._watch is not None:
            found = (folders_of(Path(one.path)) for one in self._fingerprints)
            self._watch.set({nearest_folder(self._home.extensions), *chain.from_iterable(found)})

    async def _modifications(self, paths: Sequence[Path]) -> list[str]:
        """Which of these extensions, just loaded, are not as they were installed, in sentences."""
        here = {path for path in paths if path.parent == self._home.extensions}
        if not here or not self._has_records:
            return []
        from kaa.shell.extensions.errors import InstallationError  # lazy, as below
        from kaa.shell.extensions.installed import InstalledExtensions

        try:
            return await asyncio.to_thread(InstalledExtensions(self._home).modifications, here)
        except (OSError, InstallationError) as error:
            return [f"kaa cannot check whether extensions are as they were installed: {error}"]

    @property
    def _has_records(self) -> bool:
        return (self._home.path / "extensions.json").exists()

    def _disabled(self) -> tuple[set[str], str]:
        """The keys of those that `kaa ext disable` turned off, and why that cannot be read; empty if it can."""
        if not self._has_records:
            return set(), ""
        # Lazy: few users have installed or disabled extensions.
        from kaa.shell.extensions.records import ExtensionRecords, ExtensionRecordsError

        try:
            records = ExtensionRecords(self._home).read()
        except ExtensionRecordsError as error:
            return set(), str(error)
        return {key for key, record in records.items() if not record.enabled}, ""

    async def _begin(self, wanted: KnownExtension) -> "Loading | ExtensionError | None":
        """Begin to load an extension, unless it is loaded already or its problem is known."""
        extension = wanted.extension
        if extension in self.loaded.names or extension in self._problems or wanted.obstacle:
            return None
        try:
            code = await self._source(extension, may_ask=True)
        except ExtensionError as error:
            return error
        if code is None:
            self._problems[extension] = _UNPROTECTED
            self._report(f"extension {extension} is not loaded: {_UNPROTECTED}")
            return None
        return await self._begun(extension, code)

    async def _source(self, extension: ExtensionId, *, may_ask: bool) -> Path | None:
        """The file or folder to load an extension from; None if commands could change it since kaa started.

        Raises:
            ExtensionError: it lies in a project, and the user has not approved it as it is.
        """
        path = Path(extension.path)
        if extension.is_of_project:
            return path if self._protected(path) else None
        if self._in_projects is None:
            from kaa.shell.extensions.in_projects import ExtensionsInProjects  # lazy: many users have no extensions

            self._in_projects = ExtensionsInProjects(self._home, os.environ, self._asker, self._report)
        is_given = extension in map(self._at, self._options.extensions)
        code = await self._in_projects.source(extension, is_given=is_given, may_ask=may_ask)
        return code if code != path or self._protected(path) else None

    async def _begun(self, extension: ExtensionId, code: Path) -> "Loading":
        """The loading of an extension, when it has ended or turns out to take long."""
        # Lazy: many users have no extensions.
        from kaa.ext.kinds import extension_at
        from kaa.ext.loading import Loading

        self._fingerprints[extension] = fingerprint(
            Path(extension.path)
        )  # before: a change during the load is a change
        self._code[extension] = code
        find = partial(extension_at, extension, self._process_host, self._home.cache, code)
        loading = Loading(self.loaded, extension, find, _LOAD_SECONDS)
        try:
            if not await loading.wait(_SLOW_SECONDS):
                self._slow.append(loading)
                key = self._options.stop_key
                end = f"{key} stops it" if key else f"for at most {_LOAD_SECONDS:.0f} seconds"
                self._report(f"extension {extension} is still being loaded: your first message waits for it, {end}")
        except asyncio.CancelledError:
            loading.give_up("kaa ends")
            raise
        return loading

    async def _finish(self, loading: "Loading", beside: Sequence[ExtensionId]) -> None:
        """Use an extension when it has registered itself.

        Raises:
            ExtensionError: it cannot be used.
        """
        try:
            scope = await loading.finished()
            if scope.extension in self.loaded.names:
                await self.loaded.replace(scope, beside)
            else:
                self.loaded.admit(scope, beside)
            if self._in_projects is not None:
                self._in_projects.note_loaded(loading.extension, self._code[loading.extension])
        finally:
            self._load_ends[loading.extension] = time.time()
            if loading in self._slow:
                self._slow.remove(loading)
