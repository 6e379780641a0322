"""Instructions in folders below the project: searched for when somebody is asked about trust, read where it is kept.

A search goes through the whole project, so that no conversation makes one at its start. What is read at the start is
what the model gets with the files of a folder, whatever becomes of it meanwhile.
"""

import posixpath
from collections.abc import Iterable

from kaa.shell.trust.instructions import (
    CONTEXT_NAMES,
    LOCAL_NAME,
    MAX_INSTRUCTION_BYTES,
    InstructionFile,
    leads_out,
    text_in,
    with_imported,
)
from kaa.workspace.protocol import Workspace

# Folders of what others wrote, where nobody meant to instruct anybody.
_FOREIGN_FOLDERS = frozenset({"node_modules", "site-packages", "vendor", "third_party"})
_NAMES = (*CONTEXT_NAMES, LOCAL_NAME)
_MAX_FILES = 100
_MAX_DEPTH = 32
_MOST_FOUND = 10_000


def is_foreign(folder: str) -> bool:
    """Whether files in a folder of this name, or below it, instruct nobody."""
    return folder in _FOREIGN_FOLDERS or folder.startswith(".")


def is_nested(name: str) -> bool:
    """Whether a file can be such instructions. `name`: relative to the project."""
    *folders, last = name.split("/")
    return last in _NAMES and 0 < len(folders) <= _MAX_DEPTH and not any(map(is_foreign, folders))


async def nested_names(workspace: Workspace) -> tuple[str, ...]:
    """The names of such files, relative to the project; those of folders further up first, and at most a hundred."""
    found = await workspace.find(f"**/{{{','.join(_NAMES)}}}", limit=_MOST_FOUND)
    names = sorted(filter(is_nested, found.paths), key=lambda name: (name.count("/"), name))
    of_folders: dict[str, str] = {}
    for name in sorted(names, key=lambda name: _NAMES.index(posixpath.basename(name))):
        if posixpath.basename(name) != LOCAL_NAME:
            of_folders.setdefault(posixpath.dirname(name), name)
    used = {*of_folders.values(), *(name for name in names if posixpath.basename(name) == LOCAL_NAME)}
    return tuple([name for name in names if name in used][:_MAX_FILES])


async def nested_instructions(
    workspace: Workspace, names: Iterable[str], repository: str
) -> tuple[InstructionFile, ...]:
    """The files of these names that there are, with what they import.

    Args:
        names: relative to the project.
        repository: the directory that imports must not lead out of.
    """
    wanted = sorted(dict.fromkeys(names), key=lambda name: (name.count("/"), name))[:_MAX_FILES]
    paths = {posixpath.join(workspace.root, name): name for name in wanted}
    found = await workspace.read_existing([*paths], MAX_INSTRUCTION_BYTES + 1) if paths else {}
    files: list[InstructionFile] = []
    for path, data in found.items():
        text = text_in(data)
        if b"\0" not in text and not await leads_out(workspace, path, posixpath.dirname(path)):
            files.append(InstructionFile(path, paths[path], text, "project"))
    return await with_imported(workspace, files, repository)


def glob_of(file: InstructionFile) -> str:
    """What matches the files that such instructions are for."""
    return "/".join([*map(_escaped, file.name.split("/")[:-1]), "**"])


def _escaped(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)
