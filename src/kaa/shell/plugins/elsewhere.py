"""Plugins that the user has in Claude Code, for `kaa import`: kaa installs them again, and uses no files of others.

`~/.claude/plugins` has `installed_plugins.json` (versions 1 and 2) and `known_marketplaces.json`, as Claude Code 2.1
writes them.
"""

import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kaa.components.plugins.json_fields import MAX_BYTES, InvalidJsonError, line_of, mapping_of, object_in
from kaa.core.messages import Json
from kaa.host.regular_files import beginning_of

_FOLDER = "~/.claude/plugins"
_MOST_NAMED = 50
_MAX_NAME = 200


def plugins_elsewhere(project: str, installed: Collection[str]) -> Iterator[str]:
    """A sentence about each plugin that kaa does not have, with what installs it.

    Args:
        project: the directory of the project; plugins for other ones do not count.
    """
    folder = Path(os.path.expanduser(_FOLDER))
    plugins = mapping_of(_content(folder / "installed_plugins.json").get("plugins"))
    missing = {key: entry for key, entry in plugins.items() if line_of(key).partition("@")[0] not in installed}
    if not missing:
        return
    marketplaces = _content(folder / "known_marketplaces.json")
    for key, entry in list(missing.items())[:_MOST_NAMED]:
        name, _, marketplace = line_of(key, _MAX_NAME).partition("@")
        places = entry if isinstance(entry, list) else [entry]
        used = [place for one in places if (place := mapping_of(one)) and place.get("projectPath", project) == project]
        if used:
            way = _way(name, marketplace, mapping_of(marketplaces.get(marketplace)), used[-1])
            yield f"You have the plugin {name} in Claude Code: {way}"
    if len(missing) > _MOST_NAMED:
        yield f"You have {len(missing) - _MOST_NAMED} more plugins in Claude Code"


def _way(name: str, marketplace: str, known: Mapping[str, Json], place: Mapping[str, Json]) -> str:
    """What installs a plugin: from its marketplace, which has updates, else from the folder where it is."""
    source = mapping_of(known.get("source"))
    if where := line_of(source.get("repo") or source.get("url") or source.get("path")):
        whole = shlex.quote(f"{name}@{marketplace}")
        return f"kaa plugin marketplace add {shlex.quote(where)}, then kaa plugin install {whole}"
    if path := line_of(place.get("installPath")):
        return f"kaa plugin install {shlex.quote(path)}"
    return "kaa plugin install, with the folder or the repository that it comes from"


def _content(file: Path) -> dict[str, Json]:
    """The object in a file; empty if there is none: what Claude Code keeps is not kaa's to complain about."""
    try:
        return object_in(beginning_of(file, MAX_BYTES + 1))
    except (OSError, InvalidJsonError):
        return {}
