"""The plugins and marketplaces of a home: adds, prepares, installs, updates and removes them.

Released versions are tags `NAME--vVERSION` of a plugin's repository, as Claude Code has them.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from kaa.components.plugins.dependencies import fits, version_in
from kaa.components.plugins.folder import PluginDirectory
from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.marketplace import (
    PLACES,
    InvalidMarketplaceError,
    Marketplace,
    MarketplaceEntry,
    Npm,
    Relative,
    Url,
    marketplace_in,
)
from kaa.components.plugins.reading import plugin_in
from kaa.components.skill import Unusable
from kaa.core.messages import Json
from kaa.host.exchange import exchange
from kaa.shell.extensions.digest import tree_digest
from kaa.shell.extensions.errors import InstallationError, UnknownNameError
from kaa.shell.extensions.git import FetchedRepository
from kaa.shell.extensions.sources import GitSource
from kaa.shell.extensions.staging import preparation_folder
from kaa.shell.home import Home
from kaa.shell.plugins.fetching import NPM, Fetched, Fetcher, npm_source, repository_of, source_in
from kaa.shell.plugins.records import InstalledPlugin, KnownMarketplace, PluginRecords, Records
from kaa.shell.plugins.wheels import PREFIX, wheel_source

_HIDDEN = ".preparing-"
_MARKETPLACES = "marketplaces"  # beside the folders of plugins, which have a `-` in their names
# A running kaa may still use what has been replaced.
_ABANDONED_SECONDS = 24 * 3600
_TREE_CHARACTERS = 12


class PreparedPlugin(msgspec.Struct, frozen=True):
    """A plugin that is ready to be installed.

    Attributes:
        previous: what is installed under its name; None if nothing is.
    """

    record: InstalledPlugin
    staged: Path
    previous: InstalledPlugin | None
    replaced: Path | None = None

    @property
    def plugin(self) -> Plugin:
        return self.record.plugin

    @property
    def is_new(self) -> bool:
        """Whether this differs from what is installed."""
        before = self.previous
        return before is None or (before.tree, before.plugin) != (self.record.tree, self.plugin)


class PluginStore:
    """What is there, and what changes it."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = home
        self._folder = home.plugins
        self._records = PluginRecords(home)
        self._environ = environ

    def read(self) -> Records:
        """What is recorded.

        Raises:
            InstallationError: the records cannot be read.
        """
        return self._records.read()

    def marketplace(self, name: str) -> Marketplace:
        """A marketplace that the user added.

        Raises:
            InstallationError: there is none of this name, or its list cannot be read.
        """
        known = self.read().marketplaces
        if name not in known:
            raise UnknownNameError(f"there is no marketplace {name!r}: {_names(known, 'you have added none')}")
        return _list_in(self._folder / _MARKETPLACES / name, name)

    def add_marketplace(self, text: str, directory: str) -> tuple[Marketplace, str]:
        """Get a marketplace, or its newest version. Returns it and the commit; empty unless it comes from git.

        Args:
            text: where it comes from; see `source_in`.
            directory: that a relative path starts from.

        Raises:
            InstallationError: it cannot be had, is no marketplace, or another one has its name.
        """
        source = source_in(text, directory)
        with self._staging() as staging:
            fetched = Fetcher(staging, self._environ, "marketplace").named(source)
            found = _list_in(fetched.top, text)
            target = self._folder / _MARKETPLACES / found.name
            with self._records.rewriting() as records:
                known = records.marketplaces.get(found.name)
                if known is not None and source_in(known.source, "/") != source:
                    raise InstallationError(
                        f"a marketplace {found.name} comes from {known.source}: to use this one, remove that first"
                    )
                target.parent.mkdir(0o700, exist_ok=True)
                _put(fetched.top, target)
                records.marketplaces[found.name] = KnownMarketplace(str(source), fetched.pin, _now())
        return found, fetched.pin

    def remove_marketplace(self, name: str) -> None:
        """Forget a marketplace. Its plugins stay.

        Raises:
            InstallationError: there is none of this name.
        """
        with self._records.rewriting() as records:
            if records.marketplaces.pop(name, None) is None:
                known = _names(records.marketplaces, "you have added none")
                raise UnknownNameError(f"there is no marketplace {name!r}: {known}")
        shutil.rmtree(self._folder / _MARKETPLACES / name, ignore_errors=True)

    @contextmanager
    def prepare(self, text: str, directory: str, ranges: Sequence[str] = ()) -> Iterator[PreparedPlugin]:
        """Get a plugin and look at it. Nothing is installed yet; what is not installed is removed at the end.

        Args:
            text: NAME, NAME@MARKETPLACE, `wheel:NAME`, `npm:NAME`, or where it comes from; see `source_in`.
            directory: that a relative path starts from.
            ranges: of versions that will do. Of a plugin in git, the newest tagged version in them is taken; if there
                is none, what its marketplace has, whatever its version.

        Raises:
            InstallationError: it cannot be had, or is no plugin.
        """
        records = self.read()
        chosen = self._chosen(text, records)
        version = ""
        with self._staging() as staging:
            fetcher = Fetcher(staging, self._environ)
            if text.startswith(PREFIX):
                wheel = wheel_source(text, directory)
                fetched, given, name, entry = fetcher.of_wheel(wheel), str(wheel), wheel.name, None
            elif text.startswith(NPM):
                package = npm_source(text)
                fetched, given, name, entry = (
                    fetcher.of_package(package),
                    text,
                    package.package.rpartition("/")[2],
                    None,
                )
            elif chosen is None:
                source = source_in(text, directory)
                fetched, given, name, entry = fetcher.named(source), str(source), _last_of(text), None
            else:
                marketplace, entry = chosen
                place, given, name = (
                    self._folder / _MARKETPLACES / marketplace,
                    f"{entry.name}@{marketplace}",
                    entry.name,
                )
                known = records.marketplaces[marketplace].source
                release = newest_release(entry, known, ranges, staging, self._environ) if ranges else None
                if release is None:
                    fetched = fetcher.of_entry(entry.source, place)
                else:
                    fetched, version = fetcher.named(release.source), release.version
            yield self._prepared(fetched, given, name, entry, records, version)

    def install(self, chosen: Sequence[tuple[PreparedPlugin, Mapping[str, Json]]]) -> None:
        """Install what was prepared, all or nothing, in place of what has the same names.

        Args:
            chosen: plugins inside their preparation, each with what the user gives for its options, by name.

        Raises:
            InstallationError: another process has just installed something of these names.
        """
        with self._records.rewriting() as records:
            for prepared, _ in chosen:
                if records.plugins.get(prepared.plugin.name) != prepared.previous:
                    raise InstallationError(f"plugin {prepared.plugin.name} was changed meanwhile: try again")
            for prepared, values in chosen:
                self._place(prepared)
                previous = prepared.previous
                enabled = previous is None or previous.enabled
                record = msgspec.structs.replace(prepared.record, values=dict(values), enabled=enabled)
                records.plugins[prepared.plugin.name] = record

    def _place(self, prepared: PreparedPlugin) -> None:
        target = self._folder / prepared.record.folder
        _put(prepared.staged, target)  # what was here before is unchanged or damaged
        if prepared.replaced is not None and prepared.replaced != target and prepared.replaced.exists():
            os.utime(prepared.replaced)  # conversations may still use it for a day

    def remove(self, name: str, *, with_data: bool) -> Path | None:
        """Remove a plugin. Returns where its data is if that stays.

        Raises:
            InstallationError: there is none of this name.
        """
        with self._records.rewriting() as records:
            record = _recorded(name, records)
            del records.plugins[name]
        shutil.rmtree(self._folder / record.folder, ignore_errors=True)
        data = self._home.plugin_data / name
        if with_data:
            shutil.rmtree(data, ignore_errors=True)
        return data if data.exists() and any(data.iterdir()) else None

    def change(self, name: str, *, enabled: bool | None = None, values: Mapping[str, Json] = {}) -> InstalledPlugin:
        """Switch a plugin, or give it values for its options. Returns what was recorded before.

        Raises:
            InstallationError: there is none of this name.
        """
        with self._records.rewriting() as records:
            before = _recorded(name, records)
            records.plugins[name] = msgspec.structs.replace(
                before,
                enabled=before.enabled if enabled is None else enabled,
                values={**before.values, **values},
            )
        return before

    def _chosen(self, text: str, records: Records) -> tuple[str, MarketplaceEntry] | None:
        """The entry that a text names, and of which marketplace; None if it names a source."""
        name, _, marketplace = text.partition("@")
        if any(one in text for one in "/:~") or name.startswith("."):
            return None
        if marketplace:
            return marketplace, self.entry_of(name, marketplace)
        found = {one: self.marketplace(one) for one in records.marketplaces}
        having = [one for one, market in found.items() if name in market.entries or name in market.renames]
        if not having:
            where = f"in {', '.join(found)}" if found else "because you have added no marketplace"
            raise UnknownNameError(f"there is no plugin {name!r}, {where}: kaa plugin marketplace add SOURCE adds one")
        if len(having) > 1:
            raise InstallationError(f"{', '.join(having)} have a plugin {name}: write {name}@{having[0]}, for example")
        return having[0], _entry(found[having[0]], name)

    def entry_of(self, name: str, marketplace: str) -> MarketplaceEntry:
        """The entry of a marketplace that the user added; also by a name that it had before.

        Raises:
            InstallationError: there is no such marketplace, or it has none of this name.
        """
        return _entry(self.marketplace(marketplace), name)

    def _prepared(
        self, fetched: Fetched, given: str, name: str, entry: MarketplaceEntry | None, records: Records, version: str
    ) -> PreparedPlugin:
        plugin = plugin_in(PluginDirectory(fetched.top), name, entry)
        if isinstance(plugin, Unusable):
            raise InstallationError(f"{given} is no plugin: {plugin.reason}")
        if version and not fits(plugin.version, version):
            # The entry in the list, and sometimes the manifest, say what was newest at another time.
            plugin = msgspec.structs.replace(plugin, version=version)
        previous = records.plugins.get(plugin.name)
        if previous is not None and previous.source != given:
            raise InstallationError(
                f"a plugin {plugin.name} is installed from {previous.source}: to use this one, remove that first"
            )
        tree = tree_digest(fetched.top)
        record = InstalledPlugin(
            plugin,
            f"{plugin.name}-{tree[:_TREE_CHARACTERS]}",
            given,
            fetched.pin,
            tree,
            values=_kept_values(previous, plugin),
            since=_now(),
        )
        replaced = None if previous is None else self._folder / previous.folder
        return PreparedPlugin(record, fetched.top, previous, replaced)

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        with ExitStack() as ending:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._clear_away()
                staging = ending.enter_context(preparation_folder(self._folder, _HIDDEN))
            except OSError as error:
                raise InstallationError(f"{self._folder} cannot be written ({error.strerror})") from error
            try:
                yield staging
            except OSError as error:
                raise InstallationError(f"{error.filename or self._folder}: {error.strerror or error}") from error

    def _clear_away(self) -> None:
        """Remove what belongs to no record any more."""
        kept = {_MARKETPLACES, *(one.folder for one in self.read().plugins.values())}
        for folder in self._folder.iterdir():
            if folder.name in kept or folder.name.startswith(_HIDDEN):
                continue
            if time.time() - folder.lstat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _put(new: Path, target: Path) -> None:
    """Move a folder to a path, in place of what is there. At no moment is there nothing."""
    if target.exists():
        exchange(new, target)
    else:
        new.rename(target)


