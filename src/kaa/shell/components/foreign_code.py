"""Names extensions of pi and plugins of opencode, which kaa does not execute: they are JavaScript for another agent.

It also names the files that settings of opencode add to its prompt: patterns and addresses, which kaa does not read.

Sources: "Extensions" in the documentation of pi 1.5; "Plugins" and "Custom tools" of opencode 1.18, whose version 2 has
the setting `plugins` and the folder `plugins` instead of `plugin`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kaa.core.messages import Json
from kaa.llm import jsonc
from kaa.shell.components import Place
from kaa.shell.components.finding import FileTree
from kaa.shell.components.part_files import find_parts
from kaa.shell.home import expanded
from kaa.workspace.protocol import DirEntry

_ENDINGS = (".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs")
_MOST_NAMED = 5
_MOST_FOLDERS = 50  # of extensions that are folders

_FOLDERS: Final = {
    "pi": (".pi/extensions",),
    "opencode": tuple(f".opencode/{name}" for name in ("plugin", "plugins", "tool", "tools")),
}
_USER_FOLDERS: Final = {
    "pi": ("~/.pi/agent/extensions",),
    "opencode": tuple(f"~/.config/opencode/{name}" for name in ("plugin", "plugins", "tool", "tools")),
}


class _Unused(msgspec.Struct):
    """Names in settings of opencode."""

    plugins: list[str]
    instructions: list[str]


async def foreign_code(
    tree: FileTree, settings: Sequence[Place], inside: str | None, *, of_user: bool = False
) -> tuple[str, ...]:
    """What kaa does not execute, in a sentence for each agent and for each of its settings.

    Args:
        inside: the directory that these must not lead out of by links, without symlinks itself; None: they may.
        of_user: look in the user's home instead of in the project.
    """
    notices: list[str] = []
    for agent, folders in (_USER_FOLDERS if of_user else _FOLDERS).items():
        code = [path for folder in folders for path in await _code_in(tree, str(expanded(folder)))]
        if code:
            notices.append(f"{_names(code)}: not used, because kaa does not execute code for {agent}")
    found = await find_parts(tree, settings, inside, _unused, "plugins and instructions")
    for file in found.files:
        unused = msgspec.json.decode(file.data, type=_Unused)
        if unused.plugins:
            notices.append(
                f"{file.path}: not used of it: the plugins {_names(unused.plugins)}, which are code for opencode"
            )
        if unused.instructions:
            named = _names(unused.instructions)
            notices.append(f"{file.path}: not used of it: the instructions {named}. AGENTS.md can import files: @FILE")
    return tuple(notices)


async def _code_in(tree: FileTree, folder: str) -> list[str]:
    """The programs directly in a folder, and in its folders those that a package begins with."""
    entries = await _entries(tree, folder)
    files = [f"{folder}/{one.name}" for one in entries if one.name.endswith(_ENDINGS) and one.kind != "directory"]
    below = sorted(one.name for one in entries if one.kind == "directory" and one.name != "node_modules")
    for name in below[:_MOST_FOLDERS]:
        within = {one.name for one in await _entries(tree, f"{folder}/{name}")}
        if within & {"package.json", "index.ts", "index.js"}:
            files.append(f"{folder}/{name}")
    return sorted(files)


async def _entries(tree: FileTree, folder: str) -> list[DirEntry]:
    try:
        return await tree.list(folder)
    except OSError:
        return []


def _unused(_place: Place, data: bytes) -> bytes | None:
    """What kaa does not use of settings of opencode, as JSON. Whoever reads its agents reports a broken file."""
    try:
        values = jsonc.decode(data, dict[str, Json])
    except (jsonc.JsoncError, msgspec.ValidationError, RecursionError):
        return None
    plugins = [*_named(values.get("plugin")), *_named(values.get("plugins"))]
    unused = _Unused(plugins, [*_named(values.get("instructions"))])
    return msgspec.json.encode(unused) if unused.plugins or unused.instructions else None


def _named(value: Json) -> Iterator[str]:
    """Names in a list: a plugin with options is a list that begins with its name, or an object with one."""
    for one in value if isinstance(value, list) else [*value] if isinstance(value, dict) else []:
        first = one[0] if isinstance(one, list) and one else one.get("name") if isinstance(one, dict) else one
        if isinstance(first, str):
            yield first


def _names(paths: Sequence[str]) -> str:
    shown = [" ".join(path.split())[:200] for path in paths[:_MOST_NAMED]]
    return ", ".join([*shown, *([f"{len(paths) - _MOST_NAMED} more"] if len(paths) > _MOST_NAMED else [])])
