"""Plugins in the wheels that a project has installed in its virtual environment (Agent Plugins 1.0.0)."""

import glob
import os
import re
from pathlib import Path
from typing import NamedTuple

from kaa.components.plugins.agent_plugins import InvalidPluginError, wheel_folder, wheel_plugin_in
from kaa.components.plugins.folder import Listing, PluginDirectory, Within
from kaa.components.plugins.json_fields import MAX_NAME
from kaa.shell.extensions.errors import InstallationError

PREFIX = "wheel:"
_SITES = (".venv/lib/python3*/site-packages", "venv/lib/python3*/site-packages")
_DISTRIBUTION = re.compile(rf"([A-Za-z0-9][A-Za-z0-9._]{{0,{MAX_NAME - 1}}})-([A-Za-z0-9.!+_]{{1,64}})\.dist-info")


class WheelSource(NamedTuple):
    """A distribution in the virtual environment of a project. `name`: as its wheel spells it."""

    project: Path
    name: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.project}#{self.name}"


class FoundWheel(NamedTuple):
    """A distribution that brings a plugin. `site`: the folder in the project that has the distributions."""

    name: str
    version: str
    site: str


def wheel_source(text: str, directory: str) -> WheelSource:
    """The distribution that a text names.

    Args:
        text: `wheel:NAME`, or `wheel:PROJECT#NAME`.
        directory: of the project, if the text does not say.
    """
    project, _, name = text.removeprefix(PREFIX).rpartition("#")
    return WheelSource(Path(project or directory), name)


def wheels_with_plugins(project: Path) -> list[FoundWheel]:
    """The distributions of a project that bring plugins, by name. None that links lead to outside of the project."""
    root = os.path.realpath(project)
    found: list[FoundWheel] = []
    for pattern in _SITES:
        for site in glob.glob(pattern, root_dir=root):
            folder = os.path.realpath(os.path.join(root, site))
            if not folder.startswith(os.path.join(root, "")):
                continue
            places = map(os.path.dirname, glob.glob("*.dist-info/agent_plugins.json", root_dir=folder))
            named = (match for place in places if (match := _DISTRIBUTION.fullmatch(place)))
            found += [FoundWheel(match[1], match[2], os.path.relpath(folder, root)) for match in named]
    return sorted(found)


def plugin_of(source: WheelSource) -> tuple[FoundWheel, Listing]:
    """A distribution and the files of its plugin.

    Raises:
        InstallationError: there is none of this name, or what it says about its plugin cannot be used.
    """
    wheels = wheels_with_plugins(source.project)
    for wheel in wheels:
        if wheel.name == source.name:
            site = Within(PluginDirectory(source.project), wheel.site)
            try:
                about = site.read(f"{wheel.name}-{wheel.version}.dist-info/agent_plugins.json") or b""
                return wheel, wheel_folder(site, wheel_plugin_in(about))
            except InvalidPluginError as error:
                raise InstallationError(f"agent_plugins.json of {wheel.name} cannot be used: {error}") from error
    names = ", ".join(one.name for one in wheels) or "none does"
    raise InstallationError(f"no package {source.name!r} in {source.project} brings a plugin: {names}")