def _list_in(folder: Path, named: str) -> Marketplace:
    listing = PluginDirectory(folder)
    for place in PLACES:
        if (data := listing.read(place)) is not None:
            try:
                return marketplace_in(data)
            except InvalidMarketplaceError as error:
                raise InstallationError(f"{named}: {place} is invalid: {error}") from error
    raise InstallationError(f"{named} is no marketplace: it has no {PLACES[0]}")


def _entry(marketplace: Marketplace, name: str) -> MarketplaceEntry:
    present = marketplace.renames.get(name, name)
    if (entry := marketplace.entries.get(present)) is not None:
        return entry
    left_out = [note for note in marketplace.notes if f'"{name}"' in note or f"'{name}'" in note]
    reason = f": {left_out[0]}" if left_out else f": kaa plugin marketplace list {marketplace.name} shows those it has"
    raise UnknownNameError(f"{marketplace.name} has no plugin {name!r}{reason}")


def _recorded(name: str, records: Records) -> InstalledPlugin:
    """Return the record of a plugin.

    Raises:
        UnknownNameError: there is none of this name.
    """
    record = records.plugins.get(name)
    if record is None:
        raise UnknownNameError(f"there is no plugin {name!r}: {_names(records.plugins, 'none is installed')}")
    return record


def _names(names: Mapping[str, object], none: str) -> str:
    return f"there are {', '.join(names)}" if names else none


