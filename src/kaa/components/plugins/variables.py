"""Placeholders in the files of plugins, such as `${CLAUDE_PLUGIN_ROOT}`, and the variables of what plugins start.

Sources, 2026: "Environment variables" in the plugin reference of Claude Code, whose names Codex takes too; Agent
Plugins 1.0.0 (`PLUGIN_ROOT`, `PLUGIN_DATA`); "Variables" in the documentation of Gemini CLI's extensions.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from kaa.components.plugins.manifest import PluginDialect, UserOption
from kaa.core.messages import Json

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.]{0,100}|/)\}")
_OPTION = "user_config."
_MAX_DEPTH = 50
_ROOT: Mapping[PluginDialect, tuple[str, ...]] = {
    "claude": ("CLAUDE_PLUGIN_ROOT",),
    "codex": ("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"),
    "gemini": ("extensionPath",),
    "agent-plugins": ("PLUGIN_ROOT",),
    "pi": (),
}
_DATA: Mapping[PluginDialect, tuple[str, ...]] = {
    "claude": ("CLAUDE_PLUGIN_DATA",),
    "codex": ("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"),
    "gemini": (),
    "agent-plugins": ("PLUGIN_DATA",),
    "pi": (),
}


class PluginFolders(msgspec.Struct, frozen=True):
    """Where a plugin is and works; absolute paths.

    Attributes:
        data: what it keeps; outlives updates.
        project: the root of the project.
    """

    root: str
    data: str
    project: str


class Expanded(msgspec.Struct, frozen=True):
    """A value without placeholders. `missing`: options in it that have no value; their placeholders are still there."""

    value: Json
    missing: tuple[str, ...] = ()


def values_for(
    dialect: PluginDialect, folders: PluginFolders, options: Sequence[UserOption] = (), given: Mapping[str, Json] = {}
) -> dict[str, str]:
    """What placeholders mean, by name. Not for command lines of a shell, which get `environment_for` instead.

    Args:
        given: what the user gave, by name; defaults stand for what is not there.
    """
    values = dict.fromkeys(_ROOT[dialect], folders.root) | dict.fromkeys(_DATA[dialect], folders.data)
    match dialect:
        case "claude":
            values["CLAUDE_PROJECT_DIR"] = folders.project
            values |= {f"{_OPTION}{name}": text for name, text in _texts(options, given).items()}
        case "codex":
            values["CLAUDE_PROJECT_DIR"] = folders.project
        case "gemini":
            values |= {"workspacePath": folders.project, "/": "/", "pathSeparator": "/"}
            values |= {name: text for name, text in _texts(options, given).items() if name not in values}
        case "pi" | "agent-plugins":
            pass
    return values


def keeps_data(dialect: PluginDialect) -> bool:
    """Whether plugins of a dialect learn of a folder for what they keep."""
    return bool(_DATA[dialect])


def environment_for(
    dialect: PluginDialect, folders: PluginFolders, options: Sequence[UserOption] = (), given: Mapping[str, Json] = {}
) -> dict[str, str]:
    """Variables for what a plugin starts. In a shell, `${CLAUDE_PLUGIN_ROOT}` is such a variable.

    Text that a user gave thus never becomes a part of a command line. For the arguments see `values_for`.
    """
    folder_values = dict.fromkeys(_ROOT[dialect], folders.root) | dict.fromkeys(_DATA[dialect], folders.data)
    if dialect in ("claude", "codex"):
        folder_values["CLAUDE_PROJECT_DIR"] = folders.project
    texts = _texts(options, given)
    chosen = {option.variable: texts[option.name] for option in options if option.name in texts}
    return chosen | {name: value for name, value in folder_values.items() if name.isupper()}


def expanded(value: Json, values: Mapping[str, str]) -> Expanded:
    """A text, or a list or object with texts, with what its placeholders mean; names in objects stay as they are.

    It is done once: placeholders in what is put in stay. Those with other names stay too, for example for the variables
    of the environment.
    """
    missing: dict[str, None] = {}

    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name not in values and name.startswith(_OPTION):
            missing[name.removeprefix(_OPTION)] = None
        return values.get(name, found[0])

    def walk(value: Json, depth: int) -> Json:
        if isinstance(value, str):
            return _PLACEHOLDER.sub(put, value)
        if depth < _MAX_DEPTH and isinstance(value, list):
            return [walk(one, depth + 1) for one in value]
        if depth < _MAX_DEPTH and isinstance(value, dict):
            return {name: walk(one, depth + 1) for name, one in value.items()}
        return value

    return Expanded(walk(value, 0), tuple(missing))


def _texts(options: Sequence[UserOption], given: Mapping[str, Json]) -> dict[str, str]:
    """The options that have a value, as texts."""
    chosen = {option.name: given.get(option.name, option.default) for option in options}
    return {name: _text(value) for name, value in chosen.items() if value is not None}


def _text(value: Json) -> str:
    match value:
        case str():
            return value.replace("\0", "")
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(_text(one) for one in value)
        case _:
            return str(value)
