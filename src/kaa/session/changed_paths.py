"""Which files a call changes, as far as its arguments say so."""

import re
from collections.abc import Mapping
from typing import Final

from kaa.core.messages import Json

PATCH_TOOL: Final = "apply_patch"
_CHANGING: Final = frozenset({"write", "edit"})
PATH_NAMES: Final = ("path", "file_path", "filePath", "filename", "file", "absolute_path", "target_file")
"""Of the argument that names a file: its name in kaa and pi, and those of other agents, which kaa's tools take too."""

# The lines of a patch that name files; see `kaa.builtin.patches`.
_NAMING = r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S.*?)\s*$"


def changed_paths(tool: str, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The paths as the model wrote them; none of a call that changes no files or does not say which."""
    if tool == PATCH_TOOL:
        patch = arguments.get("input")
        return tuple(dict.fromkeys(re.findall(_NAMING, patch, re.MULTILINE))) if isinstance(patch, str) else ()
    return named_path(arguments) if tool in _CHANGING else ()


def named_path(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """The path in the arguments of a call about one file, if there is one."""
    values = (arguments.get(name) for name in PATH_NAMES)
    return next(((value,) for value in values if isinstance(value, str) and value), ())