def _last_of(text: str) -> str:
    return os.path.basename(text.rstrip("/").partition("#")[0]).partition("@")[0].removesuffix(".git")


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _kept_values(previous: InstalledPlugin | None, plugin: Plugin) -> dict[str, Json]:
    """The values that an update keeps: what was given as a secret, of an option that still is one, and other values."""
    if previous is None:
        return {}
    were_secret = {option.name for option in previous.plugin.options if option.secret}
    kept = {option.name for option in plugin.options if option.secret or option.name not in were_secret}
    return {name: value for name, value in previous.values.items() if name in kept}


class Release(NamedTuple):
    """A version of a plugin, and where it is."""

    version: str
    source: GitSource


def newest_release(
    entry: MarketplaceEntry, marketplace: str, ranges: Sequence[str], staging: Path, environ: Mapping[str, str]
) -> Release | None:
    """The latest version of a plugin that is in all ranges; None if no tag says of any.

    Args:
        marketplace: where its marketplace comes from, as it is recorded.

    Raises:
        InstallationError: git cannot get the tags.
    """
    source = _repository(entry, marketplace)
    if source is None:
        return None
    beginning = f"{entry.name}--v"
    tags = FetchedRepository(staging / "tags", environ).tags(source.url, beginning)
    known = [
        (version, text)
        for text in (tag.removeprefix(beginning) for tag in tags)
        if (version := version_in(text)) is not None and all(fits(text, one) for one in ranges)
    ]
    if not known:
        return None
    _, text = max(known)
    return Release(text, msgspec.structs.replace(source, reference=f"{beginning}{text}"))


def _repository(entry: MarketplaceEntry, marketplace: str) -> GitSource | None:
    """The repository that has the plugin, and its folder there."""
    match entry.source:
        case Relative(path=path):
            found = source_in(marketplace, "/")
            if not isinstance(found, GitSource):
                return None
            folder = "/".join(part for part in (found.folder, path) if part)
            return msgspec.structs.replace(found, folder=folder)
        case Npm() | Url():
            return None
        case source:
            return repository_of(source)
