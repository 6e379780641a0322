"""Plugins that need other plugins: which installed ones do, and what is missing."""

from collections.abc import Iterator

from kaa.components.plugins.dependencies import Dependency, fits
from kaa.shell.plugins.records import InstalledPlugin, Records


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
