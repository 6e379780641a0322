"""Which marketplaces the user knows, which plugins are installed (`plugins.json` in kaa's home), and what they need."""

import re
from collections.abc import Iterator

import msgspec

from kaa.components.plugins.dependencies import Dependency, fits
from kaa.components.plugins.manifest import Plugin
from kaa.components.plugins.variables import PluginFolders
from kaa.core.messages import Json
from kaa.host.private_file import RecordsFile
from kaa.shell.extensions.errors import InstallationError
from kaa.shell.home import Home

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class KnownMarketplace(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A marketplace.

    Attributes:
        source: where it comes from, as the user gave it; a path is absolute.
        commit: the full hash of the copy that is there; empty unless it comes from git.
        since: when that copy was made (UTC).
    """

    source: str
    commit: str = ""
    since: str = ""


class InstalledPlugin(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A plugin, as the user approved it.

    Attributes:
        folder: of its files, relative to the folder of plugins.
        source: where it comes from: `NAME@MARKETPLACE`, or what the user gave; a path is absolute.
        pin: what was installed: a commit, or a version of a package; empty for a copy of a folder.
        tree: `tree_digest` of its files.
        values: what the user gave for its options, by name.
        for_others: it was installed because another needs it.
        since: when it was installed (UTC).
    """

    plugin: Plugin
    folder: str
    source: str
    pin: str = ""
    tree: str = ""
    enabled: bool = True
    values: dict[str, Json] = {}
    for_others: bool = False
    since: str = ""

    @property
    def marketplace(self) -> str:
        """The marketplace that it comes from; empty if it comes from none."""
        name, _, marketplace = self.source.partition("@")
        return marketplace if _NAME.fullmatch(name) and _NAME.fullmatch(marketplace) else ""

    def folders(self, home: Home, project: str) -> PluginFolders:
        """Where it is and works. `project`: the directory of the project."""
        return PluginFolders(str(home.plugins / self.folder), str(home.plugin_data / self.plugin.name), project)


class Records(msgspec.Struct, frozen=True):
    """Everything that is recorded, by name."""

    marketplaces: dict[str, KnownMarketplace] = {}
    plugins: dict[str, InstalledPlugin] = {}


class PluginRecords(RecordsFile[Records]):
    """The records of the user's plugins."""

    _error = InstallationError

    def __init__(self, home: Home) -> None:
        super().__init__(home.plugin_records)

    def _parsed(self, content: bytes | None) -> Records:
        try:
            records = msgspec.json.decode(content or b"{}", type=Records)
            for name in (*records.marketplaces, *records.plugins):
                if not _NAME.fullmatch(name):
                    raise ValueError(f"invalid name {name!r}")
            for name, one in records.plugins.items():
                if one.plugin.name != name or not _NAME.fullmatch(one.folder):
                    raise ValueError(f"the record of {name!r} is of another plugin or folder")
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
            raise InstallationError(
                f"{self.path}: {error}. Correct it, or remove it and install the plugins again"
            ) from error
        return records


def dependants(name: str, records: Records) -> list[str]:
    """The names of the installed plugins that need a plugin."""
    return [one for one, _ in needing(name, records)]


def unmet(record: InstalledPlugin, records: Records) -> list[str]:
    """What a plugin needs and does not have, in sentences without their ends."""
    found: list[str] = []
    for one in record.plugin.dependencies:
        installed = records.plugins.get(one.name)
        if installed is None or not _is_meant(one, record, installed):
            found.append(f"it needs {one}, which is not installed")
        elif not installed.enabled:
            found.append(f"it needs {one}, which is disabled")
        elif not fits(installed.plugin.version, one.version):
            found.append(f"it needs {one}; version {installed.plugin.version or 'unknown'} is installed")
    return found


def needing(name: str, records: Records) -> Iterator[tuple[str, Dependency]]:
    """The installed plugins that need a plugin, with how they do."""
    installed = records.plugins.get(name)
    for one in records.plugins.values():
        for dependency in one.plugin.dependencies:
            if dependency.name == name and (installed is None or _is_meant(dependency, one, installed)):
                yield one.plugin.name, dependency


def _is_meant(dependency: Dependency, by: InstalledPlugin, installed: InstalledPlugin) -> bool:
    """Whether an installed plugin is the one that another needs."""
    marketplace = dependency.marketplace or by.marketplace
    return not marketplace or installed.marketplace == marketplace
