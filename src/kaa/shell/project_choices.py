"""What the user chose for one project: `projects` of the user's own settings.json, laid over what holds for all."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kaa.core.messages import Json
from kaa.shell.home import may_be_worktree
from kaa.shell.settings import read_values
from kaa.shell.settings_file import SettingsFile

PROJECT_SECTIONS: Final = ("approvals", "sandbox", "extensionSettings")
# Of a project they come on top of those for all projects: whoever hides or denies something means everywhere.
_ADDED: Final = frozenset({"allow", "deny", "hidden", "writable"})


def with_project(values: Mapping[str, Json], directory: str) -> dict[str, Json]:
    """The settings of a file with those for one project over them.

    Args:
        directory: the project, absolute.
    """
    merged = dict(values)
    for chosen in _choices(values, directory):
        for section in PROJECT_SECTIONS:
            own = chosen.get(section)
            general = merged.get(section)
            if section == "extensionSettings" and isinstance(own, dict):
                merged[section] = _by_extension(general if isinstance(general, dict) else {}, own)
            elif isinstance(own, dict):
                merged[section] = _laid_over(general if isinstance(general, dict) else {}, own)
    return merged


def project_key(values: Mapping[str, Json], directory: str) -> str:
    """The name under which choices for a project are kept: the one that the file has, or else its path."""
    projects = values.get("projects")
    names = projects if isinstance(projects, dict) else {}
    meant = _copied(directory)
    return next((name for name in names if _is_meant(name, meant)), meant)


def keep_writable(file: Path, directory: str, added: Sequence[str]) -> None:
    """Let commands write more directories in a project from its next start on. Waits for the disk.

    Args:
        directory: the project, absolute.
        added: the directories, absolute.

    Raises:
        SettingsError: the file cannot be read or changed, or has a mistake.
    """
    values = read_values(file)
    name = project_key(values, directory)
    held: Json = values
    for part in ("projects", name, "sandbox", "writable"):
        held = held.get(part) if isinstance(held, dict) else None
    before = held if isinstance(held, list) else []
    writable: list[Json] = [*before, *(one for one in added if one not in before)]
    SettingsFile(file).set({"projects": {name: {"sandbox": {"writable": writable}}}})


def _choices(values: Mapping[str, Json], directory: str) -> list[dict[str, Json]]:
    projects = values.get("projects")
    if not isinstance(projects, dict):
        return []
    meant = _copied(directory)
    return [chosen for name, chosen in projects.items() if isinstance(chosen, dict) and _is_meant(name, meant)]


def _is_meant(name: str, directory: str) -> bool:
    return os.path.realpath(os.path.expanduser(name)) == directory


def _copied(directory: str) -> str:
    """Return a directory, real; of one in a worktree, that of the project which it is a copy of."""
    real = os.path.realpath(directory)
    if not may_be_worktree(real):
        return real
    from kaa.shell.worktrees.registry import origin_of  # lazy: most directories are in no worktree

    return origin_of(real, os.environ)


def _laid_over(general: dict[str, Json], own: dict[str, Json]) -> dict[str, Json]:
    merged = {**general, **own}
    for key in _ADDED & general.keys() & own.keys():
        before, after = general[key], own[key]
        if isinstance(before, list) and isinstance(after, list):
            merged[key] = [*before, *(one for one in after if one not in before)]
    return merged


def _by_extension(general: dict[str, Json], own: dict[str, Json]) -> dict[str, Json]:
    return {**general, **{name: {**general.get(name, {}), **values} for name, values in own.items()}}
