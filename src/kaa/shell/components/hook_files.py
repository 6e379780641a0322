"""Finds the files that define hooks, of a project through its workspace, of the user in the home."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.components.hooks.files import hook_file, hooks_part
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import FileTree
from kaa.shell.components.part_files import find_parts

if TYPE_CHECKING:
    from kaa.components.hooks import HookDefinition, HookDialect, HookFile

_SHOWN_CHARACTERS = 4_000


async def find_hooks(tree: FileTree, places: Sequence[Place], inside: str | None) -> Found:
    """The files in some places that define hooks. Arguments as in `find_parts`."""
    return await find_parts(tree, places, inside, _part, "hooks")


def hooks_of(file: FoundFile, *, of_project: bool) -> "HookFile":
    """The hooks of a file that `find_hooks` found."""
    dialect: HookDialect = file.place.agent if file.place.agent in ("codex", "gemini") else "claude"
    return hook_file(file.data, dialect, file.path, of_project=of_project)


def line_of(hook: "HookDefinition") -> str:
    """When a hook runs, and what, in one line."""
    title = hook.title if len(hook.title) <= _SHOWN_CHARACTERS else _cut(hook.title)
    return f"{hook.named_event} {hook.matcher}".rstrip() + f": {title}"


def _cut(title: str) -> str:
    return f"{title[:_SHOWN_CHARACTERS]} … and {len(title) - _SHOWN_CHARACTERS} more characters"


def commands_of(file: FoundFile) -> list[str]:
    """What the hooks of a file of a project would run, in a line each, for the question about trust."""
    return [f"{file.path}: {line_of(hook)}" for hook in hooks_of(file, of_project=True).hooks]


def _part(place: Place, data: bytes) -> bytes | None:
    return hooks_part(data, toml=place.folder.endswith(".toml"))
