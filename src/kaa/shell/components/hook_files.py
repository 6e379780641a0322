"""Finds the files that define hooks, of a project through its workspace, of the user in the home.

What counts of such a file, for trust too, is its part about hooks: other settings of another agent may change freely.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kaa.components.hooks.files import HookFileError, hook_file, hooks_part
from kaa.shell.components import Found, FoundFile, Place
from kaa.shell.components.finding import Tree

if TYPE_CHECKING:
    from kaa.components.hooks import HookDefinition, HookDialect, HookFile

_SHOWN_CHARACTERS = 300

MAX_BYTES: Final = 1024 * 1024


async def find_hooks(tree: Tree, places: Sequence[Place], inside: str | None) -> Found:
    """The files in some places that define hooks, each with its part about hooks alone.

    Args:
        tree: has the files.
        places: where to look.
        inside: the directory that files must not lead out of by links, without symlinks itself; None: they may.
    """
    files: list[FoundFile] = []
    notices: list[str] = []
    for place in places:
        try:
            info = await tree.stat(place.folder)
        except OSError:
            continue
        if info is None:
            continue
        path = place.folder
        if info.kind != "file":
            notices.append(f"{path}: its hooks are not used, because it is no regular file")
        elif inside is not None and not info.real_path.startswith(f"{inside.rstrip('/')}/"):
            notices.append(f"{path}: its hooks are not used, because it is a link that leads out of the project")
        elif info.size > MAX_BYTES:
            notices.append(f"{path}: its hooks are not used, because it is larger than {MAX_BYTES // 1024} KiB")
        elif (data := (await tree.read_existing([path], MAX_BYTES + 1)).get(path)) is not None:
            try:
                part = hooks_part(data, toml=path.endswith(".toml"))
            except HookFileError as error:
                notices.append(f"{path}: its hooks are not used, because {error}")
                continue
            if part is not None:
                files.append(FoundFile(path, path.rpartition("/")[2], part, place, info.real_path))
    return Found(tuple(files), tuple(notices))


def hooks_of(file: FoundFile, *, of_project: bool) -> "HookFile":
    """The hooks of a file that `find_hooks` found."""
    dialect: HookDialect = file.place.agent if file.place.agent in ("codex", "gemini") else "claude"
    return hook_file(file.data, dialect, file.path, of_project=of_project)


def line_of(hook: "HookDefinition") -> str:
    """When a hook runs, and what, in one line."""
    title = hook.title if len(hook.title) <= _SHOWN_CHARACTERS else f"{hook.title[:_SHOWN_CHARACTERS]} …"
    return f"{hook.named_event} {hook.matcher}".rstrip() + f": {title}"


def commands_of(files: Iterable[FoundFile]) -> list[str]:
    """What the hooks of a project would run, in a line each, for the question about trust."""
    lines: list[str] = []
    for file in files:
        hooks: Sequence[HookDefinition] = hooks_of(file, of_project=True).hooks
        lines += [f"{file.path}: {line_of(hook)}" for hook in hooks]
    return lines
